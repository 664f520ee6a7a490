"""Extension modules in C++ against PyTorch: `load(name)` gives one that fits the running torch and Python.

PyTorch promises no binary interface between its versions, so a module fits one version only. An installation
brings modules for the version that it was made with (`python -m hccl.native --out lib`); for any other one a
module is compiled when it is first asked for, into the user's cache (see `build`).

A module NAME is `NAME.cpp` beside this file, or all `NAME/*.cpp`, and defines `PyInit_NAME` (what
`PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)` expands to). Importing this package imports neither torch nor the builder.
"""

import importlib.machinery
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def load(name):
    """The extension module; compiled first if need be, which takes a minute. An ImportError says what is missing."""
    full = f"{__name__}.{name}"
    if full in sys.modules:
        return sys.modules[full]
    # The module's symbols are looked up in torch's libraries, which torch itself has to find and load.
    import torch  # noqa: F401

    ready = os.path.join(FOLDER, "lib", file_name(name))
    if os.path.exists(ready):
        try:
            return _import(full, ready)
        except ImportError as error:
            # Two builds of torch may share a version and still differ; our own one then fits.
            refused = error
    else:
        refused = None
    from hccl.native import build

    try:
        path = build.built(name)
    except build.Failure as error:
        raise ImportError(f"hccl.native.{name}: {error}") from refused
    return _import(full, path)


def file_name(name):
    """NAME.torch2.9.cp311.so: what a ready-made module is called, by what it was made for."""
    return f"{name}.torch{'.'.join(torch_version().split('.')[:2])}.{python_tag()}.so"


def torch_version():
    """Version of the torch that is, or would be, imported; read without importing it."""
    return torch_facts()["__version__"]


def torch_facts():
    """What `torch/version.py` says of the torch that is, or would be, imported."""
    facts = {}
    with open(os.path.join(torch_folder(), "version.py")) as file:
        exec(file.read(), facts)
    return facts


def torch_folder():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("hccl.native: there is no package torch")
    return spec.submodule_search_locations[0]


def python_tag():
    return "cp{0}{1}".format(*sys.version_info)


def _import(full, path):
    loader = importlib.machinery.ExtensionFileLoader(full, path)
    spec = importlib.util.spec_from_file_location(full, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[full] = module
    return module
