"""The backend for CPU tensors: what its users rely on, in real processes."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS_PROGRAM = os.path.join(HERE, "cpu_ranks.py")
LIMIT_S = 240


def run(scenario, ranks):
    """Runs a scenario of `cpu_ranks.py` on so many ranks; what it prints is for whoever reads a failure."""
    result = subprocess.run(
        [sys.executable, RANKS_PROGRAM, scenario, str(ranks)], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert result.returncode == 0, f"{scenario} on {ranks} ranks:\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"
    return result.stdout


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("scenario", ["collectives", "messages", "handles", "groups"])
def test_what_calls_do(scenario, ranks):
    run(scenario, ranks)


@pytest.mark.parametrize("scenario", ["arguments", "sparse", "shareable", "coalescing", "ddp", "split", "alone"])
def test_on_two_ranks(scenario):
    run(scenario, 1 if scenario == "alone" else 2)


@pytest.mark.parametrize("scenario", ["timeout", "death", "mismatch", "abort", "exit_in_flight", "fork", "late_message"])
def test_when_something_goes_wrong(scenario):
    run(scenario, 2 if scenario != "death" else 3)
