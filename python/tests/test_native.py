"""Extension modules in C++: compiled once, kept, prebuilt into a folder, and clear about what is missing."""

import os
import subprocess
import sys

import pytest

SOURCE = """
#include <Python.h>
#include <c10/core/ScalarType.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "probe", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_probe() {
    PyObject* made = PyModule_Create(&module);
    PyModule_AddIntConstant(made, "size", c10::elementSize(c10::kDouble));
    return made;
}
"""

START = "import sys; from hccl import native; native.FOLDER = sys.argv[1]\n"
LOAD = START + "print(native.load('probe').size)"
PREBUILD = (
    START
    + "import runpy; sys.argv = ['hccl.native', '--out', sys.argv[1] + '/lib', 'probe']\n"
    + "runpy.run_module('hccl.native', run_name='__main__')"
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "probe.cpp").write_text(SOURCE)
    return tmp_path


def start(folder, program, **changes):
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        **changes,
    }
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


def test_processes_that_start_together_compile_once(folder):
    outcomes = [finish(process) for process in [start(folder, LOAD) for _ in range(3)]]
    assert [(code, out) for code, out, _ in outcomes] == [(0, "8\n")] * 3, outcomes
    assert sum("compiling probe" in err for _, _, err in outcomes) == 1
    assert not list(folder.rglob("making-*"))


def test_a_prebuilt_module_needs_no_compiler_and_a_changed_source_is_compiled_again(folder):
    code, out, err = finish(start(folder, PREBUILD))
    assert code == 0 and out.strip().startswith(str(folder / "lib" / "probe.torch")), err
    assert "compiling" not in finish(start(folder, PREBUILD))[2]
    nowhere = {"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(folder / "empty")}
    assert finish(start(folder, LOAD, **nowhere))[:2] == (0, "8\n")
    (folder / "probe.cpp").write_text(SOURCE.replace("kDouble", "kFloat"))
    assert "compiling probe" in finish(start(folder, PREBUILD))[2]
    assert finish(start(folder, LOAD))[1] == "4\n"


def test_what_is_missing_is_said(folder):
    code, _, err = finish(start(folder, LOAD, CXX="no-such-compiler"))
    assert code != 0 and "CXX names no-such-compiler" in err and "apt-get install g++" in err
    (folder / "probe.cpp").write_text(SOURCE + "#error the reader wants to see this\n")
    code, _, err = finish(start(folder, LOAD))
    assert code != 0 and "the reader wants to see this" in err
