"""Networks of LiteRT's users, from a folder beside the repository: the bits of the reference kernels, or a message that names the operator.

CASES is the number of networks and of operators in that folder whose inputs and outputs have the bits of LiteRT; docs/guide/tflite.md has
these numbers.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from tflite_models import TYPES
from tier_plugin import every, sampled

SHARED = Path(os.environ.get("CARINA_SHARED", Path(__file__).resolve().parents[4] / "shared"))
TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
EXACT = {"litert": 39, "litert_ops": 153}
EXACT_FILES = 44  # of the networks, as a .tflite


def folders(kind):
    return sorted(p.parent for p in (SHARED / kind).glob("*/case.json"))


def arrays(folder, what, k):
    one = folder / f"{what}_{k}.npy"
    numbered = sorted(folder.glob(f"{what}_{k}_*.npy"), key=lambda p: int(re.search(r"_(\d+)\.npy$", p.name).group(1)))
    return [np.load(p) for p in ([one] if one.exists() else numbered)]


def computes_in_floats(folder):
    """Whether the network has no integers, so that its bits depend on how it is quantized: test_tflite_float.py."""
    operators = json.loads((folder / "case.json").read_text())["operators"].values()
    return not any(re.search(r"-> .*int(8|16)", types) for operator in operators for types in operator["types"])


def float_borders(folder):
    """For each input and output the scale, the zero point and the type after QUANTIZE or before DEQUANTIZE; None: integers."""
    model = schema.ModelT.InitFromPackedBuf((folder / "model.tflite").read_bytes())
    graph = model.subgraphs[0]

    def inner(index, ends, other):
        if graph.tensors[index].type != schema.TensorType.FLOAT32:
            return None
        op = next(op for op in graph.operators if index in getattr(op, ends))
        tensor = graph.tensors[getattr(op, other)[0]]
        dtype = next(d for d, number in TYPES.items() if number == tensor.type)
        return np.float32(tensor.quantization.scale[0]), int(tensor.quantization.zeroPoint[0]), dtype

    return [inner(i, "inputs", "outputs") for i in graph.inputs], [inner(i, "outputs", "inputs") for i in graph.outputs]


def quantized(array, border):
    """As a program takes it: floats as integers, uint8 as int8 with the same bits."""
    if border:
        scale, zero, dtype = border
        steps = array / scale
        whole = np.trunc(steps + np.copysign(np.float32(0.5), steps)).astype(np.int64) + zero
        array = np.clip(whole, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    return array.view(np.int8) if array.dtype == np.uint8 else array


def dequantized(array, border):
    if not border:
        return array
    scale, zero, dtype = border
    return scale * (array.view(dtype).astype(np.int64) - zero).astype(np.float32)


def keeps_state(folder):
    stateful = {"CALL_ONCE", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}
    return not stateful.isdisjoint(json.loads((folder / "case.json").read_text())["operators"])


def same_bits_in_one_run(run_carina, program, folder, work):
    """Of a network with one input and one output, which passes its state from each inference to the next."""
    count = json.loads((folder / "case.json").read_text())["inferences"]
    inputs, expected = ([arrays(folder, what, k)[0] for k in range(count)] for what in ("in", "out"))
    words = []
    if program.suffix == ".tflite":
        for k, array in enumerate(inputs):
            np.save(work / f"in_{k}.npy", array)
            words += ["-i", work / f"in_{k}.npy"]
    else:
        np.save(work / "in.npy", np.stack([quantized(array, None) for array in inputs]))
        words = ["-i", work / "in.npy"]
    run_carina(["run", program, *words, "-o", work / "out"])
    for k, want in enumerate(expected):
        if program.suffix == ".tflite":
            got = np.load(work / "out" / str(k) / "output_0.npy")
        else:
            got = np.load(work / "out" / "output_0.npy")[k]
        assert got.tobytes() == want.tobytes(), f"{folder.name}: inference {k}"


def same_bits(run_carina, program, folder, work):
    if keeps_state(folder):
        return same_bits_in_one_run(run_carina, program, folder, work)
    is_model = program.suffix == ".tflite"  # it takes and gives what the file declares
    borders = None if is_model else float_borders(folder)
    for k in range(json.loads((folder / "case.json").read_text())["inferences"]):
        inputs = []
        for j, array in enumerate(arrays(folder, "in", k)):
            np.save(work / f"in_{j}.npy", array if is_model else quantized(array, borders[0][j]))
            inputs += ["-i", work / f"in_{j}.npy"]
        run_carina(["run", program, *inputs, "-o", work / "out"])
        for j, expected in enumerate(arrays(folder, "out", k)):
            got = np.load(work / "out" / f"output_{j}.npy")
            assert got.dtype == expected.dtype or not is_model
            if not is_model:
                got = dequantized(got, borders[1][j])
            assert got.tobytes() == expected.tobytes(), f"{folder.name}: inference {k}, output {j}"


@pytest.mark.parametrize("kind", EXACT)
def test_as_many_networks_are_exact_as_the_guide_says(kind, run_carina, tmp_path):
    cases = folders(kind)
    if not cases:
        pytest.skip(f"no {SHARED / kind}")
    exact = 0
    for folder in cases:
        if kind == "litert" and computes_in_floats(folder):
            continue
        found = run_carina(["tosa", folder / "model.tflite", "--io=int8", "-o", tmp_path / "m.tosa"], expect=None)
        assert found.code in (0, 1), found.stderr
        if found.code == 1:
            assert re.search(r"model\.tflite: \S+", found.stderr), found.stderr
            continue
        same_bits(run_carina, folder / "model.tflite", folder, tmp_path)
        exact += 1
    assert exact == EXACT[kind]


QUANTIZED = [folder for folder in folders("litert") if not computes_in_floats(folder)]


@pytest.mark.parametrize("folder", every(4, QUANTIZED), ids=lambda p: p.name)
def test_networks_have_the_same_bits_on_npus_or_no_program(folder, run_carina, tmp_path):
    """Whether a network is rejected is not decided here: the test above counts those that are not."""
    program = tmp_path / "m.pte"
    is_rejected = run_carina(
        ["tosa", folder / "model.tflite", "--io=int8", "-o", tmp_path / "m.tosa"], expect=None
    ).code
    for target in TARGETS[: sampled(1, 3)]:
        words = ["compile", folder / "model.tflite", "--target", target, "--io=int8", "-o", program]
        done = run_carina(words, expect=1 if is_rejected else 0)
        if is_rejected:
            assert re.search(r"model\.tflite: \S+", done.stderr) and not program.exists()
        else:
            same_bits(run_carina, program, folder, tmp_path)


def test_as_many_files_are_exact_as_the_guide_says(run_carina, tmp_path):
    """A .tflite of every network; those with operators that `carina run` cannot evaluate name one. A state passes from one inference to
    the next."""
    cases = folders("litert")
    if not cases:
        pytest.skip(f"no {SHARED / 'litert'}")
    exact = 0
    for folder in cases:
        run_carina(["compile", folder / "model.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
        count = json.loads((folder / "case.json").read_text())["inferences"]
        inputs = []
        for k in range(count):
            for j, array in enumerate(arrays(folder, "in", k)):
                np.save(tmp_path / f"in_{k}_{j}.npy", array)
                inputs += ["-i", tmp_path / f"in_{k}_{j}.npy"]
        done = run_carina(["run", tmp_path / "npu.tflite", *inputs, "-o", tmp_path / "out"], expect=None)
        if done.code == 1:
            assert re.search(r"npu\.tflite: \S+", done.stderr), done.stderr
            continue
        for k in range(count):
            results = tmp_path / "out" / str(k) if count > 1 else tmp_path / "out"
            for j, expected in enumerate(arrays(folder, "out", k)):
                got = np.load(results / f"output_{j}.npy")
                assert got.tobytes() == expected.tobytes(), f"{folder.name}: inference {k}, output {j}"
        exact += 1
    assert exact == EXACT_FILES
