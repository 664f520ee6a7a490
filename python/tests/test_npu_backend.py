"""The wheel's backend for npu tensors on the software NPU: what its users rely on, in real processes."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS_PROGRAM = os.path.join(HERE, "npu_ranks.py")
LIMIT_S = 600

CALLS = [
    "collectives",
    "objects",
    "coalescing",
    "messages",
    "groups",
    "handles",
    "functional_collectives",
    "both",
    "again",
]
DEVICE = ["events", "memory", "destroy_in_flight", "abort"]
FAULTS = ["timeout", "receive_timeout", "watchdog"]


def run(ranks, scenarios):
    """Runs scenarios of `npu_ranks.py` on so many ranks; what it prints is for whoever reads a failure."""
    command = [sys.executable, RANKS_PROGRAM, str(ranks), *scenarios]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert result.returncode == 0, f"{scenarios} on {ranks} ranks:\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_what_calls_do(ranks):
    run(ranks, CALLS)


def test_work_of_the_device_around_calls():
    run(2, DEVICE)


def test_when_something_goes_wrong():
    run(2, FAULTS)
