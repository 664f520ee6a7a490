"""Compiles an extension module with the system's C++ compiler and keeps it in a cache.

The cache is `$XDG_CACHE_HOME/hccl/native` (`~/.cache/hccl/native`). A module lies under a digest of all that went
into it: sources, flags, torch, Python. So nothing there is ever out of date, and the digest is known without
importing torch. A lock lets one process compile while the other ranks of a job wait for it; what is
compiled is renamed into place, so nobody sees half of it.
"""

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from hccl import native

# Libraries of torch only. No path to them is recorded: they are in the process before the module is.
LIBRARIES = ("c10", "torch_cpu", "torch", "torch_python")

# A hidden default keeps what a module defines to itself. Warnings are of torch's headers, which are not ours to mend.
FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-w")

# Compilers at once.
UNITS = 2


class Failure(Exception):
    """The module cannot be had; the text says what to do about it."""


def names():
    """All modules that there is source for."""
    found = set()
    for entry in os.scandir(native.FOLDER):
        if entry.name.endswith(".cpp"):
            found.add(entry.name[: -len(".cpp")])
        elif entry.is_dir() and any(name.endswith(".cpp") for name in os.listdir(entry.path)):
            found.add(entry.name)
    return sorted(found)


def built(name):
    """Path of the compiled module, from the cache or compiled now."""
    sources, headers = _sources(name)
    folder = _cache()
    digest = _digest(name, sources + headers)
    path = os.path.join(folder, digest, f"{name}.so")
    if os.path.exists(path):
        return path
    try:
        os.makedirs(folder, exist_ok=True)
        with _locked(os.path.join(folder, f"{digest}.lock")):
            if not os.path.exists(path):
                _compile(name, sources, folder, path)
    except OSError as error:
        raise Failure(f"cannot keep a compiled module under {folder}: {error}; set XDG_CACHE_HOME to another folder")
    return path


def _sources(name):
    folder = os.path.join(native.FOLDER, name)
    files = []
    if os.path.isdir(folder):
        files = sorted(os.path.join(folder, file) for file in os.listdir(folder))
    single = folder + ".cpp"
    if os.path.exists(single):
        files.append(single)
    sources = [file for file in files if file.endswith(".cpp")]
    if not sources:
        raise Failure(f"there is neither {name}.cpp nor {name}/*.cpp in {native.FOLDER}")
    return sources, [file for file in files if file.endswith((".h", ".hpp"))]


def _digest(name, files):
    digest = hashlib.sha256()
    facts = native.torch_facts()
    said = (name, facts["__version__"], facts.get("git_version"), sys.version, FLAGS)
    digest.update(repr(said).encode())
    for file in files:
        with open(file, "rb") as opened:
            text = opened.read()
        digest.update(f"{os.path.basename(file)} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:32]


def _cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "hccl", "native")


@contextlib.contextmanager
def _locked(path):
    # The lock goes with the process that holds it. Its file stays: removing it would let two in.
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compiler():
    """Command line of the compiler as a list, or None."""
    chosen = os.environ.get("CXX")
    if chosen:
        return shlex.split(chosen)
    return next(([name] for name in ("c++", "g++", "clang++") if shutil.which(name)), None)


def _compile(name, sources, folder, path):
    compiler = _compiler()
    if compiler is None or not shutil.which(compiler[0]):
        what = "no C++ compiler was found" if compiler is None else f"CXX names {compiler[0]}, which was not found"
        raise Failure(
            f"{what}; it is needed to compile this part for torch {native.torch_version()}"
            " (Debian: apt-get install g++)"
        )
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        package = "python{0}.{1}-dev".format(*sys.version_info)
        raise Failure(f"the headers of Python are not in {include} (Debian: apt-get install {package})")
    print(f"hccl: compiling {name} for torch {native.torch_version()}, once", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix="making-") as scratch:
        flags = [*FLAGS, *_torch_flags(name), f"-I{include}"]
        units = _units(sources, scratch)
        objects = [f"{unit}.o" for unit in units]
        _run_all([[*compiler, *flags, "-c", unit, "-o", made] for unit, made in zip(units, objects)])
        library = os.path.join(scratch, f"{name}.so")
        link = [f"-L{os.path.join(native.torch_folder(), 'lib')}", *(f"-l{library}" for library in LIBRARIES)]
        _run_all([[*compiler, "-shared", *objects, "-o", library, "-Wl,--no-as-needed", *link, "-pthread"]])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.replace(library, path)


def _units(sources, scratch):
    """Files that include the sources, some each: a compiler reads torch's headers for longer than it needs for these.

    Their number depends on nothing, so that what compiles on one machine does on all.
    """
    units = [[] for _ in range(min(UNITS, len(sources)))]
    for source in sorted(sources, key=os.path.getsize, reverse=True):
        min(units, key=lambda unit: sum(map(os.path.getsize, unit))).append(source)
    files = [os.path.join(scratch, f"{index}.cpp") for index in range(len(units))]
    for file, unit in zip(files, units):
        with open(file, "w") as out:
            out.writelines(f'#include "{source}"\n' for source in sorted(unit))
    return files


def _torch_flags(name):
    import torch

    folder = native.torch_folder()
    flags = [f"-I{os.path.join(folder, 'include')}"]
    flags.append(f"-I{os.path.join(folder, 'include', 'torch', 'csrc', 'api', 'include')}")
    flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
    flags += [f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H"]
    # Older versions share types between modules by these names of their own compiler.
    for part in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{part}", None)
        if value:
            flags.append(f'-DPYBIND11_{part}="{value}"')
    flags.append(f"-std=c++{_standard(folder)}")
    return flags


def _standard(folder):
    """The C++ standard that this torch compiles its own extensions with, read from the module that does it."""
    with open(os.path.join(folder, "utils", "cpp_extension.py")) as file:
        # Examples in the documentation of that module show other ones in lists of a user's flags.
        stated = re.findall(r"(?:\+= |= |\+ )\[[^\]\n]*'-std=c\+\+(\d\d)'", file.read())
    return max(stated, default="17")


def _run_all(commands):
    """Runs commands, as many at once as there are cores."""
    waiting, running = list(commands), []
    try:
        while waiting or running:
            while waiting and len(running) < len(os.sched_getaffinity(0)):
                output = tempfile.TemporaryFile("w+")
                command = waiting.pop(0)
                running.append(
                    (subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL), output, command)
                )
            process, output, command = running[0]
            if process.wait() != 0:
                output.seek(0)
                raise Failure(f"{' '.join(command)}\nended with {process.returncode}:\n{output.read()[-4000:]}")
            running.pop(0)
    finally:
        for process, _, _ in running:
            process.kill()
            process.wait()
