"""Single operators: the bits of LiteRT's reference kernels on the interpreter and on simulated NPUs.

CARINA_TFLITE_SEEDS sets the number of random cases of an operator.
"""

import os

import numpy as np
import pytest
from tflite_models import litert
from tflite_operators import INT8, INT16, make
from tier_plugin import sampled

SEEDS = int(os.environ.get("CARINA_TFLITE_SEEDS", sampled(6, 60)))
TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
CASES = [(f, np.int8) for f in INT8] + [(f, np.int16) for f in INT16]


def names(value):
    return value.__name__.rstrip("_") if callable(value) and not isinstance(value, type) else np.dtype(value).name


def files(folder, inputs):
    out = []
    for i, array in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", array)
        out += ["-i", folder / f"in_{i}.npy"]
    return out


def outputs(folder, count):
    return [np.load(folder / f"output_{i}.npy") for i in range(count)]


def check(ours, expected, what):
    for i, (got, want) in enumerate(zip(ours, expected, strict=True)):
        assert got.dtype == want.dtype and got.shape == want.shape, f"{what}: output {i}"
        wrong = np.flatnonzero(got != want)
        assert wrong.size == 0, (
            f"{what}: output {i}: {wrong.size} of {want.size} differ, first {got.flat[wrong[0]]}, not {want.flat[wrong[0]]}"
        )


@pytest.mark.parametrize(("operator", "dtype"), CASES, ids=names)
def test_interpreter_has_bits_of_reference_kernels(operator, dtype, run_carina, tmp_path):
    for seed in range(SEEDS):
        content, inputs = make(operator, seed, dtype)
        model = tmp_path / "model.tflite"
        model.write_bytes(content)
        expected = litert(content, inputs)
        run_carina(["interpret", model, *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", len(expected)), expected, f"seed {seed}")


@pytest.mark.parametrize(("operator", "dtype"), CASES, ids=names)
def test_npu_has_bits_of_reference_kernels(operator, dtype, run_carina, tmp_path):
    for seed in range(sampled(3, SEEDS)):
        content, inputs = make(operator, seed, dtype)
        model = tmp_path / "model.tflite"
        model.write_bytes(content)
        expected = litert(content, inputs)
        for target in TARGETS if sampled(0, 1) else [TARGETS[seed % 3]]:
            run_carina(["compile", model, "--target", target, "-o", tmp_path / "m.pte"])
            run_carina(["run", tmp_path / "m.pte", *files(tmp_path, inputs), "-o", tmp_path / "out"])
            check(outputs(tmp_path / "out", len(expected)), expected, f"seed {seed}, {target}")
