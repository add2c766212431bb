"""TOSA conformance: a fixed sample of the official generator's tests, checked against the official runner.

The sample is made once and stored in build/test-env/conformance. It has nine operators in `make test`, all in `make test-all`. The whole
corpus is `make conformance`. test_random_tosa_graphs.py compares every operator and type with the reference model in every tier.
"""

import os
from pathlib import Path

import corpus
import pytest
import tosa_page
from conftest import ROOT, TEST_ENV
from tier_plugin import sampled

FOLDER = TEST_ENV / "conformance"
# Smaller samples are an error.
LEAST = sampled(300, 1500)
LEAST_REJECTED = sampled(50, 300)


def listing(outcomes):
    first = lambda message: (message.splitlines() or [""])[0]
    return "\n".join(f"{o.test}: {'skipped' if o.skipped else first(o.message)}" for o in outcomes[:40])


def test_sample_of_the_conformance_tests(carina):
    import official

    with corpus.alone(FOLDER):
        folder = corpus.sample(FOLDER)
        outcomes = official.check(
            folder, corpus.tests_in(folder), carina, os.environ.get("JOBS", "2"), FOLDER / "sample.log"
        )
    wrong = [outcome for outcome in outcomes if not outcome.passed]
    assert not wrong, f"{len(wrong)} of {len(outcomes)} tests:\n{listing(wrong)}"
    names = [Path(outcome.test).name for outcome in outcomes]
    assert len(names) >= LEAST
    assert sum("_ERRORIF_" in name for name in names) >= LEAST_REJECTED
    assert not [
        operator for operator in corpus.sampled_operators() if not any(name.startswith(operator) for name in names)
    ]


def test_the_page_is_what_the_kept_outcomes_say():
    results = FOLDER / "results"
    operators = corpus.operators()
    if any(not (results / f"{operator}.json").exists() for operator in operators):
        pytest.skip("not run: no outcomes of the whole corpus (make conformance)")
    assert (ROOT / "docs" / "conformance-tosa.md").read_text() == tosa_page.text(results, operators)
