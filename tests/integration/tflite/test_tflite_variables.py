"""Resource variables: the bits of LiteRT over several inferences, where the state begins with what CALL_ONCE assigns."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_models import Model

SHAPE = (1, 4, 8)
INITIAL = np.arange(-16, 16, dtype=np.int8).reshape(SHAPE)


def handle(model, name):
    """A VAR_HANDLE. Returns its tensor."""
    tensor = schema.TensorT()
    tensor.name, tensor.shape, tensor.type, tensor.buffer = name, [], schema.TensorType.RESOURCE, 0
    model.graph.tensors.append(tensor)
    index = len(model.graph.tensors) - 1
    model.op("VAR_HANDLE", [], [index], "VarHandleOptions", container="", sharedName=name)
    return index


def accumulator(*, initial=True, dtype=np.int8):
    """y = x + state, state = y."""
    m = Model()
    x = m.input("x", SHAPE, dtype, 0.05, 3)
    if initial:
        m.op("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
        other = Model()
        other.model = m.model
        h = handle(other, "state")
        other.op("ASSIGN_VARIABLE", [h, other.constant("initial", INITIAL.astype(dtype), scale=0.05, zero_point=3)], [])
        m.model.subgraphs.append(other.graph)
    h = handle(m, "state")
    s = m.tensor("s", SHAPE, dtype, 0.05, 3)
    y = m.output("y", SHAPE, dtype, 0.05, 3)
    m.op("READ_VARIABLE", [h], [s])
    m.op("ADD", [x, s], [y], "AddOptions", version=2)
    m.op("ASSIGN_VARIABLE", [h, y], [])
    return m.bytes()


def reference(content, samples):
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    out = []
    for sample in samples:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], sample)
        interpreter.invoke()
        out.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy())
    return out


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_state_has_bits_of_litert(target, run_carina, tmp_path):
    random = np.random.default_rng(3)
    content, samples = accumulator(), [random.integers(-128, 128, SHAPE, np.int8) for _ in range(4)]
    (tmp_path / "m.tflite").write_bytes(content)
    words = []
    for i, sample in enumerate(samples):
        np.save(tmp_path / f"in_{i}.npy", sample)
        words += ["-i", tmp_path / f"in_{i}.npy"]
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.tflite"])
    run_carina(["run", tmp_path / "npu.tflite", *words, "-o", tmp_path / "out"])
    expected = reference(content, samples)
    assert not np.array_equal(expected[0], expected[1])
    for i, want in enumerate(expected):
        assert np.array_equal(np.load(tmp_path / "out" / str(i) / "output_0.npy"), want), f"inference {i}"


def two_delays():
    """a = x of the run before, b = a of the run before; both are written before the last of them is read again."""
    m = Model()
    x = m.input("x", SHAPE, np.int8, 0.05, 3)
    m.op("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    other = Model()
    other.model = m.model
    for name in ("one", "two"):
        value = other.constant(name + "_initial", INITIAL, scale=0.05, zero_point=3)
        other.op("ASSIGN_VARIABLE", [handle(other, name), value], [])
    m.model.subgraphs.append(other.graph)
    one, two = handle(m, "one"), handle(m, "two")
    before, late, again = (m.tensor(name, SHAPE, np.int8, 0.05, 3) for name in ("before", "late", "again"))
    y = m.output("y", SHAPE, np.int8, 0.1, -2)
    m.op("READ_VARIABLE", [one], [before])
    m.op("READ_VARIABLE", [two], [late])
    m.op("ASSIGN_VARIABLE", [two, before], [])
    m.op("ASSIGN_VARIABLE", [one, x], [])
    m.op("READ_VARIABLE", [two], [again])
    s = m.tensor("s", SHAPE, np.int8, 0.1, 0)
    m.op("ADD", [late, again], [s], "AddOptions", version=2)
    m.op("ADD", [s, x], [y], "AddOptions", version=2)
    return m.bytes()


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("name", ["int8", "uint8", "two_delays"])
def test_program_keeps_variables_as_state(target, name, run_carina, tmp_path):
    content = two_delays() if name == "two_delays" else accumulator(dtype=np.dtype(name).type)
    random = np.random.default_rng(5)
    limits, dtype = ((0, 256), np.uint8) if name == "uint8" else ((-128, 128), np.int8)
    samples = random.integers(*limits, (5, *SHAPE), dtype)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "in.npy", samples.view(np.int8))
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    got = np.load(tmp_path / "out" / "output_0.npy").view(dtype)
    for i, want in enumerate(reference(content, samples)):
        assert np.array_equal(got[i], want), f"inference {i}"


def test_interpreted_graph_begins_with_what_call_once_assigns(run_carina, tmp_path):
    content = two_delays()
    sample = np.random.default_rng(6).integers(-128, 128, SHAPE, np.int8)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "in.npy", sample)
    run_carina(["interpret", tmp_path / "m.tflite", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), reference(content, [sample])[0])


def test_variable_without_value_is_an_error_of_a_program(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(accumulator(initial=False))
    words = ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "m.pte"]
    assert "the variable has no value yet" in run_carina(words, expect=1).stderr


def test_variable_without_value_is_an_error(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(accumulator(initial=False))
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    done = run_carina(["run", tmp_path / "npu.tflite"], expect=1)
    assert "the variable has no value yet" in done.stderr and "state" in done.stderr
