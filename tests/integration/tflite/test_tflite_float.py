"""LiteRT models of floats are quantized as PyTorch's are: their graph has LiteRT's floats, and a program comes close to them."""

import subprocess

import numpy as np
import pytest
from tflite_models import Model, litert
from tier_plugin import sampled


def normal(random, *shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(np.float32)


def image_network(seed, stride=2, hybrid=False):
    """A keyword spotter: layers with SAME padding that is uneven, a channel multiplier, pools, a dense layer, SOFTMAX."""
    random = np.random.default_rng(seed)
    m, f = Model(), np.float32
    x = m.input("x", (1, 15, 10, 3), f)
    h, w = -(-15 // stride), -(-10 // stride)
    wide, deep = m.tensor("wide", (1, h, w, 8), f), m.tensor("deep", (1, h, w, 16), f)
    m.op("CONV_2D", [x, m.constant("w", normal(random, 8, 4, 3, 3, scale=0.2)), m.constant("b", normal(random, 8))], [wide],
         "Conv2DOptions", padding=0, strideH=stride, strideW=stride, fusedActivationFunction=3)  # fmt: skip
    m.op("DEPTHWISE_CONV_2D", [wide, m.constant("d", normal(random, 1, 3, 3, 16, scale=0.3)), m.constant("e", normal(random, 16))],
         [deep], "DepthwiseConv2DOptions", padding=0, strideH=1, strideW=1, depthMultiplier=2, fusedActivationFunction=1)  # fmt: skip
    ph, pw = -(-h // 2), -(-w // 2)
    pooled = m.tensor("pooled", (1, ph, pw, 16), f)
    m.op("AVERAGE_POOL_2D", [deep], [pooled], "Pool2DOptions", padding=0, strideH=2, strideW=2, filterHeight=2,
         filterWidth=2)  # fmt: skip
    flat = m.tensor("flat", (1, ph * pw * 16), f)
    m.op("RESHAPE", [pooled, m.constant("shape", np.array([1, ph * pw * 16], np.int32))], [flat], "ReshapeOptions",
         newShape=[1, ph * pw * 16])  # fmt: skip
    sums, y = m.tensor("sums", (1, 12), f), m.output("y", (1, 12), f)
    weights = random.integers(-127, 128, (12, ph * pw * 16)).astype(np.int8)
    dense = m.constant("dense", weights, scale=0.001) if hybrid else m.constant("dense", weights.astype(f) * f(0.001))
    m.op("FULLY_CONNECTED", [flat, dense, m.constant("g", normal(random, 12))], [sums], "FullyConnectedOptions")
    m.op("SOFTMAX", [sums], [y], "SoftmaxOptions", beta=1.0)
    return m.bytes(), (1, 15, 10, 3)


def element_network(seed):
    """Functions of elements, reductions, parts and moves."""
    random = np.random.default_rng(seed)
    m, f, shape = Model(), np.float32, (1, 6, 8, 4)
    ints = lambda *values: m.constant("c", np.array(values, np.int32))  # noqa: E731
    count = 0

    def op(name, inputs, out, options=None, **fields):
        nonlocal count
        count += 1
        y = m.tensor(f"t{count}", out, f)
        m.op(name, inputs, [y], options, **fields)
        return y

    x = m.input("x", shape, f)
    a = op("MUL", [x, m.constant("k", normal(random, 4))], shape, "MulOptions", fusedActivationFunction=2)
    b = op("PRELU", [x, m.constant("alpha", normal(random, 1, 1, 4, scale=0.3))], shape)
    c = op("ADD", [a, b], shape, "AddOptions")
    d = op("SUB", [op("LOGISTIC", [c], shape), op("TANH", [x], shape)], shape, "SubOptions")
    e = op("CONCATENATION", [d, op("HARD_SWISH", [c], shape)], (1, 6, 8, 8), "ConcatenationOptions", axis=3)
    g = op("TRANSPOSE", [e, ints(0, 2, 1, 3)], (1, 8, 6, 8))
    pads = m.constant("p", np.array([[0, 0], [1, 0], [0, 2], [0, 0]], np.int32))
    h = op("PAD", [g, pads], (1, 9, 8, 8))
    slices = [ints(0, 1, 0, 2), ints(1, 9, 8, 8), ints(1, 2, 1, 3)]
    i = op("STRIDED_SLICE", [h, *slices], (1, 4, 8, 2), "StridedSliceOptions")
    # One row, and column 0 rather than column 5: the mask also holds for an axis of which one place is taken.
    places = [ints(0, 3, 5, 0), ints(1, 4, 6, 8), ints(1, 1, 1, 1)]
    o = op("STRIDED_SLICE", [h, *places], (1, 8), "StridedSliceOptions", beginMask=4, shrinkAxisMask=6)
    j = op("RESIZE_BILINEAR", [i, ints(8, 16)], (1, 8, 16, 2), "ResizeBilinearOptions", halfPixelCenters=True)
    k = op("MEAN", [j, ints(1, 2)], (1, 2), "ReducerOptions")
    n = op("REDUCE_MAX", [e, ints(1, 2)], (1, 8), "ReducerOptions")
    y = m.output("y", (1, 18), f)
    m.op("CONCATENATION", [k, n, o], [y], "ConcatenationOptions", axis=1)
    return m.bytes(), shape


# LiteRT quantizes the inputs of the hybrid one's dense layer at run time.
NETWORKS = {
    "image": image_network,
    "stride_3": lambda seed: image_network(seed, 3),
    "hybrid": lambda seed: image_network(seed, hybrid=True),
    "elements": element_network,
}


def reference(content, samples):
    return np.concatenate([litert(content, [x])[0] for x in samples])


def prepared(name, folder, seed=0):
    content, shape = NETWORKS[name](seed)
    random = np.random.default_rng(seed + 100)
    samples = [normal(random, *shape) for _ in range(24)]
    (folder / "m.tflite").write_bytes(content)
    np.savez(folder / "calibration.npz", x=np.stack(samples[:16]))
    for i, x in enumerate(samples[16:]):
        np.save(folder / f"x{i}.npy", x)
    return content, samples[16:]


def ran(run_carina, program, folder, count):
    outputs = []
    for i in range(count):
        run_carina(["run", program, "-i", folder / f"x{i}.npy", "-o", folder / "out"])
        outputs.append(np.load(folder / "out" / "output_0.npy"))
    return np.concatenate(outputs)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", NETWORKS)
def test_float_program_has_floats_of_litert(name, seed, run_carina, tmp_path):
    content, samples = prepared(name, tmp_path, seed)
    run_carina(
        [
            "compile",
            tmp_path / "m.tflite",
            "--quantize",
            "none",
            "--no-delegate",
            "-t",
            "ethos-u55-128",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    outputs = ran(run_carina, tmp_path / "m.pte", tmp_path, 4)
    tolerance = {"rtol": 0.03, "atol": 0.003} if name == "hybrid" else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(outputs, reference(content, samples[:4]), **tolerance)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("name", NETWORKS)
def test_quantized_program_comes_close_to_litert(name, target, run_carina, tmp_path):
    content, samples = prepared(name, tmp_path)
    report = run_carina(["compile", tmp_path / "m.tflite", "--calibrate", tmp_path / "calibration.npz", "-t", target,
                         "-o", tmp_path / "m.pte", "--json"]).json  # fmt: skip
    assert len(report["delegates"]) == 1
    assert all(node["runs_on"] != "cpu" for node in report["nodes"]), report["nodes"]
    expected = reference(content, samples)
    noise = ran(run_carina, tmp_path / "m.pte", tmp_path, len(samples)) - expected
    assert 10 * np.log10(np.square(expected).sum() / np.square(noise).sum()) > 22


def test_accuracy_measures_a_float_model(run_carina, tmp_path):
    prepared("image", tmp_path)
    run_carina(["compile", tmp_path / "m.tflite", "--calibrate", tmp_path / "calibration.npz", "-t", "ethos-u55-128",
                "-o", tmp_path / "m.pte"])  # fmt: skip
    words = ["accuracy", tmp_path / "m.tflite", tmp_path / "m.pte", "--data", tmp_path / "calibration.npz", "--json"]
    assert run_carina(words).json["outputs"][0]["sqnr_db"] > 22


def test_quantized_model_is_not_written_as_a_tflite(run_carina, tmp_path):
    prepared("image", tmp_path)
    words = ["compile", tmp_path / "m.tflite", "--calibrate", tmp_path / "calibration.npz", "-t", "ethos-u55-128"]
    done = run_carina([*words, "-o", tmp_path / "n.tflite"], expect=2)
    assert "not written as a .tflite" in done.stderr


def test_operator_without_a_float_form_is_named(run_carina, tmp_path):
    m = Model()
    x, y = m.input("x", (2, 3), np.float32), m.output("y", (2, 3), np.float32)
    m.op("COS", [x], [y])
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    words = ["compile", tmp_path / "m.tflite", "--calibrate", "random", "-t", "ethos-u55-128", "-o", tmp_path / "m.pte"]
    assert "COS y: the operator is not supported in a model of floats" in run_carina(words, expect=1).stderr


def test_python_quantizes_a_float_model(carina, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(carina.parents[1] / "python")
    import carina as package

    content, samples = prepared("image", tmp_path)
    calibration = [(x,) for x in np.load(tmp_path / "calibration.npz")["x"]]
    program = package.compile(str(tmp_path / "m.tflite"), target="ethos-u55-128", calibration=calibration)
    expected = reference(content, samples[:1])
    assert np.abs(program.run(samples[0])[0] - expected).max() < 0.1 * np.abs(expected).max()


def test_damaged_files_are_errors(carina, tmp_path):
    """Files with changed bytes compile or are rejected."""
    random = np.random.default_rng(9)
    networks = [make(0)[0] for make in NETWORKS.values()]
    for _ in range(sampled(40, 600)):
        content = bytearray(networks[random.integers(len(networks))])
        for _ in range(random.integers(1, 5)):
            # Tables are at the start and at the end, the weights between them.
            at = int(random.integers(5000)) * (1 if random.integers(2) else -1)
            content[at % len(content)] = random.choice([0, 1, 2, 4, 5, 7, 127, 128, 255])
        (tmp_path / "m.tflite").write_bytes(content)
        words = [
            "compile",
            tmp_path / "m.tflite",
            "--calibrate",
            "random",
            "-t",
            "ethos-u55-128",
            "-o",
            tmp_path / "m.pte",
        ]
        assert subprocess.run([carina, *words], capture_output=True).returncode in (0, 1, 2)
