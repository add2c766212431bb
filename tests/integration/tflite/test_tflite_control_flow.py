"""IF and WHILE stay on the CPU of a .tflite, with their subgraphs as they were; other outputs name them in an error."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from test_tflite_signatures import beside
from tflite_models import Model, operators

SHAPE = (1, 4, 4, 8)
QUANTIZATION = (np.int8, 0.05, 3)


def doubled(m, x, make=None):
    """x + x."""
    y = (make or m.tensor)(f"y{x}", SHAPE, *QUANTIZATION)
    m.op("ADD", [x, x], [y], "AddOptions", version=2)
    return y


def branches():
    m = Model()
    for graph in (beside(m), beside(m)):
        doubled(graph, graph.input("a", SHAPE, *QUANTIZATION), graph.output)
    condition, x = m.input("c", (1,), np.bool_), doubled(m, m.input("x", SHAPE, *QUANTIZATION))
    y = m.tensor("z", SHAPE, *QUANTIZATION)
    m.op("IF", [condition, x], [y], "IfOptions", thenSubgraphIndex=1, elseSubgraphIndex=2)
    doubled(m, y, m.output)
    return m.bytes()


def loop():
    m = Model()
    condition, body = beside(m), beside(m)
    count = condition.input("i", (1,), np.int32)
    condition.input("a", SHAPE, *QUANTIZATION)
    limit = condition.constant("limit", np.int32([3]))
    condition.op("LESS", [count, limit], [condition.output("o", (1,), np.bool_)])
    count, value = body.input("i", (1,), np.int32), body.input("a", SHAPE, *QUANTIZATION)
    one = body.constant("one", np.int32([1]))
    body.op("ADD", [count, one], [body.output("next", (1,), np.int32)], "AddOptions")
    doubled(body, value, body.output)
    count, x = m.input("n", (1,), np.int32), doubled(m, m.input("x", SHAPE, *QUANTIZATION))
    y = m.tensor("z", SHAPE, *QUANTIZATION)
    outputs = [m.tensor("n2", (1,), np.int32), y]
    m.op("WHILE", [count, x], outputs, "WhileOptions", condSubgraphIndex=1, bodySubgraphIndex=2)
    doubled(m, y, m.output)
    return m.bytes()


def listed(model, graph):
    codes = [model.operatorCodes[op.opcodeIndex] for op in graph.operators]
    return [
        (code.builtinCode, list(op.inputs), list(op.outputs)) for code, op in zip(codes, graph.operators, strict=True)
    ]


@pytest.mark.parametrize(("make", "name"), [(branches, "IF"), (loop, "WHILE")], ids=["if", "while"])
def test_subgraphs_stay_as_they_were(make, name, run_carina, tmp_path):
    content = make()
    (tmp_path / "m.tflite").write_bytes(content)
    words = ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o"]
    assert "control flow is not supported" in run_carina([*words, tmp_path / "npu.tflite"]).stdout
    made = (tmp_path / "npu.tflite").read_bytes()
    before, after = (schema.ModelT.InitFromPackedBuf(file) for file in (content, made))
    custom = schema.BuiltinOperator.CUSTOM
    assert [code for code, _, _ in listed(after, after.subgraphs[0])] == [
        custom,
        getattr(schema.BuiltinOperator, name),
        custom,
    ]
    for old, new in zip(before.subgraphs[1:], after.subgraphs[1:], strict=True):
        assert listed(before, old) == listed(after, new)
    assert name in operators(made)


@pytest.mark.parametrize("make", [branches, loop], ids=["if", "while"])
def test_other_outputs_are_an_error_with_the_subgraph(make, run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(make())
    words = ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "m.pte"]
    text = run_carina(words, expect=1).stderr
    assert "control flow is not supported" in text
    assert "got subgraph 1 of 3" in text
