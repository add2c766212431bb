"""TOSA files: what we read and write again means the same to the official reference model, and Vela accepts it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, case_folders

DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "fp32": np.float32, "bool": np.bool_}


def tosa_files():
    files = sorted(file for case in case_folders() for file in case.rglob("*.tosa"))
    if not files:
        return [pytest.param(None, marks=pytest.mark.skip(reason="not run: no ../shared"))]
    return [pytest.param(f, id="-".join(f.relative_to(f.parents[2] if "ethos" in str(f) else f.parents[1]).parts)) for f in files]


@pytest.fixture(scope="session")
def tosa_tool():
    """The test program of tests/unit/tosa, beside our binary."""
    carina = Path(os.environ.get("CARINA_BIN", ROOT / "build" / "release" / "bin" / "carina"))
    path = carina.parent / "tosa_tool"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments, expect=0):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == expect, f"{arguments}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout

    return run


def random_inputs(tosa, seed):
    """One array for each input of the file's main block."""
    from tosa.TosaGraph import TosaGraph

    block = TosaGraph.GetRootAsTosaGraph(tosa, 0).Regions(0).Blocks(0)
    tensors = {block.Tensors(i).Name(): block.Tensors(i) for i in range(block.TensorsLength())}
    types = {1: np.bool_, 3: np.int8, 4: np.int16, 5: np.int32, 7: np.float32}
    random = np.random.default_rng(seed)
    arrays = []
    for i in range(block.InputsLength()):
        tensor = tensors[block.Inputs(i)]
        shape = [tensor.Shape(axis) for axis in range(tensor.ShapeLength())]
        dtype = np.dtype(types[tensor.Type()])
        if dtype.kind == "f":
            arrays.append(random.standard_normal(shape).astype(dtype))
        else:
            arrays.append(random.integers(-128, 128, shape).astype(dtype))
    return arrays


def assert_same_meaning(reference_model, before, after):
    for seed in range(2):
        inputs = random_inputs(before, seed)
        for wanted, got in zip(reference_model(before, inputs), reference_model(after, inputs), strict=True):
            assert wanted.dtype == got.dtype
            np.testing.assert_array_equal(wanted, got)


@pytest.mark.parametrize("file", tosa_files())
@pytest.mark.parametrize("way", ["rewrite", "retext"])
def test_written_file_means_the_same(file, way, tosa_tool, reference_model, tmp_path):
    tosa_tool(way, file, tmp_path / "out.tosa")
    assert_same_meaning(reference_model, file.read_bytes(), (tmp_path / "out.tosa").read_bytes())


@pytest.mark.parametrize("file", tosa_files())
def test_vela_accepts_what_we_write(file, tosa_tool, vela, tmp_path):
    """And compiles it to what it makes of the original: the order of operators and the names are the same."""
    tosa_tool("rewrite", file, tmp_path / "out.tosa")
    config = "ethos-u85-256" if "ethos-u85" in str(file) else "ethos-u55-128"
    before, after = np.load(vela(file, config), allow_pickle=True), np.load(vela(tmp_path / "out.tosa", config), allow_pickle=True)
    for name in ("input_shape", "output_shape"):
        assert before[name].tolist() == after[name].tolist()


@pytest.mark.parametrize("file", tosa_files())
def test_writing_again_gives_the_same_bytes(file, tosa_tool, tmp_path):
    tosa_tool("rewrite", file, tmp_path / "a.tosa")
    tosa_tool("rewrite", tmp_path / "a.tosa", tmp_path / "b.tosa")
    assert (tmp_path / "a.tosa").read_bytes() == (tmp_path / "b.tosa").read_bytes()


def test_model_explorer_shows_what_we_write(shared, tosa_tool, explorer, tmp_path):
    tosa_tool("rewrite", shared / "cases" / "ds_cnn" / "out.tosa", tmp_path / "out.tosa")
    graphs = explorer(tmp_path / "out.tosa")
    labels = [label for graph in graphs for label in graph["nodes"]]
    assert "CONV2D" in labels and "RESCALE" in labels


# 1.1-draft, as tosa-tools 2026.8 writes by default, and constants in the packings of the official serializer: inside the
# FlatBuffer, and behind it, where they go when a file is larger than a given size.


def constants():
    import ml_dtypes
    from tosa_serializer import DType

    random = np.random.default_rng(0)
    real = random.standard_normal([3, 5])
    return {
        DType.BOOL: random.integers(0, 2, [3, 5]).astype(np.bool_),
        DType.INT4: random.integers(0, 8, [3, 5]).astype(np.int8),
        DType.INT8: random.integers(-128, 128, [3, 5]).astype(np.int8),
        DType.INT16: random.integers(-(2**15), 2**15, [3, 5]).astype(np.int16),
        DType.INT32: random.integers(-(2**31), 2**31, [3, 5]).astype(np.int32),
        DType.INT48: random.integers(-(2**47), 2**47, [3, 5]).astype(np.int64),
        DType.FP32: real.astype(np.float32),
        DType.FP16: real.astype(np.float16),
        DType.BF16: real.astype(ml_dtypes.bfloat16),
        DType.FP8E4M3: real.astype(ml_dtypes.float8_e4m3fn),
        DType.FP8E5M2: real.astype(ml_dtypes.float8_e5m2),
    }


