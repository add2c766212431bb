"""The NPU's built-in sigmoid and tanh of 16 bits, which Vela uses for LOGISTIC and TANH: Vela's stream on the simulator has LiteRT's bits, and ours is one operation with them."""

import re

import numpy as np
import pytest
from tflite_models import Model, litert
from tflite_operators import Case, logistic, tanh

RUN_VELA = "import sys; from ethosu.vela.vela import main; sys.exit(main())"


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("function", [logistic, tanh], ids=lambda f: f.__name__)
def test_simulator_has_bits_of_reference_kernels(function, target, forked_python, run_carina, tmp_path):
    wrong = 0
    for seed in range(6):
        case = Case(seed, np.int16)
        function(case)
        content, inputs = case.done()
        (tmp_path / "m.tflite").write_bytes(content)
        flags = [f"--accelerator-config={target}", "--output-format=raw", f"--output-dir={tmp_path}"]
        done = forked_python("ethosu.vela.vela").run(RUN_VELA, *flags, tmp_path / "m.tflite", cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        np.save(tmp_path / "x.npy", inputs[0])
        run_carina(["npu", "run", tmp_path / "m_vela.npz", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
        got = np.load(next((tmp_path / "out").glob("*.npy")))
        expected = litert(content, inputs)[0]
        wrong += int((got.reshape(-1) != expected.reshape(-1)).sum())
    assert wrong == 0


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("scale", [1 / 4096, 1 / 2048, 0.0003, 0.0011])
@pytest.mark.parametrize("op", ["LOGISTIC", "TANH"])
def test_function_of_16_bits_is_one_operation(op, scale, target, run_carina, tmp_path):
    """All 65,536 inputs."""
    m, shape = Model(), (1, 16, 64, 64)
    m.op(op, [m.input("x", shape, np.int16, scale)], [m.output("y", shape, np.int16, 1 / 32768)], version=3)
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    x = np.arange(-32768, 32768).astype(np.int16).reshape(shape)
    np.save(tmp_path / "x.npy", x)
    report = run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "m.pte", "--json"]).json
    assert [d["npu_operations"] for d in report["delegates"]] == [2 if "u85" in target else 1]  # with its table
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(m.bytes(), [x])[0])


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("reader", ["MUL", "MEAN"])
def test_function_of_16_bits_is_one_operation_beside_its_own_operand(reader, target, run_carina, tmp_path):
    """x * sigmoid(x) is a function of x as well, but not the NPU's own."""
    m, shape = Model(), (1, 8, 8, 32)
    x = m.input("x", shape, np.int16, 0.0003)
    sigmoid = m.tensor("sigmoid", shape, np.int16, 1 / 32768)
    m.op("LOGISTIC", [x], [sigmoid], version=3)
    if reader == "MUL":
        y = m.output("y", shape, np.int16, 0.0003)
        m.op("MUL", [x, sigmoid], [y], "MulOptions", version=2)
    else:
        y = m.output("y", (1, 1, 1, 32), np.int16, 1 / 32768)
        m.op("MEAN", [sigmoid, m.constant("axes", np.array([1, 2], np.int32))], [y], "ReducerOptions", keepDims=True)
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    data = np.random.default_rng(5).integers(-32768, 32768, shape).astype(np.int16)
    np.save(tmp_path / "x.npy", data)
    report = run_carina(
        ["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "n.tflite", "--json"]
    ).json
    assert report["delegates"][0]["npu_operations"] <= 8
    run_carina(["run", tmp_path / "n.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(m.bytes(), [data])[0])


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("scale", [0.02, 0.06, 0.4])
def test_exponentials_of_softmax_are_part_of_the_difference(scale, target, run_carina, tmp_path):
    """The exponential is looked up by the operation that subtracts the largest element: one table of 1,024 bytes."""
    m, shape = Model(), (1, 7, 19)
    x, y = m.input("x", shape, np.int8, scale, -7), m.output("y", shape, np.int8, 1 / 256, -128)
    m.op("SOFTMAX", [x], [y], "SoftmaxOptions", version=2, beta=1.0)
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    data = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    np.save(tmp_path / "x.npy", data)
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "n.tflite"])
    listing = run_carina(["disasm", tmp_path / "n.tflite"]).stdout
    lengths = re.findall(r"NPU_SET_DMA0_LEN .*addr = (0x\w+)", listing)  # others copy small constants
    assert lengths.count("0x400") == 1
    assert ("LUT_S8_S32" if "u85" in target else "FORCE_INT8") in listing
    run_carina(["run", tmp_path / "n.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(m.bytes(), [data])[0])
