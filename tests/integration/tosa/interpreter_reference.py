"""Runs Carina's interpreter and the official TOSA reference model on the same files, and compares the results."""

import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import tosa_reference_model
import tosa_types  # noqa: F401  registers the types that the reference model's outputs use
import tosa_serializer as ts
from conftest import ROOT
from interpreter_cases import NUMPY

ROW_TYPES = (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)


def run_tosa_program():
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    return carina.parent / "run_tosa"


def plain(array):
    """The same bytes in a type that .npy supports."""
    return array.view(f"u{array.dtype.itemsize}") if array.dtype in ROW_TYPES else array


def interpret(folder, cases):
    """Runs the interpreter on (tosa bytes, inputs) pairs in one process. Returns the outputs or the error text for each."""
    folders = []
    for index, (tosa, inputs) in enumerate(cases):
        here = Path(folder) / str(index)
        here.mkdir()
        (here / "test.tosa").write_bytes(tosa)
        for i, array in enumerate(inputs):
            np.save(here / f"in_{i}.npy", plain(np.array(array)))
        folders.append(here)
    subprocess.run([run_tosa_program(), *map(str, folders)], check=True, timeout=600)
    results = []
    for here in folders:
        if (here / "error.txt").exists():
            results.append((here / "error.txt").read_text())
        else:
            results.append([np.load(file) for file in sorted(here.glob("out_*.npy"), key=lambda f: int(f.stem[4:]))])
    return results


def reference_by_program(case):
    """The reference model's command line: needed for 48-bit operands, and for floats computed in fp64 (`precise`)."""
    program = Path(ts.__file__).parents[1] / "bin" / "tosa_reference_model"
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "t.tosa").write_bytes(case.tosa)
        for i, array in enumerate(case.inputs):
            np.save(here / f"i{i}.npy", array.view(np.uint8) if array.dtype == ml_dtypes.float8_e5m2 else array)

        def names(stem, count, suffix=""):
            return ",".join(f"{stem}{i}{suffix}" for i in range(count))

        inputs, outputs = len(case.inputs), len(case.outputs)
        command = [
            program,
            "--tosa_file=t.tosa",
            "--ifm_name=" + names("input-", inputs),
            "--ifm_file=" + names("i", inputs, ".npy"),
            "--ofm_name=" + names("result-", outputs),
            "--ofm_file=" + names("o", outputs, ".npy"),
            "-l",
            "NONE",
        ]
        done = subprocess.run(command + ([] if case.exact else ["-p", "1"]), cwd=here, capture_output=True, timeout=600)
        return None if done.returncode != 0 else [np.load(here / f"o{i}.npy") for i in range(outputs)]


def reference(case):
    """The outputs, or None if the reference model calls the result unpredictable."""
    wide = ts.DType.INT48 in case.outputs or any(array.dtype == np.int64 for array in case.inputs)
    if wide or not case.exact:
        return reference_by_program(case)
    inputs = [np.array(a).view(f"V{a.dtype.itemsize}") if a.dtype in ROW_TYPES else np.array(a) for a in case.inputs]
    outputs, status = tosa_reference_model.run(case.tosa, inputs, verbosity="NONE")
    return [np.asarray(o) for o in outputs] if status == tosa_reference_model.GraphStatus.TOSA_VALID else None


def difference(case, index, wanted, got):
    """Why output `index` is wrong, or None."""
    dtype = np.dtype(NUMPY[case.outputs[index]])
    if got.shape != wanted.shape:
        return f"shape {got.shape}, wanted {wanted.shape}"
    if dtype.kind in "iub":
        return (
            None
            if np.array_equal(wanted, got)
            else f"{np.count_nonzero(wanted != got)} of {wanted.size} integers differ"
        )
    want = (wanted.view(dtype) if wanted.dtype.kind == "V" else wanted).astype(np.float64)
    have = got.view(dtype).astype(np.float64)
    if not np.array_equal(np.isnan(want), np.isnan(have)):
        return "NaN in other places"
    same = (want == have) | np.isnan(want)
    if case.exact:
        return None if same.all() else f"{np.count_nonzero(~same)} of {want.size} floats differ"
    info = ml_dtypes.finfo(dtype)
    eps, tiny = float(info.eps), float(info.smallest_subnormal)
    if case.scale is None:
        allowed = case.ulps * eps * np.abs(want) + tiny
    else:  # a sum: fp32 rounding of its terms, then one rounding to the output's type
        allowed = case.ulps * 2.0**-23 * np.broadcast_to(case.scale, want.shape) + eps * np.abs(want) + tiny
    with np.errstate(invalid="ignore"):
        bad = ~same & ~(np.abs(want - have) <= allowed)
    return f"{np.count_nonzero(bad)} of {want.size} floats are out of tolerance" if bad.any() else None


def check(case, result):
    """Why Carina's result for the case is wrong, or None."""
    wanted = reference(case)
    if wanted is None or isinstance(result, str):
        if wanted is None and isinstance(result, str):
            return None
        return (
            f"{case.name}: we reject what the reference model runs: {result}"
            if wanted is not None
            else f"{case.name}: we run what it rejects"
        )
    for index, (want, have) in enumerate(zip(wanted, result, strict=True)):
        why = difference(case, index, want, have)
        if why:
            return f"{case.name}: output {index}: {why}"
    return None
