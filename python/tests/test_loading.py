"""The operators come by themselves, in whatever order and way torch and torch_npu are imported."""

import os
import shutil
import subprocess
import sys

import pytest

USE = """
import torch
assert (torch.arange(3.0, device="npu") + 1).tolist() == [1, 2, 3]
for length in range(1, 200):
    x = torch.ones(length, device="npu")
    # The wheel queues a copy of the old elements, on its own queue if there is one.
    assert (x.resize_(length + 600_000)[:length] + 1).sum().item() == 2 * length
print("good")
"""

# Put first on PYTHONPATH, this keeps our own `sitecustomize` from running.
SHADOW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shadow")

# name -> (first lines of the program, changes of the environment). That a plain `import torch` does it is
# shown by all other tests.
WAYS = {
    "torch_npu first": ("import torch_npu", {"TASK_QUEUE_ENABLE": "1"}),
    "without autoload and library path": (
        "import torch; import torch_npu",
        {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "LD_LIBRARY_PATH": None},
    ),
    "entry point alone": (
        "import sys; assert not any(name.startswith('hccl') for name in sys.modules)",
        {"PYTHONPATH": SHADOW + os.pathsep + os.environ.get("PYTHONPATH", ""), "TASK_QUEUE_ENABLE": "2"},
    ),
}


@pytest.fixture(scope="module")
def outcomes():
    # All at once: each spends seconds importing torch.
    running = {}
    for name, (start, changes) in WAYS.items():
        environment = {k: v for k, v in {**os.environ, **changes}.items() if v is not None}
        running[name] = subprocess.Popen(
            [sys.executable, "-c", start + USE],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    results = {}
    for name, process in running.items():
        try:
            output, _ = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        results[name] = (process.returncode, output)
    return results


@pytest.mark.parametrize("name", WAYS)
def test_loads(outcomes, name):
    code, output = outcomes[name]
    assert code == 0 and "good" in output, output


def test_two_installations_on_the_path_and_somebody_elses_sitecustomize(tmp_path):
    ours = next(entry for entry in sys.path if os.path.isdir(os.path.join(entry, "hccl", "softnpu")))
    second, third = tmp_path / "second", tmp_path / "third"
    for folder in (second, third):
        folder.mkdir()
    shutil.copy(os.path.join(ours, "sitecustomize.py"), second)
    (third / "sitecustomize.py").write_text("print('theirs')")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((ours, str(second), str(third)))}
    done = subprocess.run(
        [sys.executable, "-c", "print('good')"], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == ("theirs\ngood\n", "")


def test_an_ordinary_run_leaves_nothing_behind(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ASCEND_")}
    environment.update(
        {name: os.environ[name] for name in ("ASCEND_HOME_PATH", "ASCEND_OPP_PATH") if name in os.environ}
    )
    environment["HOME"] = str(tmp_path)
    script = "import torch, torch_npu; x = torch.ones(3).npu(); print((x + 1).tolist())"
    done = subprocess.run(
        [sys.executable, "-B", "-c", script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert "[2.0, 2.0, 2.0]" in done.stdout, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_forked_child_cannot_reach_its_parents_tensors():
    script = """
import os, torch, torch_npu
x = torch.ones(4).npu()
if os.fork() == 0:
    try:
        x.fill_(7)
    except RuntimeError:
        os._exit(0)
    os._exit(1)
refused = os.wait()[1] == 0
print(refused, x.tolist())
"""
    done = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, timeout=120)
    assert "True [1.0, 1.0, 1.0, 1.0]" in done.stdout, done.stderr


@pytest.mark.parametrize(
    "start, autoload",
    [
        ("import torch", "1"),
        ("import hccl.torch, torch", "1"),
        ("import hccl.torch, torch", "0"),
        ("import torch, hccl.torch", "0"),
    ],
)
def test_the_backend_for_cpu_tensors_has_its_name(start, autoload):
    program = start + "; import torch.distributed as dist; assert 'HCCL_CPU' in dist.Backend._plugins; print('good')"
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": autoload}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=240
    )
    assert "good" in result.stdout, result.stderr
