"""SOFTMAX of rows of two elements, which is one product and one lookup: all pairs of bytes, with the bits of LiteRT."""

import numpy as np
import pytest
from tflite_models import Model, litert


def pairs(dtype):
    values = np.arange(256).astype(np.uint8).view(dtype)
    return np.stack(np.meshgrid(values, values), axis=-1)


def network(shape, dtype, result, scale, beta):
    m = Model()
    x = m.input("x", shape, dtype, scale, 7)
    grid = {np.int8: (1 / 256, -128), np.uint8: (1 / 256, 0), np.int16: (1 / 65536, -32768)}[result]
    y = m.output("y", shape, result, *grid)
    m.op("SOFTMAX", [x], [y], "SoftmaxOptions", beta=beta, version=2)
    return m.bytes()


@pytest.mark.parametrize(
    ("dtype", "result"), [(np.int8, np.int8), (np.uint8, np.uint8), (np.int8, np.int16)], ids=lambda t: t.__name__
)
@pytest.mark.parametrize(("scale", "beta"), [(0.003, 1.0), (0.05, 1.0), (0.11, 0.7), (0.4, 1.0), (12.0, 1.0)])
def test_all_pairs(dtype, result, scale, beta, run_carina, tmp_path):
    sample = pairs(dtype)
    content = network(sample.shape, dtype, result, scale, beta)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "x.npy", sample)
    run_carina(["interpret", tmp_path / "m.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(content, [sample])[0])


@pytest.mark.parametrize("result", [np.int8, np.int16], ids=lambda t: t.__name__)
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_pairs_on_the_npu(target, result, run_carina, tmp_path):
    sample = pairs(np.int8)[::3, ::2]
    content = network(sample.shape, np.int8, result, 0.07, 1.0)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "x.npy", sample)
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.tflite"])
    listing = run_carina(["disasm", tmp_path / "npu.tflite"]).stdout
    assert 1 <= listing.count("NPU_OP_CONV ") + listing.count("NPU_OP_POOL ") <= 2, listing
    assert "NPU_OP_ELEMENTWISE" not in listing
    run_carina(["run", tmp_path / "npu.tflite", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), litert(content, [sample])[0])
