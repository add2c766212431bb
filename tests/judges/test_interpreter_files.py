"""The networks of ../shared/cases through our interpreter: the recorded outputs, and random inputs against the official
reference model, bit for bit. CARINA_RANDOM_INPUTS sets how many for each file."""

import os

import numpy as np
import pytest
from conftest import case_folders
from interpreter_judge import interpret
from test_tosa_files import random_inputs, tosa_files

RANDOM_INPUTS = int(os.environ.get("CARINA_RANDOM_INPUTS", "10"))


def recorded():
    found = []
    for folder in case_folders():
        for file in sorted(folder.rglob("*.tosa")):
            stem = file.stem.replace("out", "tosa")
            inputs = sorted(file.parent.glob(f"{stem}_in_*.npy"))
            if inputs:
                found.append(pytest.param(file, inputs, sorted(file.parent.glob(f"{stem}_out_*.npy")), id=f"{folder.name}-{file.stem}"))
    return found or [pytest.param(None, None, None, marks=pytest.mark.skip(reason="not run: no ../shared"))]


@pytest.mark.parametrize(("file", "inputs", "outputs"), recorded())
def test_recorded_outputs(file, inputs, outputs, tmp_path):
    (result,) = interpret(tmp_path, [(file.read_bytes(), [np.load(i) for i in inputs])])
    assert not isinstance(result, str), result
    for got, wanted in zip(result, outputs, strict=True):
        np.testing.assert_array_equal(got, np.load(wanted))


@pytest.mark.parametrize("file", tosa_files())
def test_random_inputs(file, reference_model, tmp_path):
    tosa = file.read_bytes()
    inputs = [random_inputs(tosa, seed) for seed in range(RANDOM_INPUTS)]
    results = interpret(tmp_path, [(tosa, arrays) for arrays in inputs])
    for arrays, result in zip(inputs, results, strict=True):
        assert not isinstance(result, str), result
        for got, wanted in zip(result, reference_model(tosa, arrays), strict=True):
            np.testing.assert_array_equal(got, wanted)
