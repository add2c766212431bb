"""Operators that stay on the CPU of a compiled file: `carina run` evaluates them with the bits of LiteRT's reference kernels."""

import numpy as np
import pytest
from tflite_models import Model, litert

TARGET = "ethos-u55-128"


def compare(m, inputs, run_carina, folder, on_cpu):
    """Compiles to a .tflite, runs it, and compares; `on_cpu` are the operators that must have stayed."""
    (folder / "m.tflite").write_bytes(m.bytes())
    flags = []
    for i, array in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", array)
        flags += ["-i", folder / f"in_{i}.npy"]
    run_carina(["compile", folder / "m.tflite", "--target", TARGET, "-o", folder / "n.tflite"])
    listing = run_carina(["inspect", folder / "n.tflite"]).stdout
    for operator in on_cpu:
        assert operator in listing
    run_carina(["run", folder / "n.tflite", *flags, "-o", folder / "out"])
    for i, expected in enumerate(litert(m.bytes(), inputs)):
        got = np.load(folder / "out" / f"output_{i}.npy")
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert got.tobytes() == expected.tobytes(), f"output {i}: {np.count_nonzero(got != expected)} differ"


def ints(m, *values):
    return m.constant("c", np.array(values, np.int32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("mode", [{}, {"alignCorners": True}, {"halfPixelCenters": True}], ids=str)
@pytest.mark.parametrize("sizes", [((7, 5), (11, 17)), ((13, 9), (6, 4))], ids=str)
def test_resize_of_any_ratio(sizes, mode, dtype, run_carina, tmp_path):
    (h, w), out = sizes
    limits = np.iinfo(dtype)
    m = Model()
    x = m.input("x", (2, h, w, 3), dtype, 0.1, 0)
    y = m.output("y", (2, *out, 3), dtype, 0.1, 0)
    m.op("RESIZE_BILINEAR", [x, ints(m, *out)], [y], "ResizeBilinearOptions", version=3, **mode)
    data = np.random.default_rng(h).integers(limits.min, limits.max + 1, (2, h, w, 3)).astype(dtype)
    compare(m, [data], run_carina, tmp_path, ["RESIZE_BILINEAR"])


@pytest.mark.parametrize("op", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
def test_resize_of_one_pixel_is_on_the_npu(op, run_carina, tmp_path):
    m = Model()
    x, y = m.input("x", (1, 1, 1, 5), np.int8, 0.1, 3), m.output("y", (1, 33, 9, 5), np.int8, 0.1, 3)
    options = "ResizeBilinearOptions" if op == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
    m.op(op, [x, ints(m, 33, 9)], [y], options, version=2)
    compare(m, [np.array([-128, -1, 0, 7, 127], np.int8).reshape(1, 1, 1, 5)], run_carina, tmp_path, ["ethos-u"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=lambda d: np.dtype(d).name)
def test_arg_max_with_wide_indices(dtype, run_carina, tmp_path):
    m = Model()
    x, y = m.input("x", (2, 6, 5, 7), dtype, 0.1, 0), m.output("y", (2, 6, 7), np.int64)
    m.op("ARG_MAX", [x, ints(m, -2)], [y], "ArgMaxOptions", version=2, outputType=4)
    data = np.random.default_rng(0).integers(0, 9, (2, 6, 5, 7)).astype(dtype)
    compare(m, [data], run_carina, tmp_path, ["ARG_MAX"])


def test_elements_by_index(run_carina, tmp_path):
    m = Model()
    x, at = m.input("x", (5, 4, 3), np.int8, 0.1), m.input("at", (6, 2), np.int32)
    picked = m.output("picked", (6, 3), np.int8, 0.1)
    placed = m.output("placed", (5, 4, 3), np.int8, 0.1)
    m.op("GATHER_ND", [x, at], [picked], "GatherNdOptions", version=2)
    m.op("SCATTER_ND", [at, picked, ints(m, 5, 4, 3)], [placed], "ScatterNdOptions")
    random = np.random.default_rng(3)
    data = random.integers(-60, 60, (5, 4, 3)).astype(np.int8)
    indices = np.array([[0, 0], [4, 3], [2, 1], [2, 1], [1, 3], [3, 0]], np.int32)
    compare(m, [data, indices], run_carina, tmp_path, ["GATHER_ND", "SCATTER_ND"])
    np.save(tmp_path / "in_1.npy", indices + 9)
    flags = ["-i", tmp_path / "in_0.npy", "-i", tmp_path / "in_1.npy"]
    done = run_carina(["run", tmp_path / "n.tflite", *flags], expect=1)
    assert "an index out of range: expected 0 to 4, got 9" in done.stderr


def test_floats_between_integer_parts(run_carina, tmp_path):
    """Bytes to floats and back, a root and a quotient: what is left on the CPU of a pose network."""
    m, shape = Model(), (1, 6, 7, 5)
    image = m.input("image", shape, np.uint8)
    floats, quotient, root = (m.tensor(name, shape, np.float32) for name in ("floats", "quotient", "root"))
    m.op("CAST", [image], [floats], "CastOptions")
    divisor = m.constant("divisor", np.linspace(0.5, 3, 5).astype(np.float32))
    m.op("DIV", [floats, divisor], [quotient], "DivOptions")
    m.op("SQRT", [quotient], [root])
    q = m.tensor("q", shape, np.int8, 0.11, -120)
    m.op("QUANTIZE", [root], [q], "QuantizeOptions")
    doubled = m.tensor("doubled", shape, np.int8, 0.25, -100)
    m.op("ADD", [q, q], [doubled], "AddOptions", version=2)
    m.op("DEQUANTIZE", [doubled], [m.output("y", shape, np.float32)], "DequantizeOptions", version=2)
    data = np.random.default_rng(4).integers(0, 256, shape).astype(np.uint8)
    compare(m, [data], run_carina, tmp_path, ["CAST", "DIV", "SQRT", "QUANTIZE", "DEQUANTIZE", "ethos-u"])


def test_floor_division(run_carina, tmp_path):
    m = Model()
    x, y = m.input("x", (3, 8), np.int32), m.output("y", (3, 8), np.int32)
    m.op("FLOOR_DIV", [x, ints(m, 48)], [y], "FloorDivOptions", version=2)
    data = np.random.default_rng(5).integers(-2000, 2000, (3, 8)).astype(np.int32)
    compare(m, [data], run_carina, tmp_path, ["FLOOR_DIV"])


def test_dense_float_network(run_carina, tmp_path):
    random = np.random.default_rng(6)
    m = Model()
    weights = m.constant("w", random.standard_normal((9, 20)).astype(np.float32))
    bias = m.constant("b", random.standard_normal(9).astype(np.float32))
    sums, y = m.tensor("sums", (4, 9), np.float32), m.output("y", (4, 9), np.float32)
    m.op("FULLY_CONNECTED", [m.input("x", (4, 20), np.float32), weights, bias], [sums], "FullyConnectedOptions")
    m.op("SOFTMAX", [sums], [y], "SoftmaxOptions", beta=1.0)
    data = random.standard_normal((4, 20)).astype(np.float32)
    compare(m, [data], run_carina, tmp_path, ["FULLY_CONNECTED", "SOFTMAX"])


def test_product_of_scales_of_uint8_is_a_float(run_carina, tmp_path):
    """A convolution of deeplabv3_dm05_uint8: with a product in double, 1 of some 20,000 results differs."""
    random = np.random.default_rng(7)
    m = Model()
    x = m.input("x", (1, 40, 40, 32), np.uint8, 0.25916848, 134)
    w = m.constant("w", random.integers(0, 256, (192, 1, 1, 32)).astype(np.uint8), scale=[0.00122088], zero_point=[119])
    b = m.constant("b", random.integers(-900, 900, 192).astype(np.int32), scale=[0.00031641])
    y = m.output("y", (1, 40, 40, 192), np.uint8, 0.02352946, 0)
    m.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", strideW=1, strideH=1, fusedActivationFunction=3)
    data = random.integers(0, 256, (1, 40, 40, 32)).astype(np.uint8)
    compare(m, [data], run_carina, tmp_path, ["ethos-u"])
