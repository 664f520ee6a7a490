"""The backend for CPU tensors: what its users rely on, in real processes."""

import os
import subprocess
import sys

import cpu_ranks
import pytest

LIMIT_S = 240


@pytest.mark.parametrize(
    "scenario, ranks", [(scenario.__name__, ranks) for scenario, each in cpu_ranks.SCENARIOS.items() for ranks in each]
)
def test_scenario(scenario, ranks):
    result = subprocess.run(
        [sys.executable, os.path.abspath(cpu_ranks.__file__), scenario, str(ranks)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert result.returncode == 0, f"{scenario} on {ranks} ranks:\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"
