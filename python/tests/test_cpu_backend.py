"""The backend for CPU tensors: what its users rely on, in real processes."""

import os
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cpu_ranks.py")
LIMIT_S = 900


def test_all_scenarios():
    # In one process, which forks ranks: importing torch takes longer than most scenarios.
    result = subprocess.run([sys.executable, PROGRAM, "all"], capture_output=True, text=True, timeout=LIMIT_S)
    assert result.returncode == 0, f"{result.stdout[-6000:]}\n{result.stderr[-12000:]}"
