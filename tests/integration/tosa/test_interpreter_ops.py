"""Compares every operator and type of TOSA 1.0 with the official reference model, one at a time on random graphs. Integers must be equal
bit for bit, floats within a tight tolerance of its fp64 results. CARINA_SAMPLES sets the number of graphs per operator and type."""

import os

import pytest
from interpreter_cases import make_case, rows
from interpreter_reference import check, interpret

SAMPLES = int(os.environ.get("CARINA_SAMPLES", "3"))


@pytest.mark.parametrize(("name", "builder"), rows(), ids=[name for name, _ in rows()])
def test_operator_equals_reference_model(name, builder, tmp_path):
    cases = [make_case(name, builder, seed) for seed in range(SAMPLES)]
    results = interpret(tmp_path, [(case.tosa, case.inputs) for case in cases])
    wrong = [why for case, result in zip(cases, results, strict=True) if (why := check(case, result))]
    assert not wrong, "\n".join(wrong)
