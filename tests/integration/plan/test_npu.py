"""Weight streams, listings of command streams and raw files. The references are Vela's codec and Vela itself."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import npu_graphs
import numpy as np
import pytest
import vela_graphs
from ethosu import mlw_codec

TARGETS = ["ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u65-256"]


@pytest.fixture(scope="session")
def npu_tool():
    """The test program of tests/unit/npu, which is built beside `carina`."""
    carina = Path(os.environ["CARINA_BIN"])
    path = carina.parent / "npu_tool"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stderr[-2000:]}"
        return done.stdout

    return run


def weight_sets():
    """Sequences by name that resemble trained, random, sparse, clustered and narrow weights."""
    rng = np.random.default_rng(1)

    def bell(width, count=200_000):
        return np.clip(np.round(rng.normal(0, width, count)), -127, 127)

    def sparse(rate):
        return np.where(rng.random(200_000) < rate, 0, bell(20))

    return {
        "uniform": rng.integers(-127, 128, 200_000),
        "bell5": bell(5),
        "bell20": bell(20),
        "bell40": bell(40),
        "laplace": np.clip(np.round(rng.laplace(0, 10, 200_000)), -127, 127),
        "nine_bits": rng.integers(-255, 256, 50_000),
        "sparse50": sparse(0.5),
        "sparse80": sparse(0.8),
        "sparse99": sparse(0.99),
        "clustered": rng.choice(rng.integers(-127, 128, 16), 100_000),
        "int4": rng.integers(-7, 8, 100_000),
        "zeros": np.zeros(100_000),
        "short": rng.integers(-127, 128, 33),
        "one": np.array([5]),
        "channels": np.concatenate([bell(width, 8000) for width in rng.uniform(1, 60, 25)]),
    }


@pytest.mark.parametrize("name", weight_sets())
def test_swd_codecs_read_each_other_and_ours_is_as_small(npu_tool, tmp_path, name):
    weights = weight_sets()[name].astype("<i2")
    (tmp_path / "weights").write_bytes(weights.tobytes())
    theirs = bytes(mlw_codec.encode(weights.tolist()))
    (tmp_path / "theirs").write_bytes(theirs)

    npu_tool("decode-swd", tmp_path / "theirs", tmp_path / "decoded")
    assert np.array_equal(np.fromfile(tmp_path / "decoded", "<i2"), weights)

    npu_tool("encode-swd", tmp_path / "weights", tmp_path / "ours")
    ours = (tmp_path / "ours").read_bytes()
    assert np.array_equal(np.array(mlw_codec.decode(bytearray(ours))), weights)
    assert len(ours) <= len(theirs) * 1.02 + 16


@pytest.mark.parametrize("seed", range(40))
def test_weight_order_is_that_of_velas_codec(npu_tool, tmp_path, seed):
    draw = random.Random(seed)
    target = draw.choice(TARGETS)
    depthwise = draw.random() < 0.3
    keys = {
        "accelerator": target,
        "stream": 0,
        "depthwise": int(depthwise),
        "part_kernel": int(not depthwise and draw.random() < 0.5),
        "ofm_depth": draw.randint(1, 70),
        "ifm_depth": 1 if depthwise else draw.randint(1, 70),
        "kernel_height": draw.randint(1, 11),
        "kernel_width": draw.randint(1, 11),
        "dilation_y": draw.choice([1, 2]),
        "dilation_x": draw.choice([1, 2]),
        "ofm_block_depth": draw.choice([8, 16, 32, 48]),
        "ifm_bits": draw.choice([8, 16]),
    }
    shape = [keys[k] for k in ("ofm_depth", "kernel_height", "kernel_width", "ifm_depth")]
    weights = np.random.default_rng(seed).integers(-255, 256, shape).astype("<i2")
    encoded = mlw_codec.reorder_encode(
        8, 4 if target == "ethos-u55-32" else 8, weights, keys["ofm_block_depth"], keys["depthwise"],
        keys["part_kernel"], keys["ifm_bits"], 8 // keys["dilation_y"], 8 // keys["dilation_x"],
    )  # fmt: skip
    stream = bytes(encoded[0] if isinstance(encoded, tuple) else encoded)
    arguments = [f"{k}={v}" for k, v in keys.items()]

    (tmp_path / "stream").write_bytes(stream)
    npu_tool("decode-swd", tmp_path / "stream", tmp_path / "sequence")
    npu_tool("restore", tmp_path / "sequence", tmp_path / "restored", *arguments)
    assert np.array_equal(np.fromfile(tmp_path / "restored", "<i2"), weights.ravel())

    (tmp_path / "weights").write_bytes(weights.tobytes())
    npu_tool("reorder", tmp_path / "weights", tmp_path / "ours", *arguments)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "sequence").read_bytes()


def listing_lines(text):
    """The commands of a listing, except the value of OP_SCALAR, which Vela 5.2 prints one too small, and the names of RESIZE_X and
    RESIZE_Y, which are longer in Vela. Carina uses the names of the driver's header."""
    lines = [line.replace("_STEP ", "      ").rstrip() for line in text.splitlines() if line.startswith("0x")]
    return [line.split("scalar = ")[0] if "OP_SCALAR" in line else line for line in lines]


