"""Runs PyTorch's own `DistributedTest` on a backend, and says how many tests pass.

    python distributed_test.py --ranks 2                          by the backend's name
    python distributed_test.py --ranks 2 --stand-in-for-gloo      in place of Gloo, whose name many tests ask for
    python distributed_test.py --ranks 2 --backend gloo_renamed   Gloo under another name: what that alone costs

The tests are those of the torch that is there (`torch.testing._internal.distributed`). Each runs in processes of its
own, forked, since importing torch anew takes ten times as long as most tests. A test that hangs is ended.
"""

import argparse
import json
import os
import select
import signal
import sys
import tempfile
import time

# torch_npu makes process groups in its own way, with a reference of its own to Gloo.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"


def one(suite, name, write):
    """Runs one test in this process, a fork of the one that has torch, and writes what became of it."""
    import unittest

    result = unittest.TestResult()
    suite(name).run(result)
    answer = ["pass", ""]
    for kind, found in (("fail", result.failures), ("fail", result.errors), ("skip", result.skipped)):
        if found:
            answer = [kind, str(found[0][1])]
            break
    os.write(write, json.dumps(answer).encode())
    os._exit(0)


def _suite(expected):
    import torch
    from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend

    torch.set_num_threads(1)

    class Suite(TestDistBackend, DistributedTest._DistTestBase):
        def run_test(self, *arguments):
            used = type(torch.distributed.group.WORLD._get_backend(torch.device("cpu"))).__name__
            assert used == expected, f"the group is of {used}, not of {expected}"
            super().run_test(*arguments)

        def setUp(self):
            super().setUp()
            self._start_processes(torch.multiprocessing.get_context("fork").Process)

    return Suite


def _stand_in():
    """Process groups of Gloo are made of our backend from now on."""
    import torch.distributed.distributed_c10d as c10d
    from hccl.torch import library

    real, ours = c10d.ProcessGroupGloo, library.module().CpuBackend

    class Kind(type):
        def __instancecheck__(cls, instance):
            return isinstance(instance, (real, ours))

        def __call__(cls, store, rank, size, timeout):
            return ours.create(store, rank, size, timeout, "gloo", f"gloo/{rank}", list(range(size)))

    c10d.ProcessGroupGloo = Kind("ProcessGroupGloo", (), {})


def _rename_gloo():
    import torch.distributed as dist

    def create(store, rank, size, timeout):
        return dist.ProcessGroupGloo(store, rank, size, timeout=timeout)

    dist.Backend.register_backend("gloo_renamed", create, devices=["cpu"])


def names():
    """All tests of the suite."""
    from torch.testing._internal.distributed.distributed_test import DistributedTest

    return sorted(name for name in dir(DistributedTest._DistTestBase) if name.startswith("test"))


def run(suite, name, limit):
    """What became of a test, and what it said."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        os.environ["TEMP_DIR"] = folder
        for inner in ("barrier", "test_dir", "init_dir"):
            os.makedirs(os.path.join(folder, inner))
        read, write = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.setsid()
            os.close(read)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            one(suite, name, write)
        os.close(write)
        ready, _, _ = select.select([read], [], [], limit)
        answer = b""
        while ready and (more := os.read(read, 1 << 16)):
            answer += more
        os.close(read)
        try:
            # Its ranks too, which a test that failed may leave behind.
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(child, 0)
        output.seek(0)
        said = output.read()
    if not ready:
        return "hang", said
    kind, text = json.loads(answer) if answer else ("fail", "its process ended without an answer")
    return kind, text if kind != "fail" else text + said


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--backend", default="hccl_cpu")
    parser.add_argument("--stand-in-for-gloo", action="store_true")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a test may take")
    parser.add_argument("--log", help="a file for what the tests that did not pass said")
    parser.add_argument("--expect", type=int, help="fail unless so many pass and none fails but those of --may-fail")
    parser.add_argument("--may-fail", default="", help="names of tests that fail for every backend of another name")
    parser.add_argument("only", nargs="*", help="names of tests; all if there are none")
    arguments = parser.parse_args()
    os.environ.update(BACKEND="gloo" if arguments.stand_in_for_gloo else arguments.backend)
    os.environ.update(WORLD_SIZE=str(arguments.ranks), TEMP_DIR=tempfile.gettempdir())
    if arguments.backend == "gloo_renamed":
        _rename_gloo()
    elif arguments.backend != "gloo":
        import hccl.torch  # noqa: F401
    if arguments.stand_in_for_gloo:
        _stand_in()
    suite = _suite("ProcessGroupGloo" if arguments.backend.startswith("gloo") else "CpuBackend")
    counts, bad = {}, []
    log = open(arguments.log, "w") if arguments.log else None
    begun = time.monotonic()
    for name in arguments.only or names():
        kind, text = run(suite, name, arguments.limit)
        counts[kind] = counts.get(kind, 0) + 1
        if kind in ("fail", "hang"):
            bad.append(name)
            print(f"{kind} {name}", flush=True)
        elif arguments.only:
            print(f"{kind} {name} {text.strip().splitlines()[-1] if text else ''}", flush=True)
        if log and kind != "pass":
            log.write(f"=== {kind} {name}\n{text}\n")
            log.flush()
    passed = counts.get("pass", 0)
    print(f"{passed} passed, {len(bad)} failed, {counts.get('skip', 0)} skipped in {time.monotonic() - begun:.0f} s")
    unexpected = set(bad) - set(arguments.may_fail.split(","))
    if unexpected or arguments.expect is not None and passed < arguments.expect:
        sys.exit(1)


if __name__ == "__main__":
    main()
