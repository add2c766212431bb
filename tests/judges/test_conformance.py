"""TOSA conformance: a fixed sample of the official generator's tests, judged by the official runner; run by `make conformance`."""

import os
import sys
from pathlib import Path

import pytest
from conftest import JUDGES, ROOT

sys.path.insert(0, str(Path(__file__).parent / "conformance"))

LEAST = 1500  # the sample must not shrink unnoticed


@pytest.fixture(scope="session")
def program():
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    path = Path(os.environ.get("CARINA_SUT", carina.with_name("tosa_tool")))
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")
    return path


@pytest.mark.conformance
def test_sample_of_the_conformance_tests(program):
    import corpus
    import judge

    root = JUDGES / "conformance"
    root.mkdir(parents=True, exist_ok=True)
    folder = corpus.sample(root)
    outcomes = judge.judge(folder, corpus.tests_in(folder), program, os.environ.get("JOBS", "2"), root / "sample.log")
    assert len(outcomes) >= LEAST
    wrong = [outcome for outcome in outcomes if not outcome.passed]
    listing = "\n".join(f"{outcome.test}: {outcome.message.splitlines()[0] if outcome.message else ''}" for outcome in wrong[:40])
    assert not wrong, f"{len(wrong)} of {len(outcomes)} tests:\n{listing}"
