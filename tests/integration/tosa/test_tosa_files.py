"""TOSA files that Carina reads and writes again mean the same to the official reference model, and Vela accepts them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cases_fixtures import case_folders, cases_folders, id_of, made_case

DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "fp32": np.float32, "bool": np.bool_}


def tosa_files():
    return [pytest.param(file, id=id_of(file)) for case in case_folders() for file in sorted(case.rglob("*.tosa"))]


@pytest.fixture(scope="session")
def tosa_tool():
    """The test program of tests/unit/tosa, which is built beside `carina`."""
    carina = Path(os.environ["CARINA_BIN"])
    path = carina.parent / "tosa_tool"
    if not path.exists():
        pytest.fail(f"{path} is missing: run `make build`")

    def run(*arguments, expect=0):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == expect, (
            f"{arguments}: exit code {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
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
    """Vela also compiles the rewritten file to the same stream, because names and the order of operators stay the same."""
    tosa_tool("rewrite", file, tmp_path / "out.tosa")
    config = "ethos-u85-256" if "ethos-u85" in str(file) else "ethos-u55-128"
    before, after = (
        np.load(vela(file, config), allow_pickle=True),
        np.load(vela(tmp_path / "out.tosa", config), allow_pickle=True),
    )
    for name in ("input_shape", "output_shape"):
        assert before[name].tolist() == after[name].tolist()


@pytest.mark.parametrize("file", tosa_files())
def test_writing_again_gives_the_same_bytes(file, tosa_tool, tmp_path):
    tosa_tool("rewrite", file, tmp_path / "a.tosa")
    tosa_tool("rewrite", tmp_path / "a.tosa", tmp_path / "b.tosa")
    assert (tmp_path / "a.tosa").read_bytes() == (tmp_path / "b.tosa").read_bytes()


@pytest.mark.long
def test_model_explorer_shows_what_we_write(tosa_tool, explorer, tmp_path):
    tosa_tool("rewrite", made_case("ds_cnn").path / "out.tosa", tmp_path / "out.tosa")
    graphs = explorer(tmp_path / "out.tosa")
    labels = [label for graph in graphs for label in graph["nodes"]]
    assert "CONV2D" in labels and "RESCALE" in labels


# 1.1-draft, as tosa-tools 2026.8 writes by default. Constants are stored as the official serializer stores them: inside
# the FlatBuffer, or after it if a file is larger than a given size.


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


@pytest.mark.parametrize("size_cap", [2**31 - 1, 100], ids=["inside", "after"])
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
    if dtype in (ts.DType.INT4, ts.DType.INT48):  # types that the reference model cannot return
        assert f"= {values.flatten().tolist()}\n" in tosa_tool("print", tmp_path / "out.tosa")
    else:
        assert reference_model(tmp_path / "out.tosa", [])[0].tobytes() == values.tobytes()


# Files of the official compiler front end: variables, control flow, shapes.

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


SHAPES = """
module {
  func.func @main(%a: tensor<2x3xi8>) -> tensor<4x6xi8> {
    %s = tosa.const_shape {values = dense<[3, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
    %0 = tosa.reshape %a, %s : (tensor<2x3xi8>, !tosa.shape<2>) -> tensor<3x2xi8>
    %p = tosa.const_shape {values = dense<[1, 0, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
    %c = "tosa.const"() <{values = dense<7> : tensor<1xi8>}> : () -> tensor<1xi8>
    %1 = tosa.pad %0, %p, %c : (tensor<3x2xi8>, !tosa.shape<4>, tensor<1xi8>) -> tensor<4x3xi8>
    %m = tosa.const_shape {values = dense<[1, 2]> : tensor<2xindex>} : () -> !tosa.shape<2>
    %2 = tosa.tile %1, %m : (tensor<4x3xi8>, !tosa.shape<2>) -> tensor<4x6xi8>
    return %2 : tensor<4x6xi8>
  }
}
"""


@pytest.mark.parametrize(
    "text, inputs",
    [
        pytest.param(SHAPES, [np.arange(6, dtype=np.int8).reshape(2, 3)], id="shapes"),
        pytest.param(VARIABLES, [np.array([3, 4], np.int8)], id="variables"),
        pytest.param(
            CONTROL_FLOW, [np.array(True), np.array([3, 4], np.int32), np.array(0, np.int32)], id="control-flow"
        ),
        pytest.param(
            CONTROL_FLOW, [np.array(False), np.array([3, 4], np.int32), np.array(2, np.int32)], id="other-branch"
        ),
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


def data_of_constants(tosa):
    """(bytes that the constant needs, bytes in the file, offset in the file) of each constant of the main block."""
    from tosa.TosaGraph import TosaGraph

    block = TosaGraph.GetRootAsTosaGraph(tosa, 0).Regions(0).Blocks(0)
    width = {1: 1, 3: 1, 4: 2, 5: 4, 7: 4}
    for tensor in (block.Tensors(i) for i in range(block.TensorsLength())):
        if tensor.DataLength():
            needed = int(np.prod([tensor.Shape(axis) for axis in range(tensor.ShapeLength())])) * width[tensor.Type()]
            yield needed, tensor.DataLength(), tensor._tab.Vector(tensor._tab.Offset(10))
    for shape in (block.Shapes(i) for i in range(block.ShapesLength())):
        if shape.DataLength():
            yield 8 * shape.Rank(), shape.DataLength(), shape._tab.Vector(shape._tab.Offset(8))


def test_front_end_pads_constants_and_aligns_them_to_4(tmp_path):
    """Ensures that other tests read such files: constants longer than needed, and wide elements at unaligned offsets."""
    (tmp_path / "in.mlir").write_text(SHAPES)
    flags = ["--tosa-serialize", f"--tosa-flatbuffer-filename={tmp_path}/in.tosa"]
    subprocess.run(
        [Path(sys.executable).with_name("tosa-opt"), *flags, tmp_path / "in.mlir"], check=True, capture_output=True
    )
    for file in (tmp_path / "in.tosa", *(folder / "ds_cnn" / "out.tosa" for folder in cases_folders())):
        places = list(data_of_constants(file.read_bytes()))
        assert any(length > needed for needed, length, _ in places)
        assert any(position % 8 == 4 for _, _, position in places)


def attribute(name, *arguments):
    import tosa_serializer as ts

    made = ts.TosaSerializerAttribute()
    getattr(made, name)(*arguments)
    return made


def branches(blocks_in_one_region):
    """COND_IF whose graphs are regions of their own, as the reference model requires, or additional blocks of the main region."""
    import tosa_serializer as ts

    file = ts.TosaSerializer("", ts.ConstMode.EMBED, 1, 0, 0, False)
    condition, x = file.addPlaceholder([1], ts.DType.BOOL, None), file.addPlaceholder([2], ts.DType.INT32, None)
    result = file.addOutput([2], ts.DType.INT32)
    file.addOperator(
        ts.Op.COND_IF, [condition.name, x.name], [result.name], attribute("CondIfAttribute", "twice", "none")
    )
    for name, op, kind in (("twice", ts.Op.ADD, "AddAttribute"), ("none", ts.Op.SUB, "SubAttribute")):
        if not blocks_in_one_region:
            file.startRegion(name, "")
        file.addBasicBlock(name)
        a = file.addPlaceholder([2], ts.DType.INT32, None)
        file.addOperator(op, [a.name, a.name], [file.addOutput([2], ts.DType.INT32).name], attribute(kind))
    return bytes(file.serialize())


@pytest.mark.parametrize("condition", [True, False])
def test_several_regions_and_blocks(condition, run_carina, tosa_tool, reference_model, tmp_path):
    inputs = [np.array([condition]), np.array([3, 4], np.int32)]
    wanted = reference_model(branches(False), inputs)[0]
    np.save(tmp_path / "c.npy", inputs[0])
    np.save(tmp_path / "x.npy", inputs[1])
    for blocks in (False, True):
        (tmp_path / "in.tosa").write_bytes(branches(blocks))
        tosa_tool("retext", tmp_path / "in.tosa", tmp_path / "out.tosa")
        np.testing.assert_array_equal(reference_model(tmp_path / "out.tosa", inputs)[0], wanted)
        run_carina(
            [
                "interpret",
                tmp_path / "in.tosa",
                "-i",
                tmp_path / "c.npy",
                "-i",
                tmp_path / "x.npy",
                "-o",
                tmp_path / "o",
            ]
        )
        np.testing.assert_array_equal(np.load(tmp_path / "o" / "output_0.npy"), wanted)


def test_draft_of_1_1_as_the_tools_write_by_default(run_carina, reference_model, tmp_path):
    import tosa_serializer as ts

    file = ts.TosaSerializer()
    x = file.addPlaceholder([2, 3], ts.DType.INT32, None)
    y = file.addIntermediate([2, 1], ts.DType.INT32)
    file.addOperator(ts.Op.REDUCE_SUM, [x.name], [y.name], attribute("ReduceSumAttribute", 1))
    shape = file.addConst([1], ts.DType.SHAPE, np.array([2], np.int64))
    z = file.addOutput([2], ts.DType.INT32)
    file.addOperator(ts.Op.RESHAPE, [y.name, shape.name], [z.name], attribute("ReshapeAttribute"))
    (tmp_path / "in.tosa").write_bytes(bytes(file.serialize()))
    assert "TOSA 1.1.0-draft" in run_carina(["tosa", "--verify", tmp_path / "in.tosa"]).stdout
    run_carina(["tosa", tmp_path / "in.tosa", "-o", tmp_path / "out.tosa"])
    assert "TOSA 1.0.0," in run_carina(["tosa", "--verify", tmp_path / "out.tosa"]).stdout
    inputs = [np.arange(6, dtype=np.int32).reshape(2, 3)]
    for a, b in zip(
        reference_model(tmp_path / "in.tosa", inputs), reference_model(tmp_path / "out.tosa", inputs), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_operators_of_1_1_are_rejected(run_carina, tmp_path):
    import tosa_serializer as ts

    file = ts.TosaSerializer()
    x = file.addPlaceholder([2, 3], ts.DType.INT8, None)
    file.addOperator(ts.Op.DIM, [x.name], [file.addIntermediateShape(1).name], attribute("DimAttribute", 0))
    file.addOutputTensor(x)
    (tmp_path / "in.tosa").write_bytes(bytes(file.serialize()))
    assert "operator number 79" in run_carina(["tosa", "--verify", tmp_path / "in.tosa"], expect=1).stderr


# --- the verifier on the command line ------------------------------------------------------------------------------

RESIZED = "graph @main {\n input %x: i32[2,3]\n %y: i32[2,4] = tosa.ADD(%x, %x)\n output %y\n}\n"
MATMUL16 = "graph @main {\n input %a: i16[1,1,1]\n %z: i16[1] = [0]\n %y: i48[1,1,1] = tosa.MATMUL(%a, %a, %z, %z)\n output %y\n}\n"
RANK7 = "graph @main {\n input %x: i32[1,1,1,1,1,1,1]\n %y: i32[1,1,1,1,1,1,1] = tosa.ABS(%x)\n output %y\n}\n"
GATHER = (
    "graph @main {\n input %v: i8[1,2,1]\n input %i: i32[1,1]\n %y: i8[1,1,1] = tosa.GATHER(%v, %i)\n output %y\n}\n"
)


@pytest.fixture
def assemble(tosa_tool, tmp_path):
    """A module in its text form as a file, unverified."""

    def make(text, name="in.tosa"):
        (tmp_path / "in.txt").write_text(text)
        tosa_tool("assemble", tmp_path / "in.txt", tmp_path / name)
        return tmp_path / name

    return make


def test_verify_names_the_rule_and_its_section(assemble, run_carina):
    file = assemble(RESIZED)
    done = run_carina(["tosa", "--verify", file], expect=1)
    assert "rule BROADCAST.1 (TOSA 1.0, section 2.5.1): " in done.stderr and "1 rule broken" in done.stdout
    listed = run_carina(["tosa", "--verify", file, "--json"], expect=1).json
    assert not listed["sound"] and listed["version"] == "1.0.0" and listed["level"] == "8K"
    (violation,) = listed["violations"]
    assert (violation["rule"], violation["section"], violation["op"], violation["node"]) == (
        "BROADCAST.1",
        "2.5.1",
        "tosa.ADD",
        "y",
    )


def test_verify_keeps_to_profiles_extensions_and_levels(assemble, run_carina):
    verify = ["tosa", "--verify", assemble(MATMUL16)]
    run_carina(verify)
    for name in ("INT", "PRO-INT", "pro_int", "tosa-pro-int"):
        run_carina([*verify, "--profile", name])
    run_carina([*verify, "--profile", "INT", "--extension", "INT16,DYNAMIC"])
    run_carina([*verify, "--profile", "BI"])
    assert "rule PROFILE.1" in run_carina([*verify, "--profile", "INT", "--extension", "none"], expect=1).stderr
    assert "rule PROFILE.1" in run_carina([*verify, "--profile", "FP", "--extension", "BF16"], expect=1).stderr
    assert "PRO-INT, PRO-FP" in run_carina([*verify, "--profile", "tosa-ext-int16"], expect=2).stderr
    verify = ["tosa", "--verify", assemble(RANK7)]
    assert "rule LEVEL.1" in run_carina(verify, expect=1).stderr
    run_carina([*verify, "--level", "none"])
    run_carina([*verify, "--level", "9K"], expect=2)


def test_everything_that_takes_a_file_verifies_it(assemble, run_carina, tmp_path):
    file = assemble(RESIZED)
    target = ["--target", "ethos-u55-128"]
    for command in (
        ["interpret", file],
        ["compile", file, *target, "-o", tmp_path / "out.pte"],
        ["explain", file, *target],
        ["tosa", file, "-o", tmp_path / "out.tosa"],
    ):
        assert "rule BROADCAST.1" in run_carina(command, expect=1).stderr
    assert not (tmp_path / "out.pte").exists() and not (tmp_path / "out.tosa").exists()


def test_rejected_and_unpredictable_are_told_apart(assemble, run_carina, tmp_path):
    """Exit codes for programs that test engines: a broken rule of the specification differs from a broken REQUIRE at run time."""
    rejected = run_carina(["interpret", assemble(RESIZED), "--json"], expect=1)
    assert rejected.json["status"] == "refused"
    assert [(e["kind"], e["rule"]) for e in rejected.json["errors"]] == [("rule", "BROADCAST.1")]
    np.save(tmp_path / "v.npy", np.zeros([1, 2, 1], np.int8))
    np.save(tmp_path / "i.npy", np.full([1, 1], 2, np.int32))
    broken = run_carina(
        ["interpret", assemble(GATHER), "-i", tmp_path / "v.npy", "-i", tmp_path / "i.npy", "--json"], expect=1
    )
    assert broken.json["status"] == "unpredictable"
    assert [e["kind"] for e in broken.json["errors"]] == ["require"]
    assert "REQUIRE broken at element [0,0]" in broken.stderr
    missing = run_carina(["interpret", tmp_path / "nowhere.tosa", "--json"], expect=1)
    assert missing.json["status"] == "failed"


@pytest.mark.parametrize(
    "statements",
    [
        "input %x: i8[1,2,3]\n %s: shape[3] = [40000, 20000, 1]\n %y: i8[40000,40000,3] = tosa.TILE(%x, %s)",
        "%c: i8[1,1] = [3]\n %s: shape[2] = [1000, 1500000]\n %y: i8[1000,1500000] = tosa.TILE(%c, %s)",
        "input %x: i32[1000,500000]\n %y: i32[1000,500000] = tosa.ABS(%x)",
    ],
)
def test_memory_budget_is_kept_before_anything_is_allocated(statements, assemble, run_carina):
    import resource

    file = assemble(f"graph @main {{\n {statements}\n output %y\n}}\n")

    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))

    carina = Path(os.environ["CARINA_BIN"])
    for budget in ("100M", "104857600"):
        command = [carina, "interpret", file, "--level", "none", "--memory-budget", budget]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=little_memory, timeout=60)
        assert done.returncode == 1 and "memory budget" in done.stderr, done.stderr
    for budget in ("", "0", "12X", "-1", "99999999999G"):
        run_carina(["interpret", file, f"--memory-budget={budget}"], expect=2)
