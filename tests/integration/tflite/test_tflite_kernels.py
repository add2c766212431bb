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


@pytest.mark.parametrize("scales", [0, 1, 6], ids=["float", "hybrid", "hybrid_per_channel"])
@pytest.mark.parametrize("padding", [0, 1], ids=["same", "valid"])
def test_float_image_network(padding, scales, run_carina, tmp_path):
    """Windows with strides, dilation and padding; hybrid: the weights of CONV_2D are int8 beside float activations."""
    random = np.random.default_rng(7)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    m = Model()
    h, w = (5, 4) if padding == 0 else (4, 3)
    wide, deep = m.tensor("wide", (2, h, w, 6), np.float32), m.tensor("deep", (2, h, w, 12), np.float32)
    mean, y = m.tensor("mean", (2, h, w, 12), np.float32), m.output("y", (2, h * w * 12), np.float32)
    bytes_of = random.integers(-127, 128, (6, 3, 2, 3)).astype(np.int8)
    weights = (
        m.constant("w", bytes_of, scale=np.linspace(0.01, 0.02, scales))
        if scales
        else m.constant("w", normal(6, 3, 2, 3))
    )
    m.op("CONV_2D", [m.input("x", (2, 9, 7, 3), np.float32), weights, m.constant("b", normal(6))], [wide], "Conv2DOptions",
         padding=padding, strideH=2, strideW=2, fusedActivationFunction=1)  # fmt: skip
    # As many results as its input has, in both paddings: 3x3 with "same".
    m.op("DEPTHWISE_CONV_2D", [wide, m.constant("d", normal(1, 3, 3, 12)), m.constant("e", normal(12))], [deep],
         "DepthwiseConv2DOptions", padding=0, strideH=1, strideW=1, depthMultiplier=2, dilationHFactor=2)  # fmt: skip
    m.op(
        "AVERAGE_POOL_2D",
        [deep],
        [mean],
        "Pool2DOptions",
        padding=0,
        strideH=1,
        strideW=1,
        filterHeight=2,
        filterWidth=3,
    )
    m.op("RESHAPE", [mean, ints(m, 2, h * w * 12)], [y], "ReshapeOptions", newShape=[2, h * w * 12])
    compare(
        m,
        [3 * normal(2, 9, 7, 3)],
        run_carina,
        tmp_path,
        ["CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "RESHAPE"],
    )


@pytest.mark.parametrize("hybrid", [False, True], ids=["float", "hybrid"])
def test_float_recurrent_cell(hybrid, run_carina, tmp_path):
    """One step of a cell as converters unroll it: gates of two products, parts of a row, sigmoid and tanh."""
    random = np.random.default_rng(8)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    m = Model()
    f = np.float32
    frames, state = m.input("frames", (3, 1, 10), f), m.input("state", (1, 2, 6), f)
    steps = [m.tensor(f"step_{i}", (1, 10), f) for i in range(3)]
    m.op("UNPACK", [frames], steps, "UnpackOptions", num=3, axis=0)
    hidden = m.tensor("hidden", (1, 6), f)
    ends = [ints(m, 0, 1, 0), ints(m, 1, 2, 6), ints(m, 1, 1, 1)]
    m.op("STRIDED_SLICE", [state, *ends], [hidden], "StridedSliceOptions", beginMask=5, endMask=5, shrinkAxisMask=2)
    backwards = m.output("backwards", (1, 2, 3), f)
    ends = [ints(m, 0, 0, -1), ints(m, 1, 2, -7), ints(m, 1, 1, -2)]
    m.op("STRIDED_SLICE", [state, *ends], [backwards], "StridedSliceOptions")

    def dense(x, depth, name):
        quantized = m.constant(name, random.integers(-127, 128, (12, depth)).astype(np.int8), scale=0.013)
        y = m.tensor(f"{name}_product", (1, 12), f)
        weights = quantized if hybrid else m.constant(name, normal(12, depth))
        m.op("FULLY_CONNECTED", [x, weights, m.constant(f"{name}_bias", normal(12))], [y], "FullyConnectedOptions")
        return y

    gates, a, b = m.tensor("gates", (1, 12), f), m.tensor("a", (1, 6), f), m.tensor("b", (1, 6), f)
    m.op("ADD", [dense(steps[1], 10, "w"), dense(hidden, 6, "u")], [gates], "AddOptions")
    m.op("SPLIT", [m.constant("axis", np.array(1, np.int32)), gates], [a, b], "SplitOptions", numSplits=2)
    sigmoid, tanh, product = (m.tensor(name, (1, 6), f) for name in ("sigmoid", "tanh", "product"))
    m.op("LOGISTIC", [a], [sigmoid])
    m.op("TANH", [b], [tanh])
    m.op("MUL", [sigmoid, tanh], [product], "MulOptions")
    m.op("PACK", [product, hidden], [m.output("packed", (1, 2, 6), f)], "PackOptions", valuesCount=2, axis=1)
    data = [3 * normal(3, 1, 10), normal(1, 2, 6)]
    data[0][1, 0, :2] = 30, -30  # also where the sigmoid leaves the formula out
    compare(m, data, run_carina, tmp_path, ["UNPACK", "STRIDED_SLICE", "FULLY_CONNECTED", "SPLIT", "LOGISTIC", "PACK"])


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


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16], ids=["int8", "uint8", "int16"])
def test_product_of_scales_of_fully_connected_is_a_double(dtype, run_carina, tmp_path):
    """With a product in float, 1 of some 25,000 results of 8 bits differs, and 6 of 16 bits."""
    random = np.random.default_rng(3)
    range_, zero = np.iinfo(dtype), 128 if dtype == np.uint8 else 0
    bias_type, steps = (np.int64, 20000) if dtype == np.int16 else (np.int32, 90)
    kernel_type = np.uint8 if dtype == np.uint8 else np.int8
    for _ in range(6):
        scales = random.uniform(0.001, 0.02, 2).astype(np.float32)
        m = Model()
        x = m.input("x", (400, 16), dtype, float(scales[0]), zero)
        w = m.constant(
            "w", (random.integers(-127, 128, (64, 16)) + zero).astype(kernel_type), scale=scales[1], zero_point=zero
        )
        b = m.constant("b", random.integers(-1000, 1000, 64).astype(bias_type), scale=scales[0] * scales[1])
        largest = (range_.max - zero) * 127 * 8
        y = m.output("y", (400, 64), dtype, float(scales[0] * scales[1]) * largest / steps / 3, zero)
        m.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", version=7)
        data = random.integers(range_.min, range_.max, (400, 16), endpoint=True).astype(dtype)
        compare(m, [data], run_carina, tmp_path, ["ethos-u"])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=["int8", "uint8"])
def test_mean_of_many_elements_is_on_the_npu(dtype, run_carina, tmp_path):
    random = np.random.default_rng(0)
    m = Model()
    x = m.input("x", (1, 200, 300, 3), dtype, 0.02, 7)
    y = m.output("y", (1, 1, 1, 3), dtype, 0.015, 9)
    m.op("MEAN", [x, ints(m, 1, 2)], [y], "ReducerOptions", version=2, keepDims=True)
    data = random.integers(*((0, 256) if dtype == np.uint8 else (-128, 128)), (1, 200, 300, 3)).astype(dtype)
    compare(m, [data], run_carina, tmp_path, ["ethos-u"])
