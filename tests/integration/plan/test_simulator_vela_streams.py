"""Compares the simulator with the official TOSA reference model on command streams that the official Vela compiled from random graphs.

`make test` runs a fixed sample of 300 streams for all eleven NPUs. N=3000 pytest tests/integration/plan/test_simulator_vela_streams.py runs
more. Everything except the simulator runs in this process, because a stream takes only milliseconds. If Vela itself is wrong, the generator
omits the case, and test_known_errors_of_vela proves the error (docs/npu-open-points.md names the cases).
"""

import contextlib
import io
import os
import subprocess
from pathlib import Path

import npu_graphs
import numpy as np
import pytest
import vela_graphs
from conftest import ROOT, VELA_DEFAULTS

CONFIGS = [
    *(f"ethos-u55-{macs}" for macs in (32, 64, 128, 256)),
    *(f"ethos-u65-{macs}" for macs in (256, 512)),
    *(f"ethos-u85-{macs}" for macs in (128, 256, 512, 1024, 2048)),
]
STREAMS = int(os.environ.get("N", "300"))


@pytest.fixture(scope="session")
def run_stream():
    """The test program of tests/unit/simulate, which is built beside `carina`."""
    carina = Path(os.environ["CARINA_BIN"])
    path = carina.parent / "run_stream"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments):
        return subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=3600)

    return run


def compile_in_process(folder, config, options):
    """Vela's raw output, or None if Vela rejects the graph."""
    from ethosu.vela import vela

    arguments = [
        f"{folder}/graph.tosa",
        f"--accelerator-config={config}",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        f"--output-dir={folder}",
    ]
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(Exception, SystemExit),
    ):
        vela.main([*arguments, *options])
    made = Path(folder, "graph_vela.npz")
    return made if made.exists() else None


ARENAS = [4096, 16384, 65536]


def vela_options(random, config):
    system, memory = VELA_DEFAULTS[config[:9]]
    options = []
    if random.random() < 0.3:
        options.append("--optimise=Size")
    if random.random() < 0.4:
        options.append(f"--arena-cache-size={random.choice(ARENAS)}")
    if random.random() < 0.2:
        memory = random.choice(["Sram_Only", "Shared_Sram"] + ([] if "u55" in config else ["Dedicated_Sram"]))
    return [*options, f"--system-config={system}", f"--memory-mode={memory}"]


