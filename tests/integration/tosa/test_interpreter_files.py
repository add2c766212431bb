"""Runs the networks of the cases in Carina's interpreter. Recorded outputs must be equal. On random inputs, the results must equal those of
the official reference model bit for bit, for the file and after printing, parsing and writing it. CARINA_RANDOM_INPUTS sets the number of
inputs per file."""

import os

import numpy as np
import pytest
import tosa_reference_model
from cases_fixtures import case_folders, id_of
from interpreter_reference import interpret
from random_tosa_reference import quiet, run_ours
from test_tosa_files import random_inputs, tosa_files, tosa_tool  # noqa: F401  (a fixture)

RANDOM_INPUTS = int(os.environ.get("CARINA_RANDOM_INPUTS", "5"))
REWRITTEN = 2  # the number of inputs that also run on the rewritten file in the reference model


def recorded():
    found = []
    for folder in case_folders():
        for file in sorted(folder.rglob("*.tosa")):
            stem = file.stem.replace("out", "tosa")
            inputs = sorted(file.parent.glob(f"{stem}_in_*.npy"))
            if inputs:
                found.append(pytest.param(file, inputs, sorted(file.parent.glob(f"{stem}_out_*.npy")), id=id_of(file)))
    return found


@pytest.mark.parametrize(("file", "inputs", "outputs"), recorded())
def test_recorded_outputs(file, inputs, outputs, tmp_path):
    (result,) = interpret(tmp_path, [(file.read_bytes(), [np.load(i) for i in inputs])])
    assert not isinstance(result, str), result
    for got, wanted in zip(result, outputs, strict=True):
        np.testing.assert_array_equal(got, np.load(wanted))


def arrays_of(tosa, seed):
    """Inputs of the file: uniform, small, or mostly at the ends of the type's range."""
    random = np.random.default_rng(seed)
    arrays = []
    for array in random_inputs(tosa, seed):
        if array.dtype.kind == "i":
            # Half the range of i32, because networks add values.
            low, high = (
                (-(2**30), 2**30 - 1)
                if array.dtype == np.int32
                else (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
            )
            if seed % 4 == 1:
                low, high = -4, 4
            data = random.integers(low, high + 1, array.shape)
            if seed % 4 == 2:
                data = np.where(random.random(array.shape) < 0.8, random.choice([low, high], array.shape), data)
            array = data.astype(array.dtype)
        arrays.append(array)
    return arrays


def bytes_of_reference(tosa, arrays):
    with quiet():
        outputs, status = tosa_reference_model.run(tosa, arrays, verbosity="NONE")
    assert status == tosa_reference_model.GraphStatus.TOSA_VALID
    return [np.asarray(output).tobytes() for output in outputs]


@pytest.mark.parametrize("file", tosa_files())
def test_random_inputs(file, tosa_tool, tmp_path):  # noqa: F811
    tosa = file.read_bytes()
    tosa_tool("retext", file, tmp_path / "written.tosa")
    written = (tmp_path / "written.tosa").read_bytes()
    inputs = [arrays_of(tosa, seed) for seed in range(RANDOM_INPUTS)]
    wanted = [bytes_of_reference(tosa, arrays) for arrays in inputs]
    for name, content in (("the file", tosa), ("what we wrote", written)):
        outcomes = run_ours(tmp_path, [(content, arrays) for arrays in inputs])
        for seed, (outcome, outputs) in enumerate(zip(outcomes, wanted, strict=True)):
            assert not outcome.rejected, f"{name}, seed {seed}: {outcome.rejected}"
            assert list(outcome.values.values()) == outputs, f"{name}, seed {seed}"
    for arrays, outputs in zip(inputs[:REWRITTEN], wanted):
        assert bytes_of_reference(written, arrays) == outputs
