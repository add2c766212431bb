"""Operators that keep a state in variable tensors, LSTM and SVDF: the bits of LiteRT's reference kernels over several inferences."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from test_tflite_variables import reference
from tflite_models import Model

GATES = 4


def lstm(seed, *, coupled=False, time_major=False, cell_clip=0):
    """A UNIDIRECTIONAL_SEQUENCE_LSTM as Keras makes it; `coupled`: without input gate."""
    random = np.random.default_rng(seed)
    batches, steps, inputs, cells = (int(n) for n in random.integers((1, 2, 3, 2), (3, 6, 12, 10)))
    m = Model()
    shape = (steps, batches) if time_major else (batches, steps)
    sx, sh = float(random.uniform(0.01, 0.05)), float(random.uniform(0.006, 0.01))
    zx, zh = int(random.integers(-128, 128)), int(random.integers(-20, 20))
    x = m.input("x", (*shape, inputs), np.int8, sx, zx)
    kept = range(1 if coupled else 0, GATES)
    weights, recurrent, biases = [-1] * GATES, [-1] * GATES, [-1] * GATES
    for gate in kept:
        scale = float(random.uniform(0.004, 0.02))
        data = random.integers(-127, 128, (cells, inputs), np.int8)
        weights[gate] = m.constant(f"w{gate}", data, scale=scale)
        biases[gate] = m.constant(f"b{gate}", random.integers(-4000, 4000, cells).astype(np.int32), scale=sx * scale)
        data = random.integers(-127, 128, (cells, cells), np.int8)
        recurrent[gate] = m.constant(f"r{gate}", data, scale=float(random.uniform(0.004, 0.02)))
    h = m.tensor("h", (batches, cells), np.int8, sh, zh)
    c = m.tensor("c", (batches, cells), np.int16, 2.0 ** -int(random.integers(10, 14)))
    for state in (h, c):
        m.graph.tensors[state].isVariable = True
    y = m.output("y", (*shape, cells), np.int8, sh, zh)
    operands = [x, *weights, *recurrent, -1, -1, -1, *biases, -1, -1, h, c, -1, -1, -1, -1]
    fields = {"fusedActivationFunction": 4, "timeMajor": time_major, "cellClip": cell_clip}
    m.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], "UnidirectionalSequenceLSTMOptions", **fields)
    intermediates = [m.tensor(f"i{i}", (0,), np.float32) for i in range(GATES)]
    m.graph.operators[-1].intermediates = [*intermediates, m.tensor("hidden", (0,), np.int8, sh, zh)]
    return m.bytes(), [random.integers(-128, 128, (*shape, inputs), np.int8) for _ in range(3)]


def svdf(seed):
    random = np.random.default_rng(seed)
    rank, units, inputs, memory = (int(n) for n in random.integers((1, 2, 3, 2), (4, 8, 12, 10)))
    filters, m = units * rank, Model()
    sx, ss, sf, st = (float(s) for s in random.uniform(0.005, 0.02, 4))
    x = m.input("x", (1, inputs), np.int8, sx, int(random.integers(-128, 128)))
    features = m.constant("features", random.integers(-127, 128, (filters, inputs), np.int8), scale=sf)
    time = m.constant("time", random.integers(-3000, 3000, (filters, memory)).astype(np.int16), scale=st)
    bias = m.constant("bias", random.integers(-90000, 90000, units).astype(np.int32), scale=ss * st)
    state = m.tensor("state", (1, filters * memory), np.int16, ss)
    m.graph.tensors[state].isVariable = True
    y = m.output("y", (1, units), np.int8, ss * st * 30000, -128)
    fields = {"rank": rank, "fusedActivationFunction": 1}
    m.op("SVDF", [x, features, time, bias, state], [y], "SVDFOptions", version=3, **fields)
    return m.bytes(), [random.integers(-128, 128, (1, inputs), np.int8) for _ in range(4)]


TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "ethos-u55-32", "ethos-u85-1024"]
BUILDERS = {
    "lstm": lstm,
    "lstm_coupled": lambda seed: lstm(seed, coupled=True),
    "lstm_time_major": lambda seed: lstm(seed, time_major=True),
    "svdf": svdf,
}


@pytest.mark.parametrize("name", BUILDERS)
def test_state_has_bits_of_reference_kernels(name, run_carina, tmp_path):
    for seed, target in enumerate(TARGETS):
        content, samples = BUILDERS[name](seed)
        (tmp_path / "m.tflite").write_bytes(content)
        words = []
        for i, sample in enumerate(samples):
            np.save(tmp_path / f"in_{i}.npy", sample)
            words += ["-i", tmp_path / f"in_{i}.npy"]
        done = run_carina(
            ["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "npu.tflite", "--json"]
        )
        assert [node["runs_on"] for node in done.json["nodes"]] == ["npu"]
        run_carina(["run", tmp_path / "npu.tflite", *words, "-o", tmp_path / "out"])
        for i, want in enumerate(reference(content, samples)):
            got = np.load(tmp_path / "out" / str(i) / "output_0.npy")
            assert np.array_equal(got, want), f"seed {seed}, inference {i}: {np.flatnonzero(got != want).size} differ"


@pytest.mark.parametrize("name", BUILDERS)
def test_program_has_bits_of_reference_kernels(name, run_carina, tmp_path):
    for seed, target in enumerate(TARGETS):
        content, samples = BUILDERS[name](seed)
        (tmp_path / "m.tflite").write_bytes(content)
        np.save(tmp_path / "in.npy", np.stack(samples))
        run_carina(["compile", tmp_path / "m.tflite", "--target", target, "-o", tmp_path / "m.pte"])
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
        got = np.load(tmp_path / "out" / "output_0.npy")
        for i, want in enumerate(reference(content, samples)):
            assert np.array_equal(got[i], want), (
                f"{target}, inference {i}: {np.flatnonzero(got[i] != want).size} differ"
            )


@pytest.mark.parametrize("name", BUILDERS)
def test_interpreted_graph_begins_with_zero_points(name, run_carina, tmp_path):
    content, samples = BUILDERS[name](7)
    (tmp_path / "m.tflite").write_bytes(content)
    np.save(tmp_path / "in.npy", samples[0])
    run_carina(["interpret", tmp_path / "m.tflite", "-i", tmp_path / "in.npy", "-o", tmp_path / "out"])
    assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), reference(content, samples[:1])[0])


def test_stream_reads_and_writes_variables_where_tflm_keeps_them(run_carina, tmp_path):
    """They are the first tensors after the scratches, without a place in the arena, and no outputs of the operator."""
    (tmp_path / "m.tflite").write_bytes(lstm(3)[0])
    run_carina(["compile", tmp_path / "m.tflite", "--target", "ethos-u55-128", "-o", tmp_path / "npu.tflite"])
    model = schema.ModelT.InitFromPackedBuf((tmp_path / "npu.tflite").read_bytes())
    graph = model.subgraphs[0]
    (op,) = graph.operators
    assert [graph.tensors[i].isVariable for i in op.inputs[4:]] == [True, True, False]
    assert not any(graph.tensors[i].isVariable for i in op.outputs)
    plan = next(m for m in model.metadata if m.name == b"OfflineMemoryAllocation")
    addresses = np.frombuffer(bytes(model.buffers[plan.buffer].data), np.int32)[3:]
    assert all((addresses[i] < 0) == tensor.isVariable for i, tensor in enumerate(graph.tensors) if i in op.inputs[4:])


def test_explain_has_a_row_for_each_operator_of_the_file(run_carina, tmp_path):
    (tmp_path / "m.tflite").write_bytes(lstm(7)[0])
    done = run_carina(["explain", tmp_path / "m.tflite", "--target", "ethos-u55-128", "--json"])
    rows = [row for row in done.json["nodes"] if row["op"] == "UNIDIRECTIONAL_SEQUENCE_LSTM"]
    assert [(row["name"], row["runs_on"]) for row in rows] == [("y", "npu")]
    assert rows[0]["reason"].startswith("supported, as ") and "tosa.CONV2D" in rows[0]["reason"]
    assert rows[0]["cycles"] > 0.9 * done.json["cycles"]