def planned(config):
    """The kinds of one configuration's streams. All configurations of a family share one sequence of kinds."""
    shares = [(STREAMS - i + len(CONFIGS) - 1) // len(CONFIGS) for i in range(len(CONFIGS))]
    number = CONFIGS.index(config)
    before = sum(
        share for share, other in zip(shares[:number], CONFIGS, strict=False) if ("u85" in other) == ("u85" in config)
    )
    return npu_graphs.plan(config, shares[number], before)


def make_stream(kind, seed, config, folder):
    """One line for run_stream --batch, or None if a reference rejects the sample."""
    import tosa_reference_model as model

    sample = npu_graphs.generate(seed, config, kind)
    outputs, status = model.run(sample.tosa, [np.ascontiguousarray(x) for x in sample.inputs], verbosity="NONE")
    if status != model.GraphStatus.TOSA_VALID:
        return None
    folder.mkdir()
    (folder / "graph.tosa").write_bytes(sample.tosa)
    stream = compile_in_process(folder, config, vela_options(np.random.default_rng(seed), config))
    if stream is None:
        return None
    fields = []
    for prefix, arrays in {"in": sample.inputs, "out": [np.asarray(y) for y in outputs]}.items():
        files = [folder / f"{prefix}_{i}.npy" for i in range(len(arrays))]
        for file, array in zip(files, arrays, strict=True):
            np.save(file, array)
        fields.append(",".join(map(str, files)))
    return "|".join([str(stream), *fields])


@pytest.mark.parametrize("config", CONFIGS)
def test_streams_give_the_reference_models_bits(config, run_stream, tmp_path):
    lines = []
    for number, kind in enumerate(planned(config)):
        for seed in range(number, number + 20 * STREAMS, STREAMS):
            line = make_stream(kind, seed, config, tmp_path / f"{number}_{kind.__name__}_{seed}")
            if line is not None:
                break
        assert line is not None, f"the reference implementations reject every graph of the kind {kind.__name__}"
        lines.append(line)
    (tmp_path / "list").write_text("\n".join(lines) + "\n")
    done = run_stream("--batch", tmp_path / "list", "--threads", 2, "--check", "--poison")
    bad = [line for line in done.stdout.splitlines() if not line.startswith("ok ")]
    assert not bad and done.returncode == 0, "\n".join(bad[:20]) + done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(lines)


def test_sample_covers_every_kind_and_option():
    for family in ("ethos-u55", "ethos-u65", "ethos-u85"):
        drawn = {kind for config in CONFIGS for kind in planned(config) if ("u85" in config) == ("u85" in family)}
        assert drawn == set(npu_graphs.kinds_of(family)), family
    for config in CONFIGS:
        options = {
            option
            for seed in range(len(planned(config)))
            for option in vela_options(np.random.default_rng(seed), config)
        }
        assert "--optimise=Size" in options
        assert {f"--arena-cache-size={size}" for size in ARENAS} <= options
        assert {"--memory-mode=Sram_Only", "--memory-mode=Shared_Sram"} <= options


def test_cycle_model_page_is_current(run_stream, shared):
    program = Path(os.environ["CARINA_BIN"]).parent / "cycle_table"
    printed = subprocess.run([program, shared], capture_output=True, text=True, timeout=600)
    assert printed.returncode == 0, printed.stderr
    assert (ROOT / "docs" / "cycle-model.md").read_text() == printed.stdout, (
        "run `cycle_table ../shared > docs/cycle-model.md`"
    )


# --- errors of Vela 5.2, each with its proof ---


def vela_says(folder, config, tosa, inputs, run_stream):
    """(command words, simulated results) of a graph compiled with Vela."""
    folder.mkdir()
    (folder / "graph.tosa").write_bytes(tosa)
    system, memory = VELA_DEFAULTS[config[:9]]
    stream = compile_in_process(folder, config, [f"--system-config={system}", f"--memory-mode={memory}"])
    assert stream is not None
    arguments = ["-o", folder]
    for i, array in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", array)
        arguments += ["-i", folder / f"in_{i}.npy"]
    done = run_stream(stream, *arguments)
    assert done.returncode == 0, done.stderr
    with np.load(stream) as raw:
        return raw["cmd_data"].tobytes(), np.load(folder / "output_0.npy")


def transposed_convolution(seed, config):
    """A transposed convolution with a positive leading pad."""
    g = vela_graphs.Builder(np.random.default_rng(seed), config)
    x = g.input([1, 4, 4, 8], vela_graphs.D.INT8)
    weights = g.const(g.weights([8, 3, 3, 8]), vela_graphs.D.INT8)
    inputs = [x, weights, g.bias(8, False), g.zero_point(vela_graphs.D.INT8, 0), g.zero_point(vela_graphs.D.INT8, 0)]
    i32 = vela_graphs.D.INT32
    y = g.op(
        vela_graphs.OP.TRANSPOSE_CONV2D,
        inputs,
        [1, 7, 6, 8],
        i32,
        "TransposeConv2dAttribute",
        [1, 0, 0, 0],
        [1, 1],
        False,
        i32,
    )
    return g.finish(g.rescale(y, vela_graphs.D.INT8, 2.0**-9, False))


def test_vela_misplaces_a_padded_transposed_convolution(run_stream, reference_model, tmp_path):
    """A leading pad of 1 in TRANSPOSE_CONV2D on U55. Vela writes the convolution's six rows from row 0 on, then overwrites the first of
    them with the row of the pad, and never writes the last row. So all other rows are one row too high."""
    tosa, inputs = transposed_convolution(1, "ethos-u55-128")
    expected = reference_model(tosa, inputs)[0]
    got = vela_says(tmp_path / "vela", "ethos-u55-128", tosa, inputs, run_stream)[1].reshape(expected.shape)
    np.testing.assert_array_equal(got[:, 0], expected[:, 0])
    np.testing.assert_array_equal(got[:, 1:6], expected[:, 2:])
    assert (got[:, 6] == 0).all()  # memory is unchanged by the run


def unequal_strides(stride, pad):
    """A transposed convolution with one output column."""
    g = vela_graphs.Builder(np.random.default_rng(2), "ethos-u65-256")
    d = vela_graphs.D
    inputs = [
        g.input([1, 2, 2, 4], d.INT8),
        g.const(g.weights([18, 5, 5, 4]), d.INT8),
        g.bias(18, False),
        g.zero_point(d.INT8, 0),
        g.zero_point(d.INT8, 0),
    ]
    y = g.op(
        vela_graphs.OP.TRANSPOSE_CONV2D,
        inputs,
        [1, 5, 1, 18],
        d.INT32,
        "TransposeConv2dAttribute",
        pad,
        stride,
        False,
        d.INT32,
    )
    return g.finish(g.rescale(y, d.INT8, 2.0**-9, False, input_zp=0, output_zp=0))


def test_vela_forgets_the_stride_of_one_axis(run_stream, reference_model, tmp_path):
    """TRANSPOSE_CONV2D with strides 1 and 2 on U65, which Vela documents as unsupported. Its commands compute the graph with strides of 1."""
    tosa, inputs = unequal_strides([1, 2], [0, -1, -3, -3])
    plain = reference_model(*unequal_strides([1, 1], [0, -1, -3, -2]))[0]
    assert (reference_model(tosa, inputs)[0] != plain).any()
    got = vela_says(tmp_path / "vela", "ethos-u65-256", tosa, inputs, run_stream)[1]
    np.testing.assert_array_equal(got.reshape(plain.shape), plain)


def resize_and_divide(multiplier, shift):
    """RESIZE, then a RESCALE that rounds twice."""
    g = vela_graphs.Builder(np.random.default_rng(3), "ethos-u85-256")
    d, op = vela_graphs.D, vela_graphs.OP
    x = g.input([1, 6, 6, 8], d.INT8)
    shapes = [g.shape([4, 2, 4, 2]), g.shape([0, 0]), g.shape([0, 0])]
    y = g.op(op.RESIZE, [x, *shapes], [1, 11, 11, 8], d.INT32, "ResizeAttribute", vela_graphs.ResizeMode().BILINEAR)
    scale = [g.const([multiplier], d.INT32), g.const([shift], d.INT8), g.const([0], d.INT32), g.const([0], d.INT8)]
    flags = [True, vela_graphs.ROUND.DOUBLE_ROUND, False, False, False]
    return g.finish(g.op(op.RESCALE, [y, *scale], y.shape, d.INT8, "RescaleAttribute", *flags))


def test_vela_loses_the_second_rounding_after_resize(run_stream, reference_model, tmp_path):
    """2^20 / 2^24 and 2^30 / 2^34 are both 1/16, but a RESCALE rounds twice only if its shift is above 31. Vela emits the same commands for
    both, so one of them must be wrong. The simulator gives the bits of the first."""
    once, twice = resize_and_divide(2**20, 24), resize_and_divide(2**30, 34)
    np.testing.assert_array_equal(once[1][0], twice[1][0])
    expected = reference_model(*once)[0]
    assert (expected != reference_model(*twice)[0]).any()
    first, second = (
        vela_says(tmp_path / name, "ethos-u85-256", *graph, run_stream)
        for name, graph in (("once", once), ("twice", twice))
    )
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1].reshape(expected.shape), expected)


