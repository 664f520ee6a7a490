"""The backend for CPU tensors: what its users rely on, in real processes."""

import os
import subprocess
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cpu_ranks.py")
LIMIT_S = 900
# The scenarios are of CPU tensors alone, and torch_npu takes seconds of each process; npu_ranks.py has both in a group.
ENVIRONMENT = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}


def test_all_scenarios():
    # In one process, which forks ranks: importing torch takes longer than most scenarios.
    command = [sys.executable, PROGRAM, "all"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT)
    assert result.returncode == 0, f"{result.stdout[-6000:]}\n{result.stderr[-12000:]}"
