"""Operators of floats on the CPU of a compiled file: `carina run` has the bits of LiteRT's reference kernels."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from tflite_models import Model, litert
from tflite_operators import INT8, make
from tier_plugin import sampled

OF_ONE = [
    "ABS", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGISTIC", "NEG", "RELU", "RELU6",
    "RELU_0_TO_1", "RELU_N1_TO_1", "RSQRT", "SIN", "SQRT", "SQUARE", "TANH",
]  # fmt: skip
OF_TWO = ["ADD", "DIV", "MAXIMUM", "MINIMUM", "MUL", "POW", "PRELU", "SQUARED_DIFFERENCE", "SUB"]
REDUCTIONS = ["MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"]
MOVERS = [
    "reshape", "squeeze", "expand_dims", "transpose", "slice_", "strided_slice", "pad", "concatenation", "split",
    "split_v", "pack", "unpack", "reverse_v2", "tile", "mirror_pad", "gather", "resize_nearest_neighbor",
    "resize_bilinear", "max_pool_2d", "average_pool_2d", "depth_to_space", "space_to_depth", "space_to_batch_nd",
    "batch_to_space_nd", "broadcast_to",
]  # fmt: skip
SEEDS = sampled(3, 30)


def normal(random, shape, scale=2.0):
    return (scale * random.standard_normal(shape)).astype(np.float32)


def check(content, inputs, run_carina, folder):
    (folder / "m.tflite").write_bytes(content)
    flags = []
    for i, array in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", array)
        flags += ["-i", folder / f"in_{i}.npy"]
    run_carina(["compile", folder / "m.tflite", "--target", "ethos-u55-128", "-o", folder / "n.tflite"])
    run_carina(["run", folder / "n.tflite", *flags, "-o", folder / "out"])
    for i, expected in enumerate(litert(content, inputs)):
        got = np.load(folder / "out" / f"output_{i}.npy")
        assert got.dtype == expected.dtype and got.shape == expected.shape
        assert got.tobytes() == expected.tobytes(), f"output {i}: {np.count_nonzero(got != expected)} differ"


@pytest.mark.parametrize("op", OF_ONE)
def test_functions_of_one_float(op, run_carina, tmp_path):
    random = np.random.default_rng(0)
    m = Model()
    x, y = m.input("x", (3, 500), np.float32), m.output("y", (3, 500), np.float32)
    m.op(
        op,
        [x],
        [y],
        *(["LeakyReluOptions"] if op == "LEAKY_RELU" else []),
        **({"alpha": 0.3} if op == "LEAKY_RELU" else {}),
    )
    data = normal(random, (3, 500), 4)
    check(m.bytes(), [np.abs(data) if op in ("LOG", "RSQRT", "SQRT") else data], run_carina, tmp_path)


@pytest.mark.parametrize("op", OF_TWO)
def test_functions_of_two_floats(op, run_carina, tmp_path):
    random = np.random.default_rng(1)
    options = f"{op.title()}Options" if op in ("ADD", "DIV", "MUL", "SUB") else None
    for shape in ((2, 3, 4, 5), (3, 1, 5), (5,)):
        m = Model()
        a, y = m.input("a", (2, 3, 4, 5), np.float32), m.output("y", (2, 3, 4, 5), np.float32)
        data = [normal(random, (2, 3, 4, 5)), normal(random, shape)]
        b = m.constant("b", data.pop()) if op == "PRELU" else m.input("b", shape, np.float32)
        m.op(op, [a, b], [y], options, **({"fusedActivationFunction": 3} if options else {}))
        check(m.bytes(), [np.abs(data[0]), *data[1:]] if op == "POW" else data, run_carina, tmp_path)


@pytest.mark.parametrize("op", REDUCTIONS)
def test_reductions(op, run_carina, tmp_path):
    random = np.random.default_rng(2)
    for axes, shape in (((1, 2), (2, 1, 1, 6)), ((-1,), (2, 4, 5, 1)), ((0, 3), (1, 4, 5, 1))):
        m = Model()
        x, y = m.input("x", (2, 4, 5, 6), np.float32), m.output("y", shape, np.float32)
        m.op(op, [x, m.constant("axes", np.array(axes, np.int32))], [y], "ReducerOptions", keepDims=True)
        check(m.bytes(), [normal(random, (2, 4, 5, 6))], run_carina, tmp_path)


@pytest.mark.parametrize("name", MOVERS)
def test_movements_and_windows(name, run_carina, tmp_path):
    """The integer operators of the same name, with floats for their tensors of int8."""
    function = next(f for f in INT8 if f.__name__ == name)
    for seed in range(SEEDS):
        content, inputs = make(function, seed)
        model = schema.ModelT.InitFromPackedBuf(content)
        for tensor in model.subgraphs[0].tensors:
            if tensor.type == schema.TensorType.INT8:
                tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
        m = Model()
        m.model = model
        random = np.random.default_rng(seed)
        check(m.bytes(), [normal(random, array.shape) for array in inputs], run_carina, tmp_path)


@pytest.mark.parametrize("padding", [0, 1], ids=["same", "valid"])
def test_transposed_convolution(padding, run_carina, tmp_path):
    random = np.random.default_rng(3)
    for stride, kernel, has_bias in ((1, 3, True), (2, 3, False), (3, 2, True)):
        side = 5 * stride if padding == 0 else 4 * stride + max(kernel, stride)
        m = Model()
        x = m.input("x", (2, 5, 5, 4), np.float32)
        w = m.constant("w", normal(random, (3, kernel, kernel, 4)))
        size = m.constant("size", np.array([2, side, side, 3], np.int32))
        bias = [m.constant("b", normal(random, 3))] if has_bias else []
        y = m.output("y", (2, side, side, 3), np.float32)
        m.op(
            "TRANSPOSE_CONV", [size, w, x, *bias], [y], "TransposeConvOptions", version=3 if has_bias else 1,
            padding=padding, strideH=stride, strideW=stride,
        )  # fmt: skip
        check(m.bytes(), [normal(random, (2, 5, 5, 4))], run_carina, tmp_path)


@pytest.mark.parametrize("op", ["SELECT", "SELECT_V2"])
def test_selection(op, run_carina, tmp_path):
    random = np.random.default_rng(4)
    m = Model()
    c = m.input("c", (3, 4), np.bool_)
    a, b = m.input("a", (3, 4), np.float32), m.input("b", (3, 4), np.float32)
    m.op(op, [c, a, b], [m.output("y", (3, 4), np.float32)])
    data = [random.integers(0, 2, (3, 4)).astype(bool), normal(random, (3, 4)), normal(random, (3, 4))]
    check(m.bytes(), data, run_carina, tmp_path)
