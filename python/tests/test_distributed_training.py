"""Training on two ranks, in every way that `python/suites/training.py` knows, gives the losses of one process."""

import os
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(HERE, "..", "suites", "training.py")
EXAMPLES = os.path.join(HERE, "example_ranks.py")
LIMIT_S = 600


def run(*command):
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=LIMIT_S)
    assert result.returncode == 0, f"{command}:\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"


@pytest.mark.parametrize("device", ["npu", "cpu"])
def test_losses_are_those_of_one_process(device):
    run(SUITE, "--device", device, "--ranks", "2")


def test_examples_agree():
    run(EXAMPLES)
