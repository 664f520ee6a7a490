"""Runs the training programs of `examples/pytorch` on two ranks of both kinds; they must print the same losses.

As torchrun does, it gives the ranks their numbers in the environment; but it forks them, which spares them importing
torch.
"""

import os
import re
import runpy
import signal
import socket
import sys
import tempfile
import traceback

import torch
import torch.distributed

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "..", "examples", "pytorch")
NAMES = ("ddp", "fsdp2", "tensor_parallel", "pipeline")
RANKS = 2
STEPS = 10
SECONDS_MAX = 120
# See `python/suites/training.py`.
TOLERANCE = 2e-5


def rank_main(name, device, rank, output):
    code = 1
    signal.alarm(SECONDS_MAX)
    try:
        os.dup2(output.fileno(), 1)
        torch.set_num_threads(1)
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS))
        sys.argv = [name, "--device", device, "--steps", str(STEPS)]
        sys.path.insert(0, FOLDER)
        runpy.run_path(os.path.join(FOLDER, f"{name}.py"), run_name="__main__")
        code = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def losses(name, device):
    """What an example prints."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free.getsockname()[1]))
    with tempfile.TemporaryFile("w+") as output:
        children = []
        for rank in range(RANKS):
            child = os.fork()
            if child == 0:
                rank_main(name, device, rank, output)
            children.append(child)
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        output.seek(0)
        said = output.read()
    if any(ends):
        sys.exit(f"{name} on {device}: ranks ended with {ends}\n{said}")
    return [float(loss) for loss in re.findall(r"^step +\d+ +loss (\S+)$", said, re.MULTILINE)]


def main():
    first = None
    for device in ("npu", "cpu"):
        for name in NAMES:
            found = losses(name, device)
            first = first or found
            print(name, device, found, flush=True)
            if len(found) != STEPS // 10 + 1 or not found[-1] < found[0] - 0.5:
                sys.exit(f"{name} on {device} learns nothing")
            if max(abs(one - other) for one, other in zip(found, first)) > TOLERANCE:
                sys.exit(f"{name} on {device} is not as {NAMES[0]}")


if __name__ == "__main__":
    main()
