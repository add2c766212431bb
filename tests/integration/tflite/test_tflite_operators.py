"""Single operators: the bits of LiteRT's reference kernels on the interpreter and on simulated NPUs.

CARINA_TFLITE_SEEDS sets the number of random cases of an operator.
"""

import os

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_models import Model, litert
from tflite_operators import INT8, INT16, UINT8, batch_matmul, make
from tier_plugin import sampled

SEEDS = int(os.environ.get("CARINA_TFLITE_SEEDS", sampled(6, 60)))
TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
ETHOS_U85_ONLY = [(batch_matmul, np.int16)]
CASES = [(f, np.int8) for f in INT8] + [(f, np.uint8) for f in UINT8] + [(f, np.int16) for f in INT16]


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
        # A .pte has int8 with the bits of uint8.
        program = tmp_path / ("npu.tflite" if dtype == np.uint8 else "npu.pte")
        able = TARGETS[2:] if (operator, dtype) in ETHOS_U85_ONLY else TARGETS
        for target in able if sampled(0, 1) else [able[seed % len(able)]]:
            run_carina(["compile", model, "--target", target, "-o", program])
            run_carina(["run", program, *files(tmp_path, inputs), "-o", tmp_path / "out"])
            check(outputs(tmp_path / "out", len(expected)), expected, f"seed {seed}, {target}")


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16], ids=names)
@pytest.mark.parametrize(
    "name", ["transpose", "slice_", "average_pool_2d", "max_pool_2d", "maximum", "resize_bilinear", "gather"]
)
def test_integers_are_moved_whatever_the_quantization_of_the_result(name, dtype, run_carina, tmp_path):
    function = next(f for f in INT8 if f.__name__ == name)
    for seed in range(SEEDS):
        content, inputs = make(function, seed, dtype)
        model = schema.ModelT.InitFromPackedBuf(content)
        result = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]].quantization
        result.scale = [1.3 * result.scale[0]]
        m = Model()
        m.model = model
        (tmp_path / "model.tflite").write_bytes(m.bytes())
        expected = litert(m.bytes(), inputs)
        words = ["--target", TARGETS[seed % 3], "-o", tmp_path / "npu.tflite"]
        run_carina(["compile", tmp_path / "model.tflite", *words])
        run_carina(["run", tmp_path / "npu.tflite", *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", len(expected)), expected, f"seed {seed}")


def every_pair(op, scales, zero_points):
    """An ADD or SUB of all 65,536 pairs of int8 values."""
    m = Model()
    a, b = np.meshgrid(np.arange(-128, 128, dtype=np.int8), np.arange(-128, 128, dtype=np.int8))
    shape = (1, 16, 256, 16)
    x, y = (m.input(name, shape, np.int8, s, z) for name, s, z in zip("xy", scales, zero_points, strict=False))
    m.op(op, [x, y], [m.output("z", shape, np.int8, scales[2], zero_points[2])], f"{op.title()}Options", version=2)
    return m.bytes(), [a.reshape(shape), b.reshape(shape)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize(
    "scales", [(0.05, 0.021, 0.06), (0.0123, 0.0871, 0.09), (0.3, 0.004, 0.27)], ids=lambda s: str(s[1])
)
def test_sum_of_operands_with_different_scales_is_one_operation(op, scales, target, run_carina, tmp_path):
    content, inputs = every_pair(op, scales, (5, -17, 3))
    model = tmp_path / "model.tflite"
    model.write_bytes(content)
    report = run_carina(["compile", model, "--target", target, "-o", tmp_path / "model.pte", "--json"]).json
    (delegate,) = report["delegates"]
    assert delegate["npu_operations"] == 1
    run_carina(["run", tmp_path / "model.pte", *files(tmp_path, inputs), "-o", tmp_path / "out"])
    check(outputs(tmp_path / "out", 1), litert(content, inputs), target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", ["ADD", "SUB"])
@pytest.mark.parametrize("ratio", [1.6, 2.5, 13.0, 300.0])
def test_sum_of_16_bits_is_one_operation(op, ratio, target, run_carina, tmp_path):
    """Two roundings of the smaller operand differ from one for a quarter of its values."""
    random = np.random.default_rng(int(ratio))
    m, shape = Model(), (1, 16, 128, 16)
    scales = (0.0007, 0.0007 / ratio) if random.integers(2) else (0.0007 / ratio, 0.0007)
    x, y = (m.input(name, shape, np.int16, s) for name, s in zip("xy", scales, strict=True))
    z = m.output("z", shape, np.int16, 0.0009)
    m.op(op, [x, y], [z], f"{op.title()}Options", version=2, potScaleInt16=False)
    model = tmp_path / "model.tflite"
    model.write_bytes(m.bytes())
    inputs = [random.integers(-32768, 32768, shape).astype(np.int16) for _ in scales]
    expected = litert(m.bytes(), inputs)
    report = run_carina(["compile", model, "--target", target, "-o", tmp_path / "model.pte", "--json"]).json
    (delegate,) = report["delegates"]
    assert delegate["npu_operations"] == 1
    run_carina(["run", tmp_path / "model.pte", *files(tmp_path, inputs), "-o", tmp_path / "out"])
    check(outputs(tmp_path / "out", 1), expected, target)
    run_carina(["interpret", model, *files(tmp_path, inputs), "-o", tmp_path / "out"])
    check(outputs(tmp_path / "out", 1), expected, "interpreter")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("casts", [False, True])
def test_arg_max_with_wide_indices(casts, dtype, target, run_carina, tmp_path):
    """Indices of int64, as outputs or behind a CAST to int32, are pairs of words on the NPU."""
    m = Model()
    x, axis = m.input("x", (2, 6, 5, 7), dtype, 0.1, 0), m.constant("axis", np.array([-2], np.int32))
    wide = (m.tensor if casts else m.output)("wide", (2, 6, 7), np.int64)
    m.op("ARG_MAX", [x, axis], [wide], "ArgMaxOptions", version=2, outputType=schema.TensorType.INT64)
    if casts:
        m.op("CAST", [wide], [m.output("y", (2, 6, 7), np.int32)], "CastOptions")
    model = tmp_path / "model.tflite"
    model.write_bytes(m.bytes())
    inputs = [np.random.default_rng(0).integers(0, 9, (2, 6, 5, 7)).astype(dtype)]
    expected = litert(m.bytes(), inputs)
    report = run_carina(["compile", model, "--target", target, "-o", tmp_path / "n.tflite", "--json"]).json
    assert all(node["runs_on"] != "cpu" for node in report["nodes"])
    for program, command in ((tmp_path / "n.tflite", "run"), (model, "interpret")):
        run_carina([command, program, *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", 1), expected, f"{target}, {command}")


# SUM: scales whose ratio makes many sums lie between two results, and others.
SUMS = [(0.05, 0.3), (0.05, 0.05), (0.0371, 0.413), (0.02, 0.5), (0.1, 0.024)]


@pytest.mark.parametrize("scales", SUMS, ids=str)
@pytest.mark.parametrize("axes", [(3,), (1, 2), (2,)], ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16], ids=lambda d: np.dtype(d).name)
def test_sum_has_bits_of_optimized_kernels(dtype, axes, scales, run_carina, tmp_path):
    """The reference kernels let sums wrap."""
    limits, shape = np.iinfo(dtype), (2, 5, 6, 13)
    zeros = (0, 0) if dtype == np.int16 else (limits.min + 100, limits.min + 131)
    if dtype == np.int16:
        scales = tuple(scale / 256 for scale in scales)
    m = Model()
    x = m.input("x", shape, dtype, scales[0], zeros[0])
    y = m.output("y", [1 if i in axes else d for i, d in enumerate(shape)], dtype, scales[1], zeros[1])
    m.op("SUM", [x, m.constant("axes", np.array(axes, np.int32))], [y], "ReducerOptions", keepDims=True, version=2)
    model = tmp_path / "model.tflite"
    model.write_bytes(m.bytes())
    random = np.random.default_rng(sum(axes))
    inputs = [random.integers(limits.min, limits.max + 1, shape).astype(dtype)]
    interpreter = Interpreter(
        model_content=m.bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], inputs[0])
    interpreter.invoke()
    expected = [interpreter.get_tensor(interpreter.get_output_details()[0]["index"])]
    stays = False
    for target in TARGETS:
        report = run_carina(["compile", model, "--target", target, "-o", tmp_path / "n.tflite", "--json"]).json
        stays = report["nodes"][0]["runs_on"] == "cpu"
        assert not stays or dtype == np.int16  # whose results are too fine for one multiplier
        run_carina(["run", tmp_path / "n.tflite", *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", 1), expected, target)
    if not stays:
        run_carina(["interpret", model, *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", 1), expected, "interpreter")


@pytest.mark.parametrize("factor", [0.9, 1, 3, 40])
def test_product_of_16_bits_loses_upper_bits_as_in_litert(factor, run_carina, tmp_path):
    random = np.random.default_rng(int(factor * 10))
    shape = (1, 8, 9, 33)
    m = Model()
    scale = np.float32(0.01)
    x, y = (m.input(name, shape, np.int16, scale) for name in "xy")
    z = m.output("z", shape, np.int16, float(scale * scale / np.float32(factor)))
    m.op("MUL", [x, y], [z], "MulOptions", version=4)
    model = tmp_path / "model.tflite"
    model.write_bytes(m.bytes())
    inputs = [random.integers(-32768, 32768, shape).astype(np.int16) for _ in range(2)]
    for data in inputs:
        data.flat[:2] = -32768
    expected = litert(m.bytes(), inputs)
    run_carina(["interpret", model, *files(tmp_path, inputs), "-o", tmp_path / "out"])
    check(outputs(tmp_path / "out", 1), expected, "interpreter")
    for target in TARGETS:
        run_carina(["compile", model, "--target", target, "-o", tmp_path / "npu.tflite"])
        run_carina(["run", tmp_path / "npu.tflite", *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", 1), expected, target)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8], ids=names)
@pytest.mark.parametrize("scales", [(0.001, 0.4), (0.001, 1.4), (0.0002, 3.0)])
def test_hard_swish_of_a_coarse_result_wraps_as_in_litert(scales, dtype, run_carina, tmp_path):
    low = np.iinfo(dtype).min
    m = Model()
    x = m.input("x", (1, 256), dtype, scales[0], low + 151)
    y = m.output("y", (1, 256), dtype, scales[1], low + 99)
    m.op("HARD_SWISH", [x], [y])
    model = tmp_path / "model.tflite"
    model.write_bytes(m.bytes())
    inputs = [np.arange(low, low + 256).astype(dtype).reshape(1, 256)]
    run_carina(["interpret", model, *files(tmp_path, inputs), "-o", tmp_path / "out"])
    check(outputs(tmp_path / "out", 1), litert(m.bytes(), inputs), "interpreter")


@pytest.mark.parametrize(
    ("target", "has_table"), [("ethos-u55-128", True), ("ethos-u65-256", False), ("ethos-u85-256", True)]
)
def test_scaling_of_a_product_is_its_table_where_that_is_faster(target, has_table, run_carina, tmp_path):
    """QUANTIZE behind MUL. On ethos-u65-256 a product with a table takes longer than two operations, of which the
    second is a pool, which has MACs."""
    random = np.random.default_rng(11)
    for scale, zero_point in ((0.011, -37), (0.5, 100), (0.0021, 127)):
        m, shape = Model(), (1, 16, 32, 16)
        x = m.input("x", shape, np.int8, 0.07, 9)
        slope = m.constant("slope", random.integers(-128, 128, (1, 1, 16)).astype(np.int8), scale=0.008, zero_point=-3)
        product = m.tensor("product", shape, np.int8, 0.05, -11)
        m.op("MUL", [x, slope], [product], "MulOptions", version=2)
        m.op("QUANTIZE", [product], [m.output("y", shape, np.int8, scale, zero_point)], version=2)
        (tmp_path / "model.tflite").write_bytes(m.bytes())
        inputs = [random.integers(-128, 128, shape).astype(np.int8)]
        words = ["compile", tmp_path / "model.tflite", "--target", target, "-o", tmp_path / "model.pte", "--json"]
        (delegate,) = run_carina(words).json["delegates"]
        assert delegate["macs"] == (0 if has_table else inputs[0].size)
        run_carina(["run", tmp_path / "model.pte", *files(tmp_path, inputs), "-o", tmp_path / "out"])
        check(outputs(tmp_path / "out", 1), litert(m.bytes(), inputs), target)
