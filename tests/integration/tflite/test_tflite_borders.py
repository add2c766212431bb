"""Float and uint8 inputs and outputs of LiteRT models: the interpreter takes and gives them as LiteRT does."""

import numpy as np
import pytest
from tflite_models import Model, litert


def model_of(inner, outer=np.float32):
    m = Model()
    zero = 3 if inner != np.int16 else 0
    given = m.input("given", (1, 64), outer) if outer == np.float32 else m.input("given", (1, 64), outer, 0.05, 131)
    x = m.tensor("x", (1, 64), inner, 0.05, zero)
    y = m.tensor("y", (1, 64), inner, 0.02, zero)
    m.op("QUANTIZE", [given], [x])
    m.op("RELU", [x], [y], version=2)
    if outer == np.float32:
        m.op("DEQUANTIZE", [y], [m.output("result", (1, 64), outer)], version=2)
    else:
        m.op("QUANTIZE", [y], [m.output("result", (1, 64), outer, 0.03, 100)])
    return m.bytes()


# Halves, values beyond the range, and what is next to them.
FLOATS = np.array(
    [[*np.arange(-26, 26) * 0.025, 1000.0, -1000.0, 6.3, -6.5, 6.375, 1e-9, -1e-9, 0.0, -0.0, 2.5, -2.5, 3.3]],
    np.float32,
)


@pytest.mark.parametrize("inner", [np.int8, np.uint8, np.int16])
def test_floats_are_quantized_as_by_reference_kernels(inner, run_carina, tmp_path):
    content = model_of(inner)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "x.npy", FLOATS)
    for command in ("run", "interpret"):
        run_carina([command, tmp_path / "m.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        got = np.load(tmp_path / "out" / "output_0.npy")
        assert got.dtype == np.float32
        assert np.array_equal(got, litert(content, [FLOATS])[0])


def test_uint8_stays_uint8(run_carina, tmp_path):
    content = model_of(np.int8, np.uint8)
    (tmp_path / "m.tflite").write_bytes(content)
    x = np.arange(64, dtype=np.uint8)[None] * 4
    np.save(tmp_path / "x.npy", x)
    run_carina(["run", tmp_path / "m.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    got = np.load(tmp_path / "out" / "output_0.npy")
    assert got.dtype == np.uint8 and np.array_equal(got, litert(content, [x])[0])


def test_programs_have_integers_at_their_borders_on_request(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(model_of(np.int8))
    compile = ["compile", tmp_path / "m.tflite", "--target=ethos-u55-128", "-o", tmp_path / "m.pte"]
    failed = run_carina(compile, expect=1)
    assert "m.tflite: input given" in failed.stderr and "--io int8" in failed.stderr
    run_carina([*compile, "--io=int8"])
    steps = FLOATS / np.float32(0.05)
    x = np.clip(np.trunc(steps + np.copysign(np.float32(0.5), steps)) + 3, -128, 127).astype(np.int8)
    np.save(tmp_path / "x.npy", x)
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    y = np.load(tmp_path / "out" / "output_0.npy")
    assert y.dtype == np.int8
    np.save(tmp_path / "f.npy", FLOATS)
    run_carina(["run", tmp_path / "m.tflite", "-i", tmp_path / "f.npy", "-o", tmp_path / "out"])
    assert np.allclose(np.load(tmp_path / "out" / "output_0.npy"), (y.astype(np.float32) - 3) * np.float32(0.02))
