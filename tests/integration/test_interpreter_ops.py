"""Every operator and type of TOSA 1.0, one at a time on random graphs, against the official reference model: integers bit
for bit, floats within a tight tolerance of its fp64 results. CARINA_SAMPLES sets how many graphs of each."""

import os

import pytest
from interpreter_cases import make_case, rows
from interpreter_reference import check, interpret

SAMPLES = int(os.environ.get("CARINA_SAMPLES", "3"))


@pytest.mark.parametrize(("name", "maker"), rows(), ids=[name for name, _ in rows()])
def test_operator(name, maker, tmp_path):
    cases = [make_case(name, maker, seed) for seed in range(SAMPLES)]
    results = interpret(tmp_path, [(case.tosa, case.inputs) for case in cases])
    wrong = [why for case, result in zip(cases, results, strict=True) if (why := check(case, result))]
    assert not wrong, "\n".join(wrong)