def listings(npu_tool, config, tosa, folder):
    """(Carina's, Vela's) listing of Vela's stream for a graph."""
    (folder / "out.tosa").write_bytes(tosa)
    done = subprocess.run(
        [sys.executable, "-m", "ethosu.vela", "--output-format=raw", f"--accelerator-config={config}",
         "--verbose-register-command-stream", f"--output-dir={folder}", folder / "out.tosa"],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    npu_tool("disassemble", folder / "out_vela.npz", folder / "listing")
    return listing_lines((folder / "listing").read_text()), listing_lines(done.stdout)


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 12, 35])
def test_listing_is_that_of_vela(npu_tool, tmp_path, config, seed):
    ours, theirs = listings(npu_tool, config, vela_graphs.generate(seed, config).tosa, tmp_path)
    assert ours == theirs


@pytest.mark.parametrize(
    "kind", [npu_graphs.cond_if, npu_graphs.while_loop, vela_graphs.gather, vela_graphs.resize, vela_graphs.conv3d]
)
def test_listing_of_what_only_u85_has_is_that_of_vela(npu_tool, tmp_path, kind):
    ours, theirs = listings(npu_tool, "ethos-u85-512", npu_graphs.generate(1, "ethos-u85-512", kind).tosa, tmp_path)
    assert ours == theirs


def test_numpy_reads_our_raw_file(npu_tool, tmp_path, vela):
    source = vela(vela_graphs.generate(1, "ethos-u55-128").tosa)
    npu_tool("rewrite", source, tmp_path / "ours.npz")
    with np.load(source) as theirs, np.load(tmp_path / "ours.npz", allow_pickle=False) as ours:
        for name in theirs.files:
            if name.endswith("quantization"):
                continue
            if name in ("cmd_data", "weight_data"):
                assert ours[name].tobytes() == theirs[name].tobytes()
            else:
                assert ours[name].size == theirs[name].size and np.array_equal(
                    ours[name].ravel(), theirs[name].ravel()
                ), name


# --- carina npu run ---


@pytest.fixture
def small_network(vela, tmp_path):
    """A stream with two operations, its input file and the input's shape."""
    g = vela_graphs.Builder(np.random.default_rng(7), "ethos-u55-128")
    x = g.input([1, 6, 5, 8], vela_graphs.D.INT8)
    y = g.rescale(g.conv2d(x, 16, [3, 3], [1, 1], [1, 1]), vela_graphs.D.INT8, 2.0**-9, False)
    tosa, inputs = g.finish(g.max_pool(y, [2, 2], [1, 1]))
    np.save(tmp_path / "in.npy", inputs[0])
    return vela(tosa), tmp_path / "in.npy"


