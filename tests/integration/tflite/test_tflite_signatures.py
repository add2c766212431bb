"""Several signatures in one file: a program has a method for each, and they share resource variables."""

import json

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from test_tflite_variables import handle
from tflite_models import Model

SHAPE = (1, 4, 8)
INITIAL = np.arange(-16, 16).reshape(SHAPE)


def beside(model):
    """Another subgraph of the file."""
    other = Model()
    other.model = model.model
    model.model.subgraphs.append(other.graph)
    return other


def signature(model, key, inputs, outputs):
    entry = schema.SignatureDefT()
    entry.signatureKey, entry.subgraphIndex = key, model.model.subgraphs.index(model.graph)
    entry.inputs, entry.outputs = [], []
    for names, list_of in ((inputs, entry.inputs), (outputs, entry.outputs)):
        for name, index in names.items():
            tensor = schema.TensorMapT()
            tensor.name, tensor.tensorIndex = name, index
            list_of.append(tensor)
    model.model.signatureDefs = [*(model.model.signatureDefs or []), entry]


def counter(dtype, *, initialized=True):
    """add: y = x + state, state = y. set: state = x, y = 2 * x. get: y = state, which it does not write."""
    scale = {"scale": 0.05, "zero_point": 3 if dtype == np.int8 else 0}
    add = Model()
    set_, get, start = beside(add), beside(add), beside(add)
    initial = start.constant("initial", INITIAL.astype(dtype), **scale)
    start.op("ASSIGN_VARIABLE", [handle(start, "state"), initial], [])
    for model, key in ((add, "add"), (set_, "set"), (get, "get")):
        x = model.input("x", SHAPE, dtype, *scale.values())
        if initialized or key == "add":
            model.op("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=3)
        h = handle(model, "state")
        y = model.output("y", SHAPE, dtype, *scale.values())
        state = model.tensor("s", SHAPE, dtype, *scale.values())
        options = {"version": 2, "potScaleInt16": False}
        if key == "set":
            model.op("ADD", [x, x], [y], "AddOptions", **options)
            model.op("ASSIGN_VARIABLE", [h, x], [])
        else:
            model.op("READ_VARIABLE", [h], [state])
            model.op("ADD", [x, state], [y], "AddOptions", **options)
        if key == "add":
            model.op("ASSIGN_VARIABLE", [h, y], [])
        signature(model, key, {"x": x}, {"y": y})
    return add.bytes()


STEPS = ["add", "get", "add", "set", "get", "add", "get"]


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16])
def test_methods_share_variables_as_signatures_do(dtype, target, run_carina, tmp_path):
    content = counter(dtype)
    (tmp_path / "m.tflite").write_bytes(content)
    limits = np.iinfo(np.int8)
    samples = np.random.default_rng(8).integers(limits.min, limits.max + 1, (len(STEPS), *SHAPE)).astype(dtype)
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    expected = [interpreter.get_signature_runner(key)(x=x)["y"] for key, x in zip(STEPS, samples, strict=True)]
    steps = []
    for key, sample in zip(STEPS, samples, strict=True):
        steps.append({"method": key, "inputs": [sample.tolist()]})
    np.save(tmp_path / "in_0.npy", samples[0])
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "--schedule", tmp_path / "steps.json", "-o", tmp_path / "out"])
    got = [np.load(path) for path in sorted((tmp_path / "out").glob("step*.npy"))]
    for i, (have, want) in enumerate(zip(got, expected, strict=True)):
        assert np.array_equal(have, want), f"step {i}: {STEPS[i]}"
    run_carina(["run", tmp_path / "m.pte", "--method", "set", "-i", tmp_path / "in_0.npy", "-o", tmp_path / "alone"])
    want = Interpreter(model_content=content).get_signature_runner("set")(x=samples[0])["y"]
    assert np.array_equal(np.load(tmp_path / "alone" / "output_0.npy"), want)


def test_explain_has_all_signatures(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(counter(np.int8))
    text = run_carina(["explain", tmp_path / "m.tflite", "--target", "ethos-u55-128"]).stdout
    for key in ("add", "set", "get"):
        assert f"method {key}" in text, text


def test_signature_that_does_not_initialize_a_shared_variable_is_an_error(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(counter(np.int8, initialized=False))
    words = ["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "m.pte"]
    assert "signatures share the variable" in run_carina(words, expect=1).stderr


def test_methods_of_other_files_are_an_error(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(counter(np.int8))
    words = ["compile", tmp_path / "m.tflite", "--method", "a=other.pt2", "--target", "ethos-u55-128"]
    assert "are its signatures: got add, set, get" in run_carina([*words, "-o", tmp_path / "m.pte"], expect=2).stderr


def coder(folder):
    """encode: 16 floats to 6. decode: 6 to 16. Each has samples of its own."""
    random = np.random.default_rng(1)
    encode = Model()
    decode = beside(encode)
    samples = {}
    for model, key, sizes in ((encode, "encode", (16, 6)), (decode, "decode", (6, 16))):
        x, y = model.input("x", (1, sizes[0]), np.float32), model.output("y", (1, sizes[1]), np.float32)
        w = model.constant("w", random.normal(0, 0.3, (sizes[1], sizes[0])).astype(np.float32))
        b = model.constant("b", random.normal(0, 0.1, sizes[1]).astype(np.float32))
        model.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", fusedActivationFunction=0)
        signature(model, key, {"x": x}, {"y": y})
        samples[key] = random.normal(0, 1 if key == "encode" else 5, (40, 1, sizes[0])).astype(np.float32)
        np.savez(folder / f"{key}.npz", x=samples[key])
    (folder / "m.tflite").write_bytes(encode.bytes())
    return samples


def test_float_signatures_are_calibrated_with_data_of_their_own(run_carina, tmp_path):
    samples = coder(tmp_path)
    model, program = tmp_path / "m.tflite", tmp_path / "m.pte"
    methods = ["--method", "encode", "--calibrate", tmp_path / "encode.npz"]
    methods += ["--method", f"decode={model},{tmp_path / 'decode.npz'}"]
    run_carina(["compile", model, *methods, "--target", "ethos-u55-128", "-o", program])
    interpreter = Interpreter(model_path=str(model))
    for key, data in samples.items():
        np.save(tmp_path / "x.npy", data[0])
        run_carina(["run", program, "--method", key, "-i", tmp_path / "x.npy", "-o", tmp_path / key])
        want = interpreter.get_signature_runner(key)(x=data[0])["y"]
        error = np.abs(np.load(tmp_path / key / "output_0.npy") - want).max()
        assert error < 0.03 * np.abs(want).max(), f"{key}: {error}"


def test_float_signatures_need_methods(run_carina, tmp_path):
    coder(tmp_path)
    words = ["compile", tmp_path / "m.tflite", "--calibrate", tmp_path / "encode.npz", "--target", "ethos-u55-128"]
    message = run_carina([*words, "-o", tmp_path / "m.pte"], expect=2).stderr
    assert "several signatures" in message and "--method encode --calibrate DATA --method decode=" in message
    other = ["--method", "encode", "--method", f"other={tmp_path / 'm.tflite'},{tmp_path / 'decode.npz'}"]
    message = run_carina([*words, *other, "-o", tmp_path / "m.pte"], expect=2).stderr
    assert "no signature has this name: expected encode, decode, got other" in message
