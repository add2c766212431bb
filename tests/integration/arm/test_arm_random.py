"""Random networks through carina.arm's quantizer and partitioner in ExecuTorch's own flow. arm_random.py has the networks and runs in its
own processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tier_plugin import sampled

HERE = Path(__file__).parent
# Networks in each process: in `make test-all` 2,000 networks of floats, and 500 with integers and bools.
COUNTS = {"float": sampled(8, 500), "mixed": sampled(3, 125)}


@pytest.mark.parametrize("kind", COUNTS)
@pytest.mark.parametrize("part", range(sampled(1, 4)))
def test_random_networks(carina, tmp_path, part, kind):
    count = COUNTS[kind]
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(HERE / "arm_random.py"), str(part * count), str(count), kind]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=7200)
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout.splitlines().count("passed " + str(part * count)) == 1
    assert sum(line.startswith("passed ") for line in done.stdout.splitlines()) == count
