"""Users' checks of a partitioner divide a network where they say. arm_checks.py has the networks and runs in its own processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tier_plugin import sampled

HERE = Path(__file__).parent
OPERATORS = ("sigmoid", "tanh", "relu", "add", "mul", "max_pool2d", "avg_pool2d", "hardswish", "gelu", "exp", "view", "softmax")
MORE = ("abs", "neg", "sub", "clamp", "hardtanh", "leaky_relu", "elu", "cat", "permute", "slice", "sin", "cos")


@pytest.fixture(scope="module")
def outcome(carina, tmp_path_factory):
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(HERE / "arm_checks.py"), sampled("sample", "all")]
    folder = tmp_path_factory.mktemp("arm_checks")
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=7200)
    return (folder / "passed.txt").read_text().splitlines(), process.stderr


@pytest.mark.parametrize("operator", sampled(OPERATORS, OPERATORS + MORE))
def test_checks(outcome, operator):
    passed, errors = outcome
    wrong = [line for line in errors.splitlines() if line.startswith(operator + " ")]
    assert operator in passed, "\n".join(wrong) or errors[-4000:]
