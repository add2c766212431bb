"""What partitioners of carina.arm take in ExecuTorch's own flow, and the numbers that come out under the TOSA reference model: arm_partition.py has
the programs. And a sample of the Arm backend's own tests, which pass on Carina by a plugin."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = (
    "moves_become_delegates",
    "nothing_left_is_no_delegate",
    "the_cost_rule_keeps_moves",
    "pools_with_divisors",
    "comparisons_never_raise",
    "checks_cut_the_network",
    "unknown_operators_stay",
    "floats_between_integers",
    "all_orders_of_memory",
    "batch_first_recurrences",
    "operators_are_spelled_as_there",
)


@pytest.fixture(scope="module")
def outcome(carina, tmp_path_factory):
    """What one process printed that ran all of them: PyTorch and ExecuTorch take longer to load than they take."""
    environment = {**os.environ, "PYTHONPATH": str(carina.parents[1] / "python"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(HERE / "arm_partition.py"), *PROGRAMS]
    folder = tmp_path_factory.mktemp("arm_partition")
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)


@pytest.mark.parametrize("program", PROGRAMS)
def test_partitions(outcome, program):
    assert f"passed {program}" in outcome.stdout.splitlines(), outcome.stderr[-6000:]


def test_the_arm_backends_own_tests(carina, tmp_path):
    """The sample of arm/suite.json that is in ExecuTorch's wheel, too."""
    sys.path.insert(0, str(HERE / "arm"))
    import executorch
    import suite

    root = Path(next(iter(executorch.__path__))) / "backends" / "arm" / "test"
    sample = [test for test in json.loads(suite.KEPT.read_text())["sample"] if (root / test.partition("::")[0]).exists()]
    assert len(sample) >= 20
    found, _ = suite.run(root, sample, tmp_path / "outcomes.json", carina.parents[1] / "python", seconds=3000)
    passed = [test for test in sample if found.get(test, ["lost"])[0] == "passed"]
    assert len(passed) >= 0.98 * len(sample), [test for test in sample if test not in passed]
