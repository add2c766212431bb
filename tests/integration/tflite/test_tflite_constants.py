"""Constants of a .tflite file in other forms than bytes in its FlatBuffer: int4, and data behind the mark of 2 GB."""

import resource
import subprocess

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from tflite_models import Model, litert


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
