"""TOSA 0.80. Vela's reader of that version accepts Carina's files, and its old compiler makes correct command streams from them. Files of
other tools in that version are read as their attributes say."""

import contextlib
import io
import os
import shutil
import struct
import subprocess
from pathlib import Path

import ml_dtypes
import npu_graphs
import numpy as np
import pytest
import tosa_0_80_writer
from conftest import ROOT
from test_tosa_files import random_inputs, tosa_files, tosa_tool  # noqa: F401 (a fixture)
from tosa_0_80_writer import OldFile

# --- writing -------------------------------------------------------------------------------------------------------


def outputs_of(run_carina, tosa, inputs, folder):
    folder.mkdir(exist_ok=True)
    flags = []
    for i, array in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", array)
        flags += ["-i", folder / f"in_{i}.npy"]
    run_carina(["interpret", tosa, *flags, "-o", folder])
    return [np.load(path) for path in sorted(folder.glob("output_*.npy"), key=lambda p: int(p.stem.rsplit("_", 1)[1]))]


def to_0_80(run_carina, tosa, old):
    run_carina(["tosa", tosa, "--tosa-version", "0.80", "-o", old])


@pytest.mark.parametrize("file", tosa_files())
def test_files_of_the_cases_survive_the_round_trip(file, run_carina, reference_model, tmp_path):
    to_0_80(run_carina, file, tmp_path / "old.tosa")
    run_carina(["tosa", tmp_path / "old.tosa", "-o", tmp_path / "new.tosa"])
    inputs = random_inputs(file.read_bytes(), 3)
    wanted = reference_model(file, inputs)
    for got in (
        reference_model(tmp_path / "new.tosa", inputs),
        outputs_of(run_carina, tmp_path / "old.tosa", inputs, tmp_path / "old"),
    ):
        for a, b in zip(wanted, got, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("config", ["ethos-u55-128", "ethos-u85-256"])
def test_random_graphs_survive_the_round_trip(config, run_carina, reference_model, tmp_path):
    """For each kind of graph in the generator, the reference model gives the same results before and after."""
    for kind in npu_graphs.kinds_of(config[:9]):
        sample = npu_graphs.generate(1, config, kind)
        file = tmp_path / f"{kind.__name__}.tosa"
        file.write_bytes(sample.tosa)
        to_0_80(run_carina, file, tmp_path / "old.tosa")
        run_carina(["tosa", tmp_path / "old.tosa", "-o", tmp_path / "new.tosa"])
        after = reference_model(tmp_path / "new.tosa", sample.inputs)
        for a, b in zip(reference_model(file, sample.inputs), after, strict=True):
            np.testing.assert_array_equal(a, b, kind.__name__)


DIGITS = ROOT / "models" / "digits"


def test_both_versions_compile_to_the_same_program(run_carina, tmp_path):
    run_carina(["tosa", DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz", "-o", tmp_path / "new.tosa"])
    to_0_80(run_carina, tmp_path / "new.tosa", tmp_path / "old.tosa")
    for name in ("new", "old"):
        run_carina(["compile", tmp_path / f"{name}.tosa", "--target", "ethos-u55-128", "-o", tmp_path / f"{name}.pte"])
    assert (tmp_path / "new.pte").read_bytes() == (tmp_path / "old.pte").read_bytes()


def test_profiles_of_0_80(run_carina, tmp_path):
    """BI has no floats, and MI has all operators."""
    write = ["tosa", DIGITS / "digits.pt2", "--tosa-version", "0.80", "-o", tmp_path / "old.tosa"]
    assert "rule PROFILE.1" in run_carina([*write, "--profile", "BI"], expect=1).stderr
    run_carina([*write, "--profile", "MI"])
    run_carina(
        ["tosa", DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz", *write[2:], "--profile", "BI"]
    )


def read_with_vela(path):
    """The operators as Vela's reader of 0.80 gives them: {name of the first output: operation}."""
    from ethosu.vela import tosa_reader

    with contextlib.redirect_stdout(io.StringIO()):
        graph = tosa_reader.read_tosa(str(path), 1, {}, None, None)
    found, todo = {}, [op for tensor in graph.subgraphs[0].output_tensors for op in tensor.ops]
    while todo:
        op = todo.pop()
        if op.name not in found:
            found[op.name] = op
            todo += [producer for tensor in op.inputs if tensor is not None for producer in tensor.ops]
    return found


# Vela's reader requires one zero point per tensor for all its readers. These graphs have a pool whose result is read
# with another zero point.
TWO_ZERO_POINTS = {"resnet8/ethos-u85-256", "resnet20/ethos-u85-256"}


@pytest.mark.parametrize("file", tosa_files())
def test_velas_reader_takes_what_we_write(file, run_carina, tmp_path):
    to_0_80(run_carina, file, tmp_path / "old.tosa")
    if "/".join(file.parts[-3:-1]) not in TWO_ZERO_POINTS:
        assert read_with_vela(tmp_path / "old.tosa")
        return
    with pytest.raises(AssertionError):
        read_with_vela(tmp_path / "old.tosa")


def test_vela_reads_the_numbers_that_we_meant(tosa_tool, run_carina, tmp_path):  # noqa: F811
    text = """graph @main {
  input %x: i8[1,4,4,2]
  %w: i8[3,1,1,2] = [1, 2, 3, -8, 5, 6]
  %b: i32[1] = [7]
  %xz: i8[1] = [5]
  %wz: i8[1] = [-3]
  %c: i32[1,5,5,3] = tosa.CONV2D(%x, %w, %b, %xz, %wz) {pad = [0, 1, 2, 3], stride = [1, 2], dilation = [1, 1], local_bound = false, acc_type = i32}
  %m: i32[3] = [1073741824, 1073741825, 1073741826]
  %s: i8[3] = [35, 36, 37]
  %rz: i32[1] = [0]
  %oz: i8[1] = [-10]
  %r: i8[1,5,5,3] = tosa.RESCALE(%c, %m, %s, %rz, %oz) {scale32 = true, rounding_mode = DOUBLE_ROUND, per_channel = true, input_unsigned = false, output_unsigned = false}
  %k: i8[1,5,5,3] = tosa.CLAMP(%r) {min_val = -7, max_val = 100, nan_mode = PROPAGATE}
  %sh: shape[2] = [25, 3]
  %y: i8[25,3] = tosa.RESHAPE(%k, %sh)
  %p: shape[2] = [1, 2]
  %q: shape[2] = [3, 1]
  %z: i8[3,1] = tosa.SLICE(%y, %p, %q)
  %n: i32[1] = [1073741824]
  %t: i8[1] = [30]
  %uz: i8[1] = [-10]
  %u: i8[3,1] = tosa.RESCALE(%z, %n, %t, %xz, %uz) {scale32 = true, rounding_mode = SINGLE_ROUND, per_channel = false, input_unsigned = false, output_unsigned = true}
  output %u
}
"""
    (tmp_path / "in.txt").write_text(text)
    tosa_tool("assemble", tmp_path / "in.txt", tmp_path / "in.tosa")
    to_0_80(run_carina, tmp_path / "in.tosa", tmp_path / "old.tosa")
    ops = read_with_vela(tmp_path / "old.tosa")
    conv, rescale, clamp, reshape, part, wrap = (ops[name] for name in "crkyzu")
    assert conv.attrs["explicit_padding"] == (0, 2, 1, 3) and conv.attrs["strides"] == (1, 1, 2, 1)
    assert (conv.attrs["input_zp"], conv.attrs["weight_zp"]) == (5, -3)
    assert conv.inputs[2].values.tolist() == [7, 7, 7]
    assert rescale.attrs["multiplier"] == (1073741824, 1073741825, 1073741826) and rescale.attrs["shift"] == (
        35,
        36,
        37,
    )
    assert (rescale.attrs["input_zp"], rescale.attrs["output_zp"]) == (0, -10)
    assert rescale.attrs["double_round"] and rescale.attrs["per_channel"] and rescale.attrs["scale32"]
    assert (clamp.attrs["min_int"], clamp.attrs["max_int"]) == (-7, 100)
    assert reshape.attrs["new_shape"] == (25, 3) and (part.attrs["start"], part.attrs["size"]) == ((1, 2), (3, 1))
    assert (wrap.attrs["input_zp"], wrap.attrs["output_zp"], str(wrap.ofm.dtype)) == (5, 246, "uint8")


# Vela no longer compiles 0.80 files, but still contains the compiler. It supports few graphs. It is called in this
# process, after the check of the file's name.
LEGACY = [
    ("conv", 0),
    ("deep_conv", 1),
    ("depthwise", 1),
    ("mul", 0),
    ("concat", 0),
    ("reshape", 1),
    ("ranks", 1),
    ("unsigned", 1),
]


def compile_with_old_vela(tosa, folder):
    from ethosu.vela import model_reader, vela

    shutil.copy(tosa, folder / "graph.tflite")
    read = model_reader.read_model
    flags = [
        "--accelerator-config=ethos-u55-128",
        "--config=Arm/vela.ini",
        "--output-format=raw",
        "--debug-force-legacy-core",
    ]
    flags += ["--system-config=Ethos_U55_High_End_Embedded", "--memory-mode=Shared_Sram"]
    try:
        model_reader.read_model = lambda _, options: read(str(tosa), options)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            vela.main([str(folder / "graph.tflite"), f"--output-dir={folder}", *flags])
    finally:
        model_reader.read_model = read
    return next(folder.glob("*_vela_sg0.npz"))


@pytest.mark.parametrize("kind, seed", LEGACY, ids=[kind for kind, _ in LEGACY])
def test_velas_old_compiler_makes_right_streams_of_what_we_write(kind, seed, run_carina, reference_model, tmp_path):
    kinds = {row.__name__: row for row in npu_graphs.kinds_of("ethos-u55")}
    sample = npu_graphs.generate(seed, "ethos-u55-128", kinds[kind])
    (tmp_path / "new.tosa").write_bytes(sample.tosa)
    to_0_80(run_carina, tmp_path / "new.tosa", tmp_path / "old.tosa")
    stream = compile_with_old_vela(tmp_path / "old.tosa", tmp_path)
    fields = [str(stream)]
    for prefix, arrays in {"in": sample.inputs, "out": reference_model(sample.tosa, sample.inputs)}.items():
        files = [tmp_path / f"{prefix}_{i}.npy" for i in range(len(arrays))]
        for file, array in zip(files, arrays, strict=True):
            np.save(file, array)
        fields.append(",".join(map(str, files)))
    (tmp_path / "list").write_text("|".join(fields) + "\n")
    carina = Path(os.environ["CARINA_BIN"])
    done = subprocess.run(
        [carina.parent / "run_stream", "--batch", tmp_path / "list"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0 and done.stdout.startswith("ok "), done.stdout + done.stderr


CONV = "tosa.CONV2D(%x, %w, %b, %z, %z) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1], local_bound = false, acc_type = fp32}"
REJECTED = {
    "operator": ("input %x: fp32[2]\n %y: fp32[2] = tosa.COS(%x)", "tosa.COS does not exist"),
    "variable": ('%i: i8[1] = [3]\n tosa.VARIABLE(%i) {name = "v", var_shape = [1], type = i8} name "v"\n %y: i8[1] = tosa.VARIABLE_READ() {name = "v"}', "VARIABLE"),
    "type": ("input %x: fp8e4m3[2]\n %y: fp8e4m3[2] = tosa.IDENTITY(%x)", "fp8e4m3"),
    "nan": ("input %x: fp32[2]\n %y: fp32[2] = tosa.MAXIMUM(%x, %x) {nan_mode = IGNORE}", "nan_mode"),
    "round": (
        "input %x: i32[2]\n %m: i32[1] = [1073741824]\n %s: i8[1] = [30]\n %z: i32[1] = [0]\n %o: i8[1] = [0]\n"
        " %y: i8[2] = tosa.RESCALE(%x, %m, %s, %z, %o) {scale32 = true, rounding_mode = INEXACT_ROUND, per_channel = false, input_unsigned = false, output_unsigned = false}",
        "rounding_mode",
    ),
    "operand": ("input %x: i32[2]\n input %s: i8[1]\n %y: i32[2] = tosa.MUL(%x, %x, %s)", "operand shift is not a constant"),
    "accumulator": (f"input %x: fp16[1,1,1,1]\n %w: fp16[1,1,1,1] = [1.0]\n %b: fp16[1] = [0.0]\n %z: fp16[1] = [0.0]\n %y: fp16[1,1,1,1] = {CONV}", "acc_type"),
    "result": (f"input %x: bf16[1,1,1,1]\n %w: bf16[1,1,1,1] = [1.0]\n %b: bf16[1] = [0.0]\n %z: bf16[1] = [0.0]\n %y: bf16[1,1,1,1] = {CONV}", "bf16"),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTED)
def test_what_0_80_cannot_say_is_named(name, tosa_tool, run_carina, tmp_path):  # noqa: F811
    statements, word = REJECTED[name]
    (tmp_path / "in.txt").write_text(f"graph @main {{\n {statements}\n output %y\n}}\n")
    tosa_tool("assemble", tmp_path / "in.txt", tmp_path / "in.tosa")
    done = run_carina(["tosa", tmp_path / "in.tosa", "--tosa-version", "0.80", "-o", tmp_path / "old.tosa"], expect=1)
    assert word in done.stderr, done.stderr
    assert not (tmp_path / "old.tosa").exists()


# --- reading -------------------------------------------------------------------------------------------------------

RANDOM = np.random.default_rng(7)


def bytes8(shape):
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def f32(value):
    return struct.pack("<f", value)


def fully_connected(f):
    x, w, b = bytes8([3, 5]), bytes8([4, 5]), RANDOM.integers(-1000, 1000, 4).astype(np.int32)
    f.input("x", [3, 5], "INT8")
    f.const("w", [4, 5], "INT8", w.tobytes())
    f.const("b", [4], "INT32", b.tobytes())
    f.output(
        f.op(
            "FULLY_CONNECTED",
            ["x", "w", "b"],
            "y",
            [3, 4],
            "INT32",
            "FullyConnectedAttribute",
            input_zp=7,
            weight_zp=-2,
        )
    )
    return [x], [(x.astype(np.int32) - 7) @ (w.astype(np.int32) + 2).T + b]


def conv(f):
    x, w = bytes8([1, 4, 5, 2]), bytes8([3, 1, 1, 2])
    b = RANDOM.integers(-1000, 1000, 3).astype(np.int32)
    f.input("x", [1, 4, 5, 2], "INT8")
    f.const("w", [3, 1, 1, 2], "INT8", w.tobytes())
    f.const("b", [3], "INT32", b.tobytes())
    slots = {"pad": [1, 0, 0, 0], "stride": [1, 2], "dilation": [1, 1], "input_zp": -4, "weight_zp": 3}
    f.output(f.op("CONV2D", ["x", "w", "b"], "y", [1, 5, 3, 3], "INT32", "ConvAttribute", **slots))
    centered = np.pad(x.astype(np.int32) + 4, [(0, 0), (1, 0), (0, 0), (0, 0)])
    return [x], [centered[:, :, ::2] @ (w.reshape(3, 2).astype(np.int32) - 3).T + b]


def transpose_conv(f):
    x, w = bytes8([1, 2, 3, 2]), bytes8([3, 1, 1, 2])
    f.input("x", [1, 2, 3, 2], "INT8")
    f.const("w", [3, 1, 1, 2], "INT8", w.tobytes())
    f.const("b", [3], "INT32", bytes(12))
    slots = {"out_pad": [0, 0, 0, 0], "stride": [2, 1], "output_shape": [1, 3, 3, 3], "input_zp": 1, "weight_zp": 0}
    f.output(f.op("TRANSPOSE_CONV2D", ["x", "w", "b"], "y", [1, 3, 3, 3], "INT32", "TransposeConvAttribute", **slots))
    y = np.zeros([1, 3, 3, 3], np.int32)
    y[:, ::2] = (x.astype(np.int32) - 1) @ w.reshape(3, 2).astype(np.int32).T
    return [x], [y]


def matmul(f):
    a, b = bytes8([2, 3, 4]), bytes8([2, 4, 5])
    f.input("a", [2, 3, 4], "INT8")
    f.input("b", [2, 4, 5], "INT8")
    f.output(f.op("MATMUL", ["a", "b"], "y", [2, 3, 5], "INT32", "MatMulAttribute", a_zp=9, b_zp=-9))
    return [a, b], [(a.astype(np.int32) - 9) @ (b.astype(np.int32) + 9)]


def average(f):
    x = bytes8([1, 2, 2, 3])
    f.input("x", [1, 2, 2, 3], "INT8")
    slots = {"pad": [0, 0, 0, 0], "kernel": [1, 1], "stride": [1, 1], "input_zp": 5, "output_zp": -20, "accum_dtype": 6}
    f.output(f.op("AVG_POOL2D", ["x"], "y", [1, 2, 2, 3], "INT8", "PoolAttribute", **slots))
    return [x], [np.clip(x.astype(np.int32) - 25, -128, 127).astype(np.int8)]


def max_pool(f):
    x = bytes8([1, 4, 4, 3])
    f.input("x", [1, 4, 4, 3], "INT8")
    slots = {"pad": [0, 0, 0, 0], "kernel": [2, 2], "stride": [2, 2]}
    f.output(f.op("MAX_POOL2D", ["x"], "y", [1, 2, 2, 3], "INT8", "PoolAttribute", **slots))
    return [x], [x.reshape(1, 2, 2, 2, 2, 3).max(axis=(2, 4))]


def rescale_unsigned(f):
    """A tensor of type UINT8, without the flags of 0.80.1."""
    x = bytes8([2, 9])
    f.input("x", [2, 9], "UINT8")
    slots = {"input_zp": 200, "output_zp": -3, "multiplier": [1 << 30], "shift": [30], "scale32": True}
    f.output(f.op("RESCALE", ["x"], "y", [2, 9], "INT8", "RescaleAttribute", **slots))
    return [x], [np.clip(x.view(np.uint8).astype(np.int32) - 203, -128, 127).astype(np.int8)]


def rescale_flag(f):
    """A tensor of type INT8 with the flag of 0.80.1."""
    x = RANDOM.integers(-(2**15), 2**15, [4, 2]).astype(np.int16)
    f.input("x", [4, 2], "INT16")
    slots = {
        "input_zp": 0,
        "output_zp": 128,
        "multiplier": [1 << 30],
        "shift": [36],
        "scale32": True,
        "output_unsigned": True,
    }
    f.output(f.op("RESCALE", ["x"], "y", [4, 2], "INT8", "RescaleAttribute", **slots))
    return [x], [np.clip(((x.astype(np.int64) + 32) >> 6) + 128, 0, 255).astype(np.uint8).view(np.int8)]


def rescale_by_channel(f):
    x = RANDOM.integers(-(2**20), 2**20, [4, 2]).astype(np.int32)
    f.input("x", [4, 2], "INT32")
    slots = {
        "multiplier": [1 << 30, 3 << 29],
        "shift": [40, 44],
        "scale32": True,
        "double_round": True,
        "per_channel": True,
    }
    f.output(f.op("RESCALE", ["x"], "y", [4, 2], "INT16", "RescaleAttribute", **slots))
    half = np.where(x >= 0, 1 << 30, -(1 << 30))  # DOUBLE_ROUND adds this first
    scaled = [
        (x[:, c].astype(np.int64) * m + half[:, c] + (1 << (s - 1))) >> s
        for c, (m, s) in enumerate([(1 << 30, 40), (3 << 29, 44)])
    ]
    return [x], [np.clip(np.stack(scaled, 1), -(2**15), 2**15 - 1).astype(np.int16)]


def pads(f):
    x, r = bytes8([2, 2]), RANDOM.standard_normal([2, 2]).astype(np.float16)
    f.input("x", [2, 2], "INT8")
    f.input("r", [2, 2], "FP16" if hasattr(tosa_0_80_writer.DType.DType, "FP16") else 10)
    f.output(f.op("PAD", ["x"], "y", [5, 4], "INT8", "PadAttribute", padding=[1, 2, 2, 0], pad_const_int=-7))
    f.output(f.op("PAD", ["r"], "s", [3, 3], 10, "PadAttribute", padding=[1, 0, 0, 1], pad_const_fp=f32(0.5)))
    return [x, r], [
        np.pad(x, [(1, 2), (2, 0)], constant_values=-7),
        np.pad(r, [(1, 0), (0, 1)], constant_values=np.float16(0.5)),
    ]


def clamps(f):
    x, r = bytes8([20]), RANDOM.standard_normal(20).astype(np.float32)
    f.input("x", [20], "INT8")
    f.input("r", [20], "FP32")
    f.output(
        f.op("CLAMP", ["x"], "y", [20], "INT8", "ClampAttribute", min_int=-5, max_int=6, min_fp=f32(0), max_fp=f32(0))
    )
    f.output(
        f.op(
            "CLAMP",
            ["r"],
            "s",
            [20],
            "FP32",
            "ClampAttribute",
            min_int=3,
            max_int=4,
            min_fp=f32(-0.25),
            max_fp=f32(0.75),
        )
    )
    return [x, r], [np.clip(x, -5, 6), np.clip(r, np.float32(-0.25), np.float32(0.75))]


def tables(f):
    x, t = bytes8([40]), RANDOM.integers(-128, 128, 256).astype(np.int16)
    u, v = (RANDOM.integers(-256, 256, 9) * 128).astype(np.int16), RANDOM.integers(-16000, 16000, 513).astype(np.int16)
    f.input("x", [40], "INT8")
    f.input("u", [9], "INT16")
    f.output(f.op("TABLE", ["x"], "y", [40], "INT8", "TableAttribute", table=t))
    f.output(f.op("TABLE", ["u"], "w", [9], "INT32", "TableAttribute", table=v))
    return [x, u], [
        t.astype(np.int8)[x.astype(np.int32) + 128],
        v.astype(np.int32)[(u.astype(np.int32) >> 7) + 256] * 128,
    ]


def movement(f):
    x = bytes8([2, 3, 4])
    f.input("x", [2, 3, 4], "INT8")
    f.op("TRANSPOSE", ["x"], "t", [4, 2, 3], "INT8", "TransposeAttribute", perms=[2, 0, 1])
    f.op("RESHAPE", ["t"], "r", [8, 3], "INT8", "ReshapeAttribute", new_shape=[8, 3])
    f.op("SLICE", ["r"], "s", [4, 2], "INT8", "SliceAttribute", start=[3, 1], size=[4, 2])
    f.op("TILE", ["s"], "l", [4, 6], "INT8", "TileAttribute", multiples=[1, 3])
    f.op("REVERSE", ["l"], "v", [4, 6], "INT8", "AxisAttribute", axis=1)
    f.output(f.op("CONCAT", ["v", "v", "l"], "y", [12, 6], "INT8", "AxisAttribute", axis=0))
    tiled = np.tile(x.transpose(2, 0, 1).reshape(8, 3)[3:7, 1:3], [1, 3])
    return [x], [np.concatenate([tiled[:, ::-1], tiled[:, ::-1], tiled])]


def resize(f):
    x = bytes8([1, 2, 3, 2])
    f.input("x", [1, 2, 3, 2], "INT8")
    slots = {
        name: np.array(value, np.int16)
        for name, value in {"scale": [4, 2, 4, 2], "offset": [0, 0], "border": [2, 2]}.items()
    }
    f.output(f.op("RESIZE", ["x"], "y", [1, 4, 6, 2], "INT8", "ResizeAttribute", mode=1, **slots))
    near = [np.minimum((np.arange(2 * n) * 2 + 2) // 4, n - 1) for n in (2, 3)]
    return [x], [x[:, near[0]][:, :, near[1]]]


def arithmetic(f):
    a, b = (
        RANDOM.integers(-(2**20), 2**20, [2, 6]).astype(np.int32),
        RANDOM.integers(-(2**20), 2**20, [1, 6]).astype(np.int32),
    )
    s, n = RANDOM.integers(0, 20, [2, 6]).astype(np.int32), bytes8([6])
    f.input("a", [2, 6], "INT32")
    f.input("b", [1, 6], "INT32")
    f.input("s", [2, 6], "INT32")
    f.input("n", [6], "INT8")
    f.output(f.op("MUL", ["a", "b"], "m", [2, 6], "INT32", "MulAttribute", shift=10))
    f.output(
        f.op("ARITHMETIC_RIGHT_SHIFT", ["a", "s"], "r", [2, 6], "INT32", "ArithmeticRightShiftAttribute", round=True)
    )
    f.output(f.op("NEGATE", ["n"], "g", [6], "INT8", "NegateAttribute", input1_zp=3, output_zp=-4))
    product = (a.astype(np.int64) * b + (1 << 9)) >> 10
    shifted = (a >> s) + np.where(s > 0, (a >> np.maximum(s - 1, 0)) & 1, 0)
    return [a, b, s, n], [
        product.astype(np.int32),
        shifted.astype(np.int32),
        np.clip(3 - n.astype(np.int32) - 4, -128, 127).astype(np.int8),
    ]


def reductions(f):
    """ANY and ALL have exchanged their numbers since."""
    x = RANDOM.integers(0, 2, [3, 4]).astype(np.bool_)
    f.input("x", [3, 4], "BOOL")
    f.output(f.op("REDUCE_ANY", ["x"], "y", [1, 4], "BOOL", "AxisAttribute", axis=0))
    f.output(f.op("REDUCE_ALL", ["x"], "z", [3, 1], "BOOL", "AxisAttribute", axis=1))
    return [x], [x.any(0, keepdims=True), x.all(1, keepdims=True)]


def bfloat(f):
    """bf16 constants are stored as fp32."""
    c = RANDOM.standard_normal([3]).astype(ml_dtypes.bfloat16)
    f.const("c", [3], 11, c.astype(np.float32).tobytes())
    f.output(f.op("IDENTITY", ["c"], "y", [3], 11))
    return [], [c.view(np.uint16)]


def narrow(f):
    c, d = np.array([-8, 7, 3], np.int8), np.array([-(2**47), 2**40 + 1], np.int64)
    f.const("c", [3], "INT4", bytes([0x78, 0x03]))
    f.const("d", [2], "INT48", b"".join(int(v).to_bytes(8, "little", signed=True)[:6] for v in d))
    f.output(f.op("IDENTITY", ["c"], "y", [3], "INT4"))
    f.output(f.op("IDENTITY", ["d"], "z", [2], "INT48"))
    return [], [c, d]


def branches(f):
    x = RANDOM.integers(-100, 100, 4).astype(np.int32)
    f.input("c", [1], "BOOL")
    f.input("x", [4], "INT32")
    f.op("COND_IF", ["c", "x"], "y", [4], "INT32", "CondIfAttribute", then_branch="twice", else_branch="none")
    f.op("WHILE_LOOP", ["y"], "z", [4], "INT32", "WhileLoopAttribute", cond_branch="small", body_branch="more")
    f.output("z")
    for name in ("twice", "none", "small", "more"):
        b = f.block(name)
        b.input("x", [4], "INT32")
        if name == "small":
            b.const("limit", [1], "INT32", np.array([50], np.int32).tobytes())
            b.op("REDUCE_MAX", ["x"], "m", [1], "INT32", "AxisAttribute", axis=0)
            b.output(b.op("GREATER", ["limit", "m"], "y", [1], "BOOL"))
        elif name == "more":
            b.const("one", [1], "INT32", np.array([1], np.int32).tobytes())
            b.output(b.op("ADD", ["x", "one"], "y", [4], "INT32"))
        else:
            b.output(b.op("ADD" if name == "twice" else "SUB", ["x", "x"], "y", [4], "INT32"))
    y = 2 * x
    return [np.array([True]), x], [y + max(0, 50 - y.max())]


def float_convolution(f):
    x = RANDOM.integers(-8, 8, [1, 3, 3, 2]).astype(np.float32)
    w = RANDOM.integers(-8, 8, [1, 1, 1, 2]).astype(np.float32)
    f.input("x", [1, 3, 3, 2], "FP32")
    f.const("w", [1, 1, 1, 2], "FP32", w.tobytes())
    f.const("b", [1], "FP32", f32(0.5))
    slots = {"pad": [0, 0, 0, 0], "stride": [1, 1], "dilation": [1, 1], "local_bound": True}
    f.output(f.op("CONV2D", ["x", "w", "b"], "y", [1, 3, 3, 1], "FP32", "ConvAttribute", **slots))
    return [x], [x @ w.reshape(2, 1) + np.float32(0.5)]


READ = [fully_connected, conv, transpose_conv, matmul, average, max_pool, rescale_unsigned, rescale_flag, rescale_by_channel, pads, clamps, tables, movement,
        resize, arithmetic, reductions, bfloat, narrow, branches, float_convolution]  # fmt: skip
NOT_FOR_THE_MODEL = (bfloat, narrow)  # the reference model does not return these types


@pytest.mark.parametrize("make", READ)
def test_attributes_of_old_files_mean_what_they_say(make, run_carina, reference_model, tmp_path):
    file = OldFile()
    inputs, wanted = make(file)
    (tmp_path / "old.tosa").write_bytes(bytes(file))
    for a, b in zip(wanted, outputs_of(run_carina, tmp_path / "old.tosa", inputs, tmp_path / "out"), strict=True):
        np.testing.assert_array_equal(a, b)
    if make in NOT_FOR_THE_MODEL:
        return
    run_carina(["tosa", tmp_path / "old.tosa", "-o", tmp_path / "new.tosa"])
    for a, b in zip(wanted, reference_model(tmp_path / "new.tosa", inputs), strict=True):
        np.testing.assert_array_equal(a, b)
    # Converts back once more, which must not change anything.
    to_0_80(run_carina, tmp_path / "new.tosa", tmp_path / "again.tosa")
    run_carina(["tosa", tmp_path / "again.tosa", "-o", tmp_path / "newer.tosa"])
    for a, b in zip(wanted, reference_model(tmp_path / "newer.tosa", inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def bad_operator(f):
    f.output(f.op("DIM", [f.input("x", [2], "INT8")], "y", [1], "INT32", "AxisAttribute", axis=0))
    return "DIM"


def unknown_number(f):
    f.output(f.op(73, [f.input("x", [2], "INT8")], "y", [2], "INT8"))
    return "operator number 73"


def unsigned_arithmetic(f):
    f.output(f.op("CONCAT", [f.input("x", [2], "UINT8")], "y", [2], "UINT8", "AxisAttribute", axis=0))
    return "unsigned"


def wrong_attributes(f):
    f.output(f.op("ADD", [f.input("x", [2], "INT32"), "x"], "y", [2], "INT32", "AxisAttribute", axis=0))
    return "attributes"


def wide_result(f):
    f.input("x", [1, 1, 1, 1], 10)
    f.const("w", [1, 1, 1, 1], 10, bytes(2))
    f.const("b", [1], "FP32", bytes(4))
    slots = {"pad": [0, 0, 0, 0], "stride": [1, 1], "dilation": [1, 1]}
    f.output(f.op("CONV2D", ["x", "w", "b"], "y", [1, 1, 1, 1], "FP32", "ConvAttribute", **slots))
    return "CONV2D with these types does not exist in TOSA 1.0"


def large_number(f):
    f.output(
        f.op(
            "MATMUL",
            [f.input("x", [1, 1, 1], "INT8"), "x"],
            "y",
            [1, 1, 1],
            "INT32",
            "MatMulAttribute",
            a_zp=300,
            b_zp=0,
        )
    )
    return "A_zp"


def missing_operand(f):
    f.output(f.op("ADD", [f.input("x", [2], "INT32")], "y", [2], "INT32"))
    return "operand input2 is missing"


@pytest.mark.parametrize(
    "make",
    [bad_operator, unknown_number, unsigned_arithmetic, wrong_attributes, wide_result, large_number, missing_operand],
)
def test_bad_old_files_are_rejected(make, run_carina, tmp_path):
    file = OldFile()
    word = make(file)
    (tmp_path / "old.tosa").write_bytes(bytes(file))
    assert word in run_carina(["tosa", "--verify", tmp_path / "old.tosa"], expect=1).stderr
