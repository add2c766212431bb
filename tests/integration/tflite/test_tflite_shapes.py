"""--shape: the batch of a model that leaves it open."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_models import Model


def network(inputs=1, *, is_open=True):
    """Convolution, mean, and a product with twice as many rows as the batch has images."""
    random = np.random.default_rng(3)
    m = Model()
    x = [m.input(f"x{i}", (1, 6, 5, 4), np.int8, 0.04, 3) for i in range(inputs)]
    joined = x[0]
    if inputs == 2:
        joined = m.tensor("joined", (1, 6, 5, 4), np.int8, 0.08, 3)
        m.op("ADD", x, [joined], "AddOptions", version=2)
    weights = m.constant("w", random.integers(-127, 128, (6, 3, 3, 4)).astype(np.int8), scale=0.006)
    bias = m.constant("b", random.integers(-900, 900, 6).astype(np.int32), scale=0.04 * 0.006)
    made = m.tensor("made", (1, 6, 5, 6), np.int8, 0.05, -4)
    fields = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 0}
    m.op("CONV_2D", [joined, weights, bias], [made], "Conv2DOptions", version=3, **fields)
    mean = m.tensor("mean", (1, 6), np.int8, 0.05, -4)
    m.op("MEAN", [made, m.constant("axes", np.int32([1, 2]))], [mean], "ReducerOptions", version=2, keepDims=False)
    rows = m.tensor("rows", (2, 3), np.int8, 0.05, -4)
    m.op("RESHAPE", [mean, m.constant("shape", np.int32([-1, 3]))], [rows], "ReshapeOptions", newShape=[-1, 3])
    matrix = m.constant("m", random.integers(-127, 128, (4, 3)).astype(np.int8), scale=0.01)
    y = m.output("y", (2, 4), np.int8, 0.02, 1)
    m.op("FULLY_CONNECTED", [rows, matrix, -1], [y], "FullyConnectedOptions", version=4)
    for i in [*x, joined, made, mean, rows, y] if is_open else []:
        m.graph.tensors[i].shapeSignature = [-1, *m.graph.tensors[i].shape[1:]]
    return m.bytes()


def reference(content, samples):
    interpreter = Interpreter(
        model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    for detail, sample in zip(interpreter.get_input_details(), samples, strict=True):
        interpreter.resize_tensor_input(detail["index"], sample.shape, strict=True)
    interpreter.allocate_tensors()
    for detail, sample in zip(interpreter.get_input_details(), samples, strict=True):
        interpreter.set_tensor(detail["index"], sample)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize(("inputs", "shape"), [(1, "3,6,5,4"), (2, "x1=3,6,5,4")])
def test_batch_has_bits_of_reference_kernels(inputs, shape, target, run_carina, tmp_path):
    content = network(inputs)
    (tmp_path / "m.tflite").write_bytes(content)
    random = np.random.default_rng(7)
    samples = [random.integers(-128, 128, (3, 6, 5, 4)).astype(np.int8) for _ in range(inputs)]
    words = []
    for i, sample in enumerate(samples):
        np.save(tmp_path / f"in_{i}.npy", sample)
        words += ["-i", tmp_path / f"in_{i}.npy"]
    for name in ("npu.tflite", "npu.pte"):
        run_carina(["compile", tmp_path / "m.tflite", "--target", target, "--shape", shape, "-o", tmp_path / name])
        run_carina(["run", tmp_path / name, *words, "-o", tmp_path / "out"])
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), reference(content, samples)), name
    graph = schema.ModelT.InitFromPackedBuf((tmp_path / "npu.tflite").read_bytes()).subgraphs[0]
    assert [list(graph.tensors[i].shape) for i in graph.outputs] == [[6, 4]]
    assert [list(graph.tensors[i].shapeSignature) for i in graph.outputs] == [[-1, 4]]


def test_batch_that_becomes_pixels(run_carina, tmp_path):
    """The result has a smaller batch than the input: a part of the ratio of the batches."""
    m = Model()
    x = m.input("x", (12, 2, 3, 4), np.int8, 0.04, 3)
    sizes = [m.constant("sizes", np.int32([2, 3])), m.constant("crops", np.int32([[0, 1], [0, 0]]))]
    y = m.output("y", (2, 3, 9, 4), np.int8, 0.04, 3)
    m.op("BATCH_TO_SPACE_ND", [x, *sizes], [y])
    for i in (x, y):
        m.graph.tensors[i].shapeSignature = [-1, *m.graph.tensors[i].shape[1:]]
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    sample = np.random.default_rng(2).integers(-128, 128, (18, 2, 3, 4)).astype(np.int8)
    np.save(tmp_path / "in.npy", sample)
    words = ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"]
    run_carina([*words, "--shape", "18,2,3,4"])
    run_carina(["run", tmp_path / "npu.tflite", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), reference(m.bytes(), [sample]))
    wrong = run_carina([*words, "--shape", "15,2,3,4"], expect=2)
    assert "tensor y cannot have this batch: got 5/4 times 2" in wrong.stderr


@pytest.mark.parametrize(
    ("content", "shapes", "message"),
    [
        (network(), ["3,6,5"], "input x0 cannot have this shape"),
        (network(), ["3,7,5,4"], "input x0 cannot have this shape"),
        (network(), ["3,x,5,4"], "not a shape"),
        (network(), ["0,6,5,4"], "not a shape"),
        (network(is_open=False), ["3,6,5,4"], "input x0 cannot have this shape"),
        (network(2), ["3,6,5,4"], "the model has several inputs"),
        (network(2), ["z=3,6,5,4"], "no input has this name"),
        (network(2), ["x0=3,6,5,4", "x1=2,6,5,4"], "inputs have different batches"),
    ],
)
def test_wrong_shapes_are_usage_errors(content, shapes, message, run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(content)
    words = [word for shape in shapes for word in ("--shape", shape)]
    for name in ("npu.tflite", "npu.pte"):
        done = run_carina(
            ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", *words, "-o", tmp_path / name], expect=2
        )
        assert message in done.stderr


def float_network():
    """The network above in floats."""
    random = np.random.default_rng(5)
    m, f = Model(), np.float32
    x = m.input("x", (1, 6, 5, 4), f)
    weights = m.constant("w", random.normal(0, 0.2, (6, 3, 3, 4)).astype(f))
    made, mean, rows = m.tensor("made", (1, 6, 5, 6), f), m.tensor("mean", (1, 6), f), m.tensor("rows", (2, 3), f)
    fields = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 0}
    m.op("CONV_2D", [x, weights, m.constant("b", random.normal(0, 1, 6).astype(f))], [made], "Conv2DOptions", **fields)
    m.op("MEAN", [made, m.constant("axes", np.int32([1, 2]))], [mean], "ReducerOptions", keepDims=False)
    m.op("RESHAPE", [mean, m.constant("shape", np.int32([-1, 3]))], [rows], "ReshapeOptions", newShape=[-1, 3])
    y = m.output("y", (2, 4), f)
    matrix = m.constant("m", random.normal(0, 0.5, (4, 3)).astype(f))
    m.op("FULLY_CONNECTED", [rows, matrix, -1], [y], "FullyConnectedOptions")
    for i in (x, made, mean, rows, y):
        m.graph.tensors[i].shapeSignature = [-1, *m.graph.tensors[i].shape[1:]]
    return m.bytes()


def test_batch_of_a_float_model(run_carina, tmp_path):
    content, random = float_network(), np.random.default_rng(9)
    (tmp_path / "m.tflite").write_bytes(content)
    samples = random.normal(0, 1, (17, 3, 6, 5, 4)).astype(np.float32)
    np.savez(tmp_path / "calibration.npz", x=samples[:16])
    np.save(tmp_path / "x.npy", samples[16])
    expected = reference(content, [samples[16]])
    words = ["compile", tmp_path / "m.tflite", "--shape", "3,6,5,4", "--target", "ethos-u55-128"]
    for options, decibels in ((["--quantize", "none", "--no-delegate"], 100), (["--calibrate", "calibration.npz"], 25)):
        run_carina([*words, *options, "-o", tmp_path / "m.pte"], cwd=tmp_path)
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        got = np.load(tmp_path / "out" / "output_0.npy")
        assert got.shape == (6, 4)
        assert 10 * np.log10(np.square(expected).sum() / np.square(got - expected).sum()) > decibels, options
    wrong = run_carina([*words, "--shape", "3,6,5,5", "--quantize", "none", "-o", tmp_path / "m.pte"], expect=2)
    assert "input x cannot have this shape" in wrong.stderr
