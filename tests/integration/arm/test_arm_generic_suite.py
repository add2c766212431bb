"""A sample of ExecuTorch's generic backend suite, from its wheel, on Carina. The programs for an Ethos-U run on the simulator."""

import generic
import pytest
from tier_plugin import sampled

# Operators of which each flow runs all tests in `make test-all`, and one in 48 otherwise: each takes some 5 s.
FILES = ("add", "avgpool2d", "conv1d", "elu", "linear", "mul", "permute", "upsample_bilinear2d")


@pytest.fixture(scope="module")
def outcomes(carina, tmp_path_factory):
    files = [f"operators/test_{name}.py" for name in FILES]
    return generic.run(
        files,
        tmp_path_factory.mktemp("generic") / "outcomes.json",
        carina.parents[1] / "python",
        every=sampled(48, 1),
        seconds=3000,
    )


def test_all_tests_of_the_sample_pass(outcomes):
    assert len(outcomes) >= sampled(4, 100)
    assert not {test: outcome for test, outcome in outcomes.items() if outcome[0] == "failed"}


@pytest.mark.parametrize("flow", generic.FLOWS)
def test_each_flow_runs_delegates(outcomes, flow):
    own = [
        results
        for test, (outcome, results, _) in outcomes.items()
        if outcome == "passed" and generic.flow_of(test) == flow
    ]
    assert any("SUCCESS" in results for results in own)
