"""A sample of the Arm backend's own tests, from ExecuTorch's wheel, on Carina. arm/suite.json has tests that pass."""

import json

import pytest
import suite

LEAST = 190  # a smaller sample is an error


@pytest.mark.long
def test_the_sample_of_the_arm_backends_suite_passes(carina, tmp_path):
    sample = json.loads(suite.KEPT.read_text())["sample"]
    assert len(sample) >= LEAST
    found, _ = suite.run(suite.tests_folder(), sample, tmp_path / "outcomes.json", carina.parents[1] / "python")
    bad = {test: found.get(test, ["lost", ""]) for test in sample if found.get(test, ["lost"])[0] != "passed"}
    assert not bad
