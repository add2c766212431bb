"""Constants of a .tflite file in other forms than bytes in its FlatBuffer: int4, and data behind the mark of 2 GB."""

import resource
import subprocess

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from tflite_models import Model, litert
from tflite_operators import conv_2d, depthwise_conv_2d, fully_connected, make
from tier_plugin import sampled


def dense(random, *, is_int4):
    """A FULLY_CONNECTED and its weights' buffer."""
    m = Model()
    depth, channels = 32, 12
    largest = 7 if is_int4 else 127
    weights = random.integers(-largest, largest + 1, (channels, depth)).astype(np.int8)
    x = m.input("x", (1, depth), np.int8, 0.03, 5)
    scale = 0.1 if is_int4 else 0.006
    w = m.constant("w", weights, scale=scale)
    b = m.constant("b", random.integers(-900, 900, channels).astype(np.int32), scale=0.03 * scale)
    y = m.output("y", (1, channels), np.int8, 0.05, -3)
    m.op("FULLY_CONNECTED", [x, w, b], [y], "FullyConnectedOptions", version=4)
    if is_int4:
        nibbles = weights.reshape(-1, 2).view(np.uint8) & 15
        m.graph.tensors[w].type = schema.TensorType.INT4
        m.model.buffers[m.graph.tensors[w].buffer].data = (nibbles[:, 0] | nibbles[:, 1] << 4).tolist()
    return m, m.model.buffers[m.graph.tensors[w].buffer]


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_int4_weights_have_bits_of_reference_kernels(target, run_carina, tmp_path):
    random = np.random.default_rng(4)
    m, _ = dense(random, is_int4=True)
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    sample = random.integers(-128, 128, (1, 32), np.int8)
    np.save(tmp_path / "in.npy", sample)
    for name in ("npu.tflite", "npu.pte"):
        run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / name])
        run_carina(["run", tmp_path / name, "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(m.bytes(), [sample])[0])


def with_int4_weights(content, random):
    """The file with int4 weights, two in a byte, and with the same numbers in int8."""
    m = Model()
    m.model = schema.ModelT.InitFromPackedBuf(content)
    (weights,) = (tensor for tensor in m.model.subgraphs[0].tensors if tensor.name == b"weights")
    values = random.integers(-8, 8, weights.shape).astype(np.int8)
    m.model.buffers[weights.buffer].data = values.tobytes()
    wide = m.bytes()
    nibbles = np.append(values.reshape(-1), [0] * (values.size % 2)).astype(np.int8).reshape(-1, 2).view(np.uint8)
    m.model.buffers[weights.buffer].data = ((nibbles[:, 0] & 15) | (nibbles[:, 1] << 4)).tobytes()
    weights.type = schema.TensorType.INT4
    return m.bytes(), wide


@pytest.mark.parametrize("dtype", [np.int8, np.int16], ids=["int8", "int16"])
@pytest.mark.parametrize("operator", [conv_2d, depthwise_conv_2d, fully_connected], ids=lambda f: f.__name__)
def test_int4_weights_are_those_of_int8(operator, dtype, run_carina, tmp_path):
    """LiteRT's DEPTHWISE_CONV_2D of int16 reads packed weights as bytes, so the reference has int8 weights."""
    for seed in range(sampled(3, 20)):
        content, inputs = make(operator, seed, dtype)
        content, wide = with_int4_weights(content, np.random.default_rng(seed))
        expected = litert(wide, inputs)
        if (operator, dtype) != (depthwise_conv_2d, np.int16):
            assert np.array_equal(litert(content, inputs)[0], expected[0])
        (tmp_path / "m.tflite").write_bytes(content)
        np.save(tmp_path / "in.npy", inputs[0])
        sample = ["-i", tmp_path / "in.npy", "-o", tmp_path / "out"]
        run_carina(["interpret", tmp_path / "m.tflite", *sample])
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), expected[0]), seed
        target = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"][seed % 3]
        run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.pte"])
        run_carina(["run", tmp_path / "npu.pte", *sample])
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), expected[0]), seed


def test_data_behind_2_gb_are_read_where_they_are(carina, run_carina, tmp_path):
    """The file has a hole of 2 GB, of which nothing comes into memory."""
    random = np.random.default_rng(5)
    m, buffer = dense(random, is_int4=False)
    sample = random.integers(-128, 128, (1, 32), np.int8)
    np.save(tmp_path / "in.npy", sample)
    (want,) = litert(m.bytes(), [sample])
    weights, buffer.data = bytes(buffer.data), None
    buffer.offset, buffer.size = 2**31 + 4096, len(weights)
    with (tmp_path / "m.tflite").open("wb") as file:
        file.write(m.bytes())
        file.seek(buffer.offset)
        file.write(weights)
    words = [carina, "compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"]
    limit = 2**29
    subprocess.run(
        [str(word) for word in words],
        check=True,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    assert (tmp_path / "npu.tflite").stat().st_size < 2**16
    run_carina(["run", tmp_path / "npu.tflite", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), want)


def rounded_twice(total, factor):
    """TensorFlow Lite Micro's MultiplyByQuantizedMultiplier of 32-bit sums, for factors below 1."""
    mantissa, exponent = np.frexp(factor)
    multiplier = round(float(mantissa) * 2**31)
    product = int(total) * multiplier
    high = abs(product + (2**30 if product >= 0 else 1 - 2**30)) >> 31
    high = high if product >= 0 else -high
    rest = high & (2**-exponent - 1)
    return (high >> -exponent) + (rest > (2**-exponent - 1 >> 1) + (high < 0))


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_int32_bias_of_int16_activations_sums_in_32_bits(target, run_carina, tmp_path):
    """LiteRT reads such a bias as int64, so the reference is TensorFlow Lite Micro's arithmetic."""
    random = np.random.default_rng(6)
    depth, channels, kernel = 5, 9, 3
    m = Model()
    x = m.input("x", (1, 8, 7, depth), np.int16, 0.0004)
    weights = random.integers(-127, 128, (channels, kernel, kernel, depth)).astype(np.int8)
    scales = random.uniform(0.002, 0.02, channels).astype(np.float32)
    bias = random.integers(-(2**20), 2**20, channels).astype(np.int32)
    w = m.constant("w", weights, scale=scales)
    b = m.constant("b", bias, scale=np.float32(0.0004) * scales)
    y = m.output("y", (1, 6, 5, channels), np.int16, 0.006)
    fields = {"strideH": 1, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 1}
    m.op("CONV_2D", [x, w, b], [y], "Conv2DOptions", version=5, **fields)
    (tmp_path / "m.tflite").write_bytes(m.bytes())
    sample = random.integers(-32768, 32768, (1, 8, 7, depth)).astype(np.int16)
    np.save(tmp_path / "in.npy", sample)
    windows = np.lib.stride_tricks.sliding_window_view(sample[0].astype(np.int64), (kernel, kernel), (0, 1))
    totals = np.einsum("yxdij,oijd->yxo", windows, weights.astype(np.int64)) + bias
    factors = float(np.float32(0.0004)) * scales.astype(np.float64) / float(np.float32(0.006))
    expected = [[[rounded_twice(t, f) for t, f in zip(row, factors, strict=True)] for row in rows] for rows in totals]
    expected = np.clip(expected, -32768, 32767).astype(np.int16)[None]
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.pte"])
    for name, command in (("m.tflite", "interpret"), ("npu.pte", "run")):
        run_carina([command, tmp_path / name, "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), expected), name
