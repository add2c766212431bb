"""TOSA files with variables, branches and loops become programs for the NPU, which keep the variables from run to run. The official
reference model is the reference: it runs one step, so that each step begins with the variables that the step before has left."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]
STEPS = 5


def module(signature, body, variables=()):
    """A module whose @main has this body. variables: (name, array) of each."""
    lines = []
    for name, array in variables:
        lines.append(f"tosa.variable @{name} = dense<{array.tolist()}> : {type_of(array)}")
    return "module {\n" + "\n".join(lines) + f"\nfunc.func @main{signature} {{\n{body}\n}}\n}}\n"


def type_of(array):
    width = {"int8": "i8", "int16": "i16", "int32": "i32", "bool": "i1"}[array.dtype.name]
    return f"tensor<{'x'.join([*map(str, array.shape), width])}>"


T8, T32 = "tensor<1x6xi8>", "tensor<1x6xi32>"


def binary(op, result, a, b):
    """An operator of int32 on int8 values, whose result wraps to int8. Variables of TOSA 1.0 are int8 or floats."""
    return f"""
    {result}_a = tosa.cast {a} : ({T8}) -> {T32}
    {result}_b = tosa.cast {b} : ({T8}) -> {T32}
    {result}_c = tosa.{op} {result}_a, {result}_b : ({T32}, {T32}) -> {T32}
    {result} = tosa.cast {result}_c : ({T32}) -> {T8}"""


# Signature, body and variables: the initial value of each, and which result is its value after the step (None: it is
# never written).
SUM = (
    f"(%a: {T8}) -> ({T8}, {T8})",
    f"""
    %v0 = tosa.variable_read @sum : {T8}{binary("add", "%v1", "%v0", "%a")}
    tosa.variable_write @sum, %v1 : {T8}
    %v2 = tosa.variable_read @sum : {T8}{binary("sub", "%v3", "%v2", "%v0")}
    return %v3, %v1 : {T8}, {T8}
    """,
    {"sum": (np.arange(6, dtype=np.int8)[None], 1)},
)
RING = (
    "(%a: tensor<1x1x4xi8>) -> (tensor<1x3x4xi8>, tensor<1x3x4xi8>)",
    """
    %v0 = tosa.variable_read @ring : tensor<1x3x4xi8>
    %s = tosa.const_shape {values = dense<[0, 1, 0]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %n = tosa.const_shape {values = dense<[1, 2, 4]> : tensor<3xindex>} : () -> !tosa.shape<3>
    %v1 = tosa.slice %v0, %s, %n : (tensor<1x3x4xi8>, !tosa.shape<3>, !tosa.shape<3>) -> tensor<1x2x4xi8>
    %v2 = tosa.concat %v1, %a {axis = 1 : i32} : (tensor<1x2x4xi8>, tensor<1x1x4xi8>) -> tensor<1x3x4xi8>
    tosa.variable_write @ring, %v2 : tensor<1x3x4xi8>
    return %v0, %v2 : tensor<1x3x4xi8>, tensor<1x3x4xi8>
    """,
    {"ring": (np.arange(12, dtype=np.int8).reshape(1, 3, 4), 1)},
)
SWAP = (
    f"(%a: {T8}) -> ({T8}, {T8}, {T8})",
    f"""
    %v0 = tosa.variable_read @p : {T8}
    %v1 = tosa.variable_read @q : {T8}
    tosa.variable_write @q, %v0 : {T8}
    tosa.variable_write @p, %v1 : {T8}{binary("add", "%v2", "%v0", "%a")}
    return %v2, %v1, %v0 : {T8}, {T8}, {T8}
    """,
    {"p": (np.arange(6, dtype=np.int8)[None], 1), "q": (-np.arange(6, dtype=np.int8)[None], 2)},
)
ONLY_READ = (
    f"(%a: {T8}) -> {T8}",
    f"""
    %v0 = tosa.variable_read @bias : {T8}{binary("add", "%v1", "%v0", "%a")}
    return %v1 : {T8}
    """,
    {"bias": (np.arange(6, dtype=np.int8)[None], None)},
)
BRANCH = (
    f"(%a: {T8}, %c: tensor<1xi1>) -> ({T8}, {T8})",
    f"""
    %v0 = tosa.cond_if %c (%x = %a) : tensor<1xi1> ({T8}) -> {T8} {{
    ^bb0(%x: {T8}):
      %v1 = tosa.variable_read @kept : {T8}{binary("add", "%v2", "%v1", "%x")}
      tosa.variable_write @kept, %v2 : {T8}
      tosa.yield %v2 : {T8}
    }} else {{
    ^bb0(%x: {T8}):{binary("sub", "%v1", "%x", "%x")}
      tosa.yield %v1 : {T8}
    }}
    %v3 = tosa.variable_read @kept : {T8}
    return %v0, %v3 : {T8}, {T8}
    """,
    {"kept": (np.arange(6, dtype=np.int8)[None], 1)},
)


def loop(first, counts=True):
    """A loop that doubles x until a counter from `first` on is 3. It may also add x to a variable."""
    count = f"""
      %v6 = tosa.variable_read @count : {T8}{binary("add", "%v7", "%v6", "%x")}
      tosa.variable_write @count, %v7 : {T8}"""
    return f"""
    %zero = "tosa.const"() <{{values = dense<0> : tensor<1xi32>}}> : () -> tensor<1xi32>
    %v3:2 = tosa.while_loop (%i = {first}, %x = %a) : (tensor<1xi32>, {T8}) -> (tensor<1xi32>, {T8}) {{
      %end = "tosa.const"() <{{values = dense<3> : tensor<1xi32>}}> : () -> tensor<1xi32>
      %v4 = tosa.greater %end, %i : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
      tosa.yield %v4 : tensor<1xi1>
    }} do {{
    ^bb0(%i: tensor<1xi32>, %x: {T8}):
      %one = "tosa.const"() <{{values = dense<1> : tensor<1xi32>}}> : () -> tensor<1xi32>
      %v4 = tosa.add %i, %one : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>{binary("add", "%v5", "%x", "%x")}
      {count if counts else ""}
      tosa.yield %v4, %v5 : tensor<1xi32>, {T8}
    }}
    %v8 = tosa.variable_read @count : {T8}
    return %v3#1, %v8 : {T8}, {T8}
    """


COUNT = {"count": (np.zeros((1, 6), np.int8), 1)}
# The reference model crashes now and then on a loop with a variable in its body: only loops without one are compared
# with it.
PLAIN_LOOP = (f"(%a: {T8}) -> ({T8}, {T8})", loop("%zero", counts=False), {"count": (np.zeros((1, 6), np.int8), None)})
PLAIN_DATA_LOOP = (f"(%a: {T8}, %n: tensor<1xi32>) -> ({T8}, {T8})", loop("%n", counts=False), PLAIN_LOOP[2])
KNOWN_LOOP = (f"(%a: {T8}) -> ({T8}, {T8})", loop("%zero"), COUNT)
DATA_LOOP = (f"(%a: {T8}, %n: tensor<1xi32>) -> ({T8}, {T8})", loop("%n"), COUNT)

CASES = {
    "sum": (SUM, []),
    "ring": (RING, []),
    "swap": (SWAP, []),
    "only_read": (ONLY_READ, []),
    "branch": (BRANCH, []),
    "known_loop": (PLAIN_LOOP, []),
    "data_loop": (PLAIN_DATA_LOOP, ["--loop-rounds", "3"]),
}


def written(case, path, values):
    signature, body, _ = case
    path.with_suffix(".mlir").write_text(module(signature, body, values.items()))
    flags = ["--tosa-serialize", f"--tosa-flatbuffer-filename={path}"]
    tool = Path(sys.executable).with_name("tosa-opt")
    done = subprocess.run([tool, *flags, path.with_suffix(".mlir")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


def first_values(case):
    return {name: array for name, (array, _) in case[2].items()}


def inputs_of(case):
    """The inputs of each step, by the signature."""
    draw = np.random.default_rng(5)
    steps = []
    for n in range(STEPS):
        step = []
        if "%a: tensor<1x1x4xi8>" in case[0]:
            step.append(draw.integers(-128, 127, (1, 1, 4)).astype(np.int8))
        else:
            step.append(draw.integers(-20, 20, (1, 6)).astype(np.int8))
        if "%c" in case[0]:
            step.append(np.array([n % 2 == 0]))
        if "%n" in case[0]:
            step.append(np.array([n], np.int32))  # 3 - n rounds
        steps.append(step)
    return steps


def reference_steps(case, reference_model, tmp_path):
    values, steps = first_values(case), []
    for step in inputs_of(case):
        outputs = reference_model(written(case, tmp_path / "step.tosa", values), step)
        steps.append(outputs)
        for name, (_, result) in case[2].items():
            if result is not None:
                values[name] = outputs[result].reshape(values[name].shape)
    return [np.stack(column) for column in zip(*steps, strict=True)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_variables_and_control_flow_have_the_bits_of_the_reference_model(
    name, target, run_carina, reference_model, tmp_path
):
    case, options = CASES[name]
    model = written(case, tmp_path / "model.tosa", first_values(case))
    said = run_carina(["compile", model, "--target", target, "-o", tmp_path / "model.pte", *options]).stderr
    keeps = [name for name, (_, result) in case[2].items() if result is not None]
    assert all(name in said for name in keeps) and ("keeps state" in said) == bool(keeps)
    np.savez(tmp_path / "steps.npz", **{f"x{n}": np.stack(x) for n, x in enumerate(zip(*inputs_of(case), strict=True))})
    run_carina(["run", tmp_path / "model.pte", "--sequence", tmp_path / "steps.npz", "-o", tmp_path / "out"])
    wanted = reference_steps(case, reference_model, tmp_path)
    for k, truth in enumerate(wanted):
        got = np.load(tmp_path / "out" / f"output_{k}.npy")
        np.testing.assert_array_equal(got, truth.reshape(got.shape))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("looping, options", [(KNOWN_LOOP, []), (DATA_LOOP, ["--loop-rounds", "3"])])
def test_a_variable_in_a_loop_adds_up(looping, options, target, run_carina, tmp_path):
    model = written(looping, tmp_path / "model.tosa", first_values(looping))
    said = run_carina(["compile", model, "--target", target, "-o", tmp_path / "model.pte", *options]).stderr
    assert "1 loop is unrolled: 3 rounds in all" in said
    columns = [np.stack(x) for x in zip(*inputs_of(looping), strict=True)]
    np.savez(tmp_path / "steps.npz", **{f"x{n}": x for n, x in enumerate(columns)})
    run_carina(["run", tmp_path / "model.pte", "--sequence", tmp_path / "steps.npz", "-o", tmp_path / "out"])
    rounds = np.maximum(0, 3 - columns[1]) if len(columns) > 1 else np.full((STEPS, 1), 3)
    factor = (1 << rounds)[:, :, None].astype(np.int64)
    x = columns[0].astype(np.int64)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), (x * factor).astype(np.int8))
    total = np.cumsum(x * (factor - 1), 0).astype(np.int8)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_1.npy"), total)


def test_a_loop_that_depends_on_the_data_needs_a_number_of_rounds(run_carina, tmp_path):
    model = written(DATA_LOOP, tmp_path / "model.tosa", first_values(DATA_LOOP))
    said = run_carina(["compile", model, "--target", "ethos-u55-128", "-o", tmp_path / "m.pte"], expect=1).stderr
    assert "depends on the data" in said and "--loop-rounds" in said


def test_a_loop_with_too_many_rounds_is_rejected(run_carina, tmp_path):
    signature, body, variables = KNOWN_LOOP
    endless = (signature, body.replace("dense<3> : tensor<1xi32>", "dense<5000> : tensor<1xi32>"), variables)
    model = written(endless, tmp_path / "model.tosa", first_values(endless))
    said = run_carina(["compile", model, "--target", "ethos-u55-128", "-o", tmp_path / "m.pte"], expect=1).stderr
    assert "too many rounds" in said and "1024" in said