def test_run_prints_cycles_only_when_asked(run_carina, small_network):
    stream, file = small_network
    plain = run_carina(["npu", "run", stream, "-i", file])
    assert "cycles" not in plain.stdout and "check" not in plain.stdout and plain.stderr == ""
    assert plain.stdout.startswith("output_0: i8 [")
    assert set(run_carina(["npu", "run", stream, "-i", file, "--json"]).json) == {
        "program",
        "samples",
        "outputs",
        "memory",
        "cpu_kernels",
        "delegate_calls",
    }
    timed = run_carina(["npu", "run", stream, "-i", file, "--json", "--timed"]).json["npu"]
    assert timed["cycles"] > 0 and [layer["operation"] for layer in timed["layers"] if layer["operation"] != "dma"] == [
        "conv",
        "pool max",
    ]


def test_run_gives_the_same_bytes_whatever_the_options(run_carina, small_network, tmp_path):
    stream, file = small_network
    seen = set()
    for i, options in enumerate(
        ([], ["--threads", 2], ["--timed"], ["--check", "--poison"], ["--memory-mode", "Sram_Only", "--timed"])
    ):
        run_carina(["npu", "run", stream, "-i", file, "-o", tmp_path / str(i), *options])
        seen.add((tmp_path / str(i) / "output_0.npy").read_bytes())
    assert len(seen) == 1


def test_npu_run_check_finds_a_missing_dma_wait(run_carina, vela, tmp_path):
    """Vela's stream passes all checks. The same stream fails if the DMA_WAIT for its lookup table is replaced by an IRQ."""
    g = vela_graphs.Builder(np.random.default_rng(7), "ethos-u55-128")
    tosa, inputs = g.finish(g.table(g.input([1, 6, 5, 8], vela_graphs.D.INT8)))
    stream, file = vela(tosa), tmp_path / "in.npy"
    np.save(file, inputs[0])
    assert run_carina(["npu", "run", stream, "-i", file, "--check"]).stdout.endswith("check: nothing found\n")
    assert run_carina(["npu", "run", stream, "-i", file, "--check", "--json"]).json["findings"] == []
    with np.load(stream) as raw:
        # Without the pickled entries. Byte strings are stored as plain bytes, since NumPy strips trailing zeros.
        arrays = {name: raw[name] for name in raw.files if not name.endswith("quantization")}
    words = np.frombuffer(arrays["cmd_data"].tobytes(), "<u4").copy()
    waits = words[8:] == 0x0011
    assert waits.any()
    words[8:][waits] = 0x0001
    np.savez(
        tmp_path / "racy.npz",
        **arrays
        | {"cmd_data": words.view(np.uint8), "weight_data": np.frombuffer(arrays["weight_data"].tobytes(), np.uint8)},
    )
    racy = run_carina(["npu", "run", tmp_path / "racy.npz", "-i", file, "--check"], expect=1)
    assert "NPU_OP_DMA_WAIT is missing" in racy.stdout


def test_run_writes_a_trace(run_carina, small_network, tmp_path):
    stream, file = small_network
    done = run_carina(["npu", "run", stream, "-i", file, "--trace", tmp_path / "trace.json", "--json"])
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {event["args"]["name"]: event["tid"] for event in events if event["name"] == "thread_name"}
    assert set(tracks) == {"operations", "DMA", "MAC array", "output unit"}
    shown = [event for event in events if event["ph"] == "X"]
    assert all(event["ts"] >= 0 and event["dur"] >= 0 and event["tid"] in tracks.values() for event in shown)
    operations = sorted(
        (event for event in shown if event["tid"] == tracks["operations"]), key=lambda event: event["ts"]
    )
    assert [event["name"] for event in operations] == ["CONV", "POOL MAX"]
    assert operations[0]["ts"] + operations[0]["dur"] <= operations[1]["ts"] + 1e-6
    end = max(event["ts"] + event["dur"] for event in operations)
    assert end == pytest.approx(done.json["npu"]["cycles"] / done.json["npu"]["clock_hz"] * 1e6, rel=1e-3)