def batch_of_slices(config, batch, pad):
    """A convolution of a slice of each image."""
    g = vela_graphs.Builder(np.random.default_rng(5), config)
    d, op = vela_graphs.D, vela_graphs.OP
    x = g.rescale(g.input([batch, 8, 8, 16], d.INT8), d.INT8, 0.5, False, input_zp=0, output_zp=0)
    size = [batch, 8, 6, 16]
    y = g.op(op.SLICE, [x, g.shape([0] * 4), g.shape(size)], size, d.INT8, "SliceAttribute")
    inputs = [
        y,
        g.const(g.weights([8, 3, 3, 16]), d.INT8),
        g.bias(8, False),
        g.zero_point(d.INT8, 0),
        g.zero_point(d.INT8, 0),
    ]
    out = [batch, 8 + pad[0] + pad[1] - 2, 6 + pad[2] + pad[3] - 2, 8]
    y = g.op(op.CONV2D, inputs, out, d.INT32, "Conv2dAttribute", pad, [1, 1], [1, 1], False, d.INT32)
    return g.finish(g.rescale(y, d.INT8, 2.0**-9, False, input_zp=0, output_zp=0))


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u85-256"])
def test_vela_moves_the_padding_of_a_batch_of_slices(config, run_stream, reference_model, tmp_path):
    """A padded convolution of a SLICE is right for one image. For several images, Vela omits the leading pads and enlarges the trailing
    ones to the same size. The result is that of a graph with trailing pads only."""
    for batch, pad in ((1, [1, 0, 1, 0]), (2, [0, 1, 0, 1])):
        tosa, inputs = batch_of_slices(config, batch, [1, 0, 1, 0])
        expected = reference_model(*batch_of_slices(config, batch, pad))[0]
        got = vela_says(tmp_path / str(batch), config, tosa, inputs, run_stream)[1]
        np.testing.assert_array_equal(got.reshape(expected.shape), expected)