CONSTANT_TYPES = ["BOOL", "INT4", "INT8", "INT16", "INT32", "INT48", "FP32", "FP16", "BF16", "FP8E4M3", "FP8E5M2"]


@pytest.mark.parametrize("size_cap", [2**31 - 1, 100], ids=["inside", "behind"])
@pytest.mark.parametrize("dtype", CONSTANT_TYPES)
def test_constants_of_every_type(dtype, size_cap, tosa_tool, reference_model, tmp_path):
    import tosa_serializer as ts

    dtype = getattr(ts.DType, dtype)
    values = constants()[dtype]
    serializer = ts.TosaSerializer("", ts.ConstMode.EMBED, 1, 1, 0, True, size_cap)
    constant = serializer.addConst(list(values.shape), dtype, values)
    output = serializer.addOutput(list(values.shape), dtype)
    attribute = ts.TosaSerializerAttribute()
    attribute.IdentityAttribute()
    serializer.addOperator(ts.Op.IDENTITY, [constant.name], [output.name], attribute)
    (tmp_path / "in.tosa").write_bytes(bytes(serializer.serialize()))
    tosa_tool("retext", tmp_path / "in.tosa", tmp_path / "out.tosa")
    if dtype in (ts.DType.INT4, ts.DType.INT48):  # types that the model cannot hand out
        assert f"= {values.flatten().tolist()}\n" in tosa_tool("print", tmp_path / "out.tosa")
    else:
        assert reference_model(tmp_path / "out.tosa", [])[0].tobytes() == values.tobytes()


# What the official compiler front end writes: variables, control flow, shapes.

VARIABLES = """
module {
  tosa.variable @stored = dense<[7, 1]> : tensor<2xi8>
  func.func @main(%a: tensor<2xi8>) -> tensor<4xi8> {
    %0 = tosa.variable_read @stored : tensor<2xi8>
    tosa.variable_write @stored, %a : tensor<2xi8>
    %1 = tosa.variable_read @stored : tensor<2xi8>
    %2 = tosa.concat %0, %1 {axis = 0 : i32} : (tensor<2xi8>, tensor<2xi8>) -> tensor<4xi8>
    return %2 : tensor<4xi8>
  }
}
"""

CONTROL_FLOW = """
module {
  func.func @main(%c: tensor<i1>, %a: tensor<2xi32>, %n: tensor<i32>) -> (tensor<2xi32>, tensor<i32>) {
    %0 = tosa.cond_if %c (%x = %a) : tensor<i1> (tensor<2xi32>) -> tensor<2xi32> {
    ^bb0(%x: tensor<2xi32>):
      %1 = tosa.add %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
      tosa.yield %1 : tensor<2xi32>
    } else {
    ^bb0(%x: tensor<2xi32>):
      %1 = tosa.sub %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
      tosa.yield %1 : tensor<2xi32>
    }
    %3:2 = tosa.while_loop (%i = %n, %x = %0) : (tensor<i32>, tensor<2xi32>) -> (tensor<i32>, tensor<2xi32>) {
      %limit = "tosa.const"() <{values = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %4 = tosa.greater %limit, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      tosa.yield %4 : tensor<i1>
    } do {
    ^bb0(%i: tensor<i32>, %x: tensor<2xi32>):
      %one = "tosa.const"() <{values = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %4 = tosa.add %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %5 = tosa.add %x, %x : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
      tosa.yield %4, %5 : tensor<i32>, tensor<2xi32>
    }
    return %3#1, %3#0 : tensor<2xi32>, tensor<i32>
  }
}
"""


@pytest.mark.parametrize(
    "text, inputs",
    [
        pytest.param(VARIABLES, [np.array([3, 4], np.int8)], id="variables"),
        pytest.param(CONTROL_FLOW, [np.array(True), np.array([3, 4], np.int32), np.array(0, np.int32)], id="control-flow"),
        pytest.param(CONTROL_FLOW, [np.array(False), np.array([3, 4], np.int32), np.array(2, np.int32)], id="other-branch"),
    ],
)
def test_files_of_the_official_front_end(text, inputs, tosa_tool, reference_model, tmp_path):
    (tmp_path / "in.mlir").write_text(text)
    tosa_opt = Path(sys.executable).with_name("tosa-opt")
    flags = ["--tosa-serialize", f"--tosa-flatbuffer-filename={tmp_path}/in.tosa"]
    done = subprocess.run([tosa_opt, *flags, tmp_path / "in.mlir"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tosa_tool("retext", tmp_path / "in.tosa", tmp_path / "out.tosa")
    for wanted, got in zip(
        reference_model(tmp_path / "in.tosa", inputs), reference_model(tmp_path / "out.tosa", inputs), strict=True
    ):
        np.testing.assert_array_equal(wanted, got)