@pytest.mark.parametrize(
    "array, message",
    [
        (np.zeros(3, np.int8), "expected 240 elements: [6,5,8], got 3"),
        (np.zeros(60, np.float32), "expected integers of 8 bits, got fp32"),
        (np.zeros(120, np.int16), "expected integers of 8 bits, got i16"),
    ],
)
def test_run_rejects_wrong_inputs(run_carina, small_network, tmp_path, array, message):
    np.save(tmp_path / "wrong.npy", array)
    stream, file = small_network
    rejected = run_carina(["npu", "run", stream, "-i", tmp_path / "wrong.npy"], expect=1)
    assert f"{tmp_path / 'wrong.npy'}: " in rejected.stderr and message in rejected.stderr and rejected.stdout == ""
    assert (
        "wrong number of inputs: expected 1, got 2"
        in run_carina(["npu", "run", stream, "-i", file, "-i", file], expect=1).stderr
    )
    assert "no file" in run_carina(["npu", "run", stream, "-i", "no file"], expect=1).stderr
    assert "unknown memory mode" in run_carina(["npu", "run", stream, "--memory-mode", "Nowhere"], expect=2).stderr


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("narrowed", [False, True], ids=["to_32_bits", "to_16_bits"])
def test_a_table_with_a_steep_step_is_that_of_vela(run_carina, vela, tmp_path, config, narrowed):
    """TOSA defines no result for inputs at such a step. There is a warning, and the NPU has the results of Vela's stream."""
    D, OP = vela_graphs.D, vela_graphs.OP
    g = vela_graphs.Builder(np.random.default_rng(0), config)
    entries = np.clip((np.arange(513) - 256) * 40, -32768, 32767)
    entries[[300, 301, 302]] = -32768, 32767, -9000
    x = g.file.addPlaceholder([1, 8, 16, 80], D.INT16, None)
    y = g.op(OP.TABLE, [x, g.const(entries, D.INT16)], x.shape, D.INT32, "TableAttribute")
    if narrowed:
        factor = [g.const([2**23], D.INT32), g.const([30], D.INT8), g.const([0], D.INT32), g.const([0], D.INT16)]
        y = g.op(
            OP.RESCALE,
            [y, *factor],
            x.shape,
            D.INT16,
            "RescaleAttribute",
            True,
            vela_graphs.ROUND.SINGLE_ROUND,
            False,
            False,
            False,
        )
    tosa, _ = g.finish(y)
    (tmp_path / "table.tosa").write_bytes(tosa)
    np.save(tmp_path / "in.npy", np.arange(-2048, 8192, dtype=np.int16).reshape(1, 8, 16, 80))
    done = run_carina(["compile", tmp_path / "table.tosa", "--target", config, "-o", tmp_path / "table.pte"])
    assert (
        "3 of 512 steps of the table need more than 16 bits" in done.stderr and "(inputs 5504 to 5631)" in done.stderr
    )
    run_carina(["run", tmp_path / "table.pte", "-i", tmp_path / "in.npy", "-o", tmp_path / "ours"])
    run_carina(["npu", "run", vela(tosa, config), "-i", tmp_path / "in.npy", "-o", tmp_path / "velas"])
    ours, velas = (np.load(tmp_path / name / "output_0.npy") for name in ("ours", "velas"))
    assert np.array_equal(ours.ravel(), velas.ravel()) and len(np.unique(ours)) > 1000
    assert (
        "neighboring table entries"
        in run_carina(["interpret", tmp_path / "table.tosa", "-i", tmp_path / "in.npy"], expect=1).stderr
    )
