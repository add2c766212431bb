"""`carina compile model.tflite -o npu.tflite`: the form of the file, and its bits on the simulated NPU, also where operators stay on the CPU.
Vela's files run, too."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from tflite_models import Model, litert

TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
SHAPE = (1, 6, 8, 8)


def chain():
    """NPU, CPU (U55 and U65 cannot gather by computed indices), NPU. `r` is also read after the CPU's operator."""
    m = Model()
    x = m.input("x", SHAPE, np.int8, 0.05, 3)
    index = m.input("index", (6,), np.int32)
    r = m.tensor("r", SHAPE, np.int8, 0.05, 3)
    g = m.tensor("g", SHAPE, np.int8, 0.05, 3)
    t = m.tensor("t", SHAPE, np.int8, 1 / 128, 0)
    m.op("RELU", [x], [r], version=2)
    m.op("GATHER", [r, index], [g], "GatherOptions", version=2, axis=1)
    m.op("TANH", [g], [t], version=2)
    m.op("ADD", [t, r], [m.output("y", SHAPE, np.int8, 0.06, -2)], "AddOptions", version=2)
    return m.bytes()


def with_float_borders():
    m = Model()
    x = m.input("x", SHAPE, np.float32)
    q = m.tensor("q", SHAPE, np.int8, 0.05, 3)
    r = m.tensor("r", SHAPE, np.int8, 0.05, 3)
    m.op("QUANTIZE", [x], [q])
    m.op("RELU", [q], [r], version=2)
    m.op("DEQUANTIZE", [r], [m.output("y", SHAPE, np.float32)], version=2)
    return m.bytes()


def samples(make):
    random = np.random.default_rng(5)
    if make is with_float_borders:
        return [random.normal(0, 3, SHAPE).astype(np.float32)]
    return [random.integers(-128, 128, SHAPE, np.int8), random.permutation(6).astype(np.int32)]


def run(run_carina, model, arrays, folder):
    words = []
    for i, array in enumerate(arrays):
        np.save(folder / f"in_{i}.npy", array)
        words += ["-i", folder / f"in_{i}.npy"]
    run_carina(["run", model, *words, "-o", folder / "out"])
    return np.load(folder / "out" / "output_0.npy")


def graph_of(path):
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    return model, model.subgraphs[0]


def custom_operators(path):
    model, graph = graph_of(path)
    return [op for op in graph.operators if model.operatorCodes[op.opcodeIndex].customCode == b"ethos-u"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("make", [chain, with_float_borders], ids=lambda make: make.__name__)
def test_compiled_file_has_bits_of_litert(make, target, run_carina, tmp_path):
    content, arrays = make(), samples(make)
    (tmp_path / "m.tflite").write_bytes(content)
    run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.tflite"])
    got = run(run_carina, tmp_path / "npu.tflite", arrays, tmp_path)
    expected = litert(content, arrays)[0]
    assert got.dtype == expected.dtype and np.array_equal(got, expected)
    streams = 1 if make is with_float_borders or target == "ethos-u85-256" else 2
    assert len(custom_operators(tmp_path / "npu.tflite")) == streams


def test_streams_share_one_arena_and_have_a_plan(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    model, graph = graph_of(tmp_path / "npu.tflite")
    streams = custom_operators(tmp_path / "npu.tflite")
    assert len({op.inputs[2] for op in streams}) == 1 and all(op.inputs[2] == op.inputs[3] for op in streams)
    assert all(bytes(op.customOptions) == b"\x01\x04\x01" for op in streams)
    (plan,) = [m for m in model.metadata if m.name == b"OfflineMemoryAllocation"]
    words = np.frombuffer(bytes(model.buffers[plan.buffer].data), np.int32)
    assert words[:3].tolist() == [0, 1, len(graph.tensors)] and len(words) == 3 + len(graph.tensors)
    assert all(address % 16 == 0 for address in words[3:] if address >= 0)
    for op in streams:
        data = bytes(model.buffers[graph.tensors[op.inputs[0]].buffer].data)
        assert data[:4] == b"COP1"
    assert [graph.tensors[i].name for i in graph.inputs] == [b"x", b"index"]
    kept = graph.tensors[graph.inputs[0]].quantization
    assert kept.scale[0] == np.float32(0.05) and kept.zeroPoint[0] == 3


def test_same_file_twice_has_same_bytes(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    for name in ("a.tflite", "b.tflite"):
        run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u65-256", "-o", tmp_path / name])
    assert (tmp_path / "a.tflite").read_bytes() == (tmp_path / "b.tflite").read_bytes()


@pytest.mark.parametrize("make", [chain, with_float_borders], ids=lambda make: make.__name__)
def test_files_of_vela_run(make, run_carina, tmp_path):
    content, arrays = make(), samples(make)
    (tmp_path / "m.tflite").write_bytes(content)
    vela = Path(sys.executable).parent / "vela"
    words = ["--accelerator-config", "ethos-u55-128", "--output-dir", tmp_path]
    subprocess.run([vela, tmp_path / "m.tflite", *words], check=True, capture_output=True)
    got = run(run_carina, tmp_path / "m_vela.tflite", arrays, tmp_path)
    assert np.array_equal(got, litert(content, arrays)[0])


def test_compiled_file_is_not_compiled_again(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    done = run_carina(
        ["compile", tmp_path / "npu.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "again.tflite"], expect=1
    )
    assert "compiled for an NPU already" in done.stderr and not (tmp_path / "again.tflite").exists()


@pytest.mark.parametrize("damage", range(0, 400, 40))
def test_damaged_payload_is_an_error_without_crash(damage, run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    content = bytearray((tmp_path / "npu.tflite").read_bytes())
    at = content.index(b"COP1") + damage % 64
    content[at : at + 4] = b"\xff\xff\xff\x7f"
    (tmp_path / "bad.tflite").write_bytes(content)
    for command in ("run", "inspect", "disasm"):
        assert run_carina([command, tmp_path / "bad.tflite"], expect=None).code in (0, 1)


@pytest.mark.parametrize(
    ("tensor", "address", "message"),
    [
        ("input", 1 << 20, "outside of scratch"),
        ("between", (1 << 31) - 16, "past the end of the arena"),
    ],
)
def test_plan_beyond_arena_is_rejected(tensor, address, message, run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    content = bytearray((tmp_path / "npu.tflite").read_bytes())
    model, graph = graph_of(tmp_path / "npu.tflite")
    (plan,) = [m for m in model.metadata if m.name == b"OfflineMemoryAllocation"]
    words = bytes(model.buffers[plan.buffer].data)
    index = graph.inputs[0] if tensor == "input" else graph.inputs[1]  # the second one is an operand of GATHER only
    at = content.index(words) + 4 * (3 + index)
    content[at : at + 4] = np.int32(address).tobytes()
    (tmp_path / "bad.tflite").write_bytes(content)
    assert message in run_carina(["run", tmp_path / "bad.tflite"], expect=1).stderr


def test_explain_shows_parts_of_a_file_with_operators_on_the_cpu(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(chain())
    done = run_carina(["explain", tmp_path / "m.tflite", "--target", "ethos-u55-128", "--json"])
    places = {row["name"]: row["runs_on"] for row in done.json["nodes"]}
    assert places == {"r": "npu", "g": "cpu", "t": "npu", "y": "npu"}
    assert "only a .tflite can be made of it" in done.stderr
