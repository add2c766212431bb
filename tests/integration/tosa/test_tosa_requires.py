"""Every REQUIRE of TOSA 1.0 that elements can break. Carina's interpreter reports it with the node and the index, and the official
reference model calls the graph unpredictable. For each, the nearest valid case runs with equal results in both.
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
import tosa_serializer as ts
from interpreter_cases import Builder, D
from random_tosa_reference import SITE, run_ours

I32 = 2**31 - 1
UNPREDICTABLE = 1
PAIRS = {}
# Cases in which the reference model's process ends with a signal instead of a message.
DIES = {"INTDIV by zero": -8, "GATHER beyond the last row": -6, "SCATTER beyond the last row": -6}
# Cases that the reference model does not check: apply_scale_32 is a product of floats, and sums of products are
# Eigen's, which wrap.
UNCHECKED = ("RESCALE with INEXACT_ROUND", "CONV", "DEPTHWISE_CONV", "TRANSPOSE_CONV", "MATMUL", "AVG_POOL2D")


def pair(name):
    """A function with one argument makes two cases: True breaks the REQUIRE, False just satisfies it."""

    def keep(function):
        PAIRS[name] = function
        return function

    return keep


def built(op, kind, operands, outputs, attribute=()):
    """(dtype, elements) operands are inputs, (dtype, elements, True) constants, and lists of numbers shapes."""
    b = Builder(np.random.default_rng(0))
    for operand in operands:
        if isinstance(operand, list):
            b.shape(operand)
        else:
            b.operand(*operand)
    return b.finish("", op, outputs, (kind, *attribute))


def binary(op, kind, dtype, a, b, attribute=()):
    a, b = np.array(a), np.array(b)
    return built(op, kind, [(dtype, a), (dtype, b)], [(dtype, list(a.shape))], attribute)


@pair("ADD, above i32")
def add_above(broken):
    return binary(ts.Op.ADD, "Add", D.INT32, [1, I32, 3], [1, 1 if broken else 0, 3])


@pair("ADD, below i32")
def add_below(broken):
    return binary(ts.Op.ADD, "Add", D.INT32, [1, -I32, 3], [1, -2 if broken else -1, 3])


@pair("SUB, above i32")
def sub_above(broken):
    return binary(ts.Op.SUB, "Sub", D.INT32, [1, I32, 3], [1, -1 if broken else 0, 3])


@pair("SUB, below i32")
def sub_below(broken):
    return binary(ts.Op.SUB, "Sub", D.INT32, [1, -I32 - 1, 3], [1, 1 if broken else 0, 3])


@pair("INTDIV by zero")
def intdiv_zero(broken):
    return binary(ts.Op.INTDIV, "IntDiv", D.INT32, [1, 7, 3], [1, 0 if broken else 2, 3])


@pair("INTDIV of -2^31 by -1")
def intdiv_min(broken):
    return binary(ts.Op.INTDIV, "IntDiv", D.INT32, [1, -I32 - 1, 3], [1, -1 if broken else 1, 3])


@pair("MUL, shifted product above i32")
def mul_above(broken):
    a, b = np.array([3, I32]), np.array([3, 2**20 if broken else 2**10])
    return built(ts.Op.MUL, "Mul", [(D.INT32, a), (D.INT32, b), (D.INT8, np.array([12]), True)], [(D.INT32, [2])])


@pair("MUL, shifted product below i32")
def mul_below(broken):
    a, b = np.array([3, -I32 - 1]), np.array([3, 2**20 if broken else 2**12])
    return built(ts.Op.MUL, "Mul", [(D.INT32, a), (D.INT32, b), (D.INT8, np.array([12]), True)], [(D.INT32, [2])])


@pair("ABS of -2^31")
def abs_min(broken):
    return built(ts.Op.ABS, "Abs", [(D.INT32, np.array([1, -I32 - 1 if broken else -I32]))], [(D.INT32, [2])])


@pair("NEGATE of -2^31")
def negate_min(broken):
    zero = (D.INT32, np.zeros(1), True)
    return built(
        ts.Op.NEGATE, "Negate", [(D.INT32, np.array([1, -I32 - 1 if broken else -I32])), zero, zero], [(D.INT32, [2])]
    )


def pow_pairs():
    for name, base, exponent in (
        ("a negative number", -2.0, 2.0),
        ("zero to 0", 0.0, 0.0),
        ("zero to a negative power", -0.0, -1.0),
        ("NaN", np.nan, 0.0),
        ("a number to NaN", 1.0, np.nan),
        ("infinity", np.inf, 1.0),
        ("a number to infinity", 1.0, -np.inf),
    ):
        for dtype in (D.FP32, D.FP16, D.BF16):

            def power(broken, dtype=dtype, base=base, exponent=exponent):
                values = [np.array([1.0, base if broken else 0.0]), np.array([2.0, exponent if broken else 2.0])]
                return built(ts.Op.POW, "Pow", [(dtype, v) for v in values], [(dtype, [2])])

            PAIRS[f"POW of {name}, {str(dtype).split('.')[-1].lower()}"] = power


pow_pairs()


SHIFTS = [
    ("ARITHMETIC_RIGHT_SHIFT", "ArithmeticRightShift", (True,)),
    ("LOGICAL_LEFT_SHIFT", "LogicalLeftShift", ()),
    ("LOGICAL_RIGHT_SHIFT", "LogicalRightShift", ()),
]


def shift_pairs():
    for op, kind, attribute in SHIFTS:
        for dtype, bits in ((D.INT8, 8), (D.INT16, 16), (D.INT32, 32)):
            name = f"{op} of {bits} bits by"

            def too_far(broken, op=op, kind=kind, attribute=attribute, dtype=dtype, bits=bits):
                return binary(
                    getattr(ts.Op, op), kind, dtype, [1, 5, 3], [1, bits if broken else bits - 1, 0], attribute
                )

            def negative(broken, op=op, kind=kind, attribute=attribute, dtype=dtype):
                return binary(getattr(ts.Op, op), kind, dtype, [1, 5, 3], [1, -1 if broken else 0, 0], attribute)

            PAIRS[f"{name} {bits}"], PAIRS[f"{name} -1"] = too_far, negative


shift_pairs()


@pair("TABLE, steps beyond i16")
def table_steep(broken):
    entries = np.full(513, 32767)
    entries[:256] = -1 if broken else 0
    return built(ts.Op.TABLE, "Table", [(D.INT16, np.array([0, -1, 100])), (D.INT16, entries, True)], [(D.INT32, [3])])


def rescaled(values, multiplier, shift, scale32=True, mode=ts.RoundingMode.SINGLE_ROUND, constant=True):
    operands = [
        (D.INT32, np.array(values)),
        (D.INT32 if scale32 else D.INT16, np.array([multiplier]), constant),
        (D.INT8, np.array([shift]), constant),
        (D.INT32, np.zeros(1), True),
        (D.INT32, np.zeros(1), True),
    ]
    return built(ts.Op.RESCALE, "Rescale", operands, [(D.INT32, [len(values)])], (scale32, mode, False, False, False))


def rescale_pairs():
    for mode in (ts.RoundingMode.SINGLE_ROUND, ts.RoundingMode.DOUBLE_ROUND):
        name = f"RESCALE with {str(mode).split('.')[-1]},"
        PAIRS[f"{name} a value outside its shift"] = lambda broken, mode=mode: rescaled(
            [1, 4], 2**30, 3 if broken else 4, mode=mode
        )
        PAIRS[f"{name} a value below its shift"] = lambda broken, mode=mode: rescaled(
            [1, -5 if broken else -4], 2**30, 3, mode=mode
        )
    for constant, when in ((True, "of the file"), (False, "given when it runs")):
        for name, bad, good in (("shift 1", 1, 2), ("shift 63", 63, 62)):
            PAIRS[f"RESCALE by 16 bits, {name} {when}"] = lambda broken, bad=bad, good=good, constant=constant: (
                rescaled([0, 4], 2**14, bad if broken else good, scale32=False, constant=constant)
            )
            PAIRS[f"RESCALE by 32 bits, {name} {when}"] = lambda broken, bad=bad, good=good, constant=constant: (
                rescaled([0, 0], 2**30, bad if broken else good, constant=constant)
            )
        PAIRS[f"RESCALE by 32 bits, negative multiplier {when}"] = lambda broken, constant=constant: rescaled(
            [1, 4], -1 if broken else 0, 30, constant=constant
        )
    PAIRS["RESCALE by 16 bits, negative multiplier"] = lambda broken: rescaled(
        [1, 4], -1 if broken else 0, 16, scale32=False
    )
    PAIRS["RESCALE by 16 bits, result above i32"] = lambda broken: rescaled(
        [1, I32], 2**15 - 1, 14 if broken else 15, scale32=False
    )
    PAIRS["RESCALE by 16 bits, result below i32"] = lambda broken: rescaled(
        [1, -I32 - 1], 2**15 - 1, 14 if broken else 15, scale32=False
    )
    PAIRS["RESCALE with INEXACT_ROUND, a value outside its shift"] = lambda broken: rescaled(
        [1, 4], 2**30, 3 if broken else 4, mode=ts.RoundingMode.INEXACT_ROUND
    )


rescale_pairs()


@pair("REDUCE_SUM above i32")
def sum_above(broken):
    return built(
        ts.Op.REDUCE_SUM,
        "ReduceSum",
        [(D.INT32, np.array([[1, 2], [I32 - 2, I32 - 2], [1, 1 if broken else 0]]))],
        [(D.INT32, [1, 2])],
        (0,),
    )


@pair("REDUCE_SUM below i32, then back")
def sum_below(broken):
    return built(
        ts.Op.REDUCE_SUM, "ReduceSum", [(D.INT32, np.array([-I32 - 1, -1 if broken else 0, 1]))], [(D.INT32, [1])], (0,)
    )


@pair("GATHER beyond the last row")
def gather_above(broken):
    values, indices = np.arange(12).reshape(2, 3, 2), np.array([[0, 1], [2, 3 if broken else 2]])
    return built(ts.Op.GATHER, "Gather", [(D.INT8, values), (D.INT32, indices)], [(D.INT8, [2, 2, 2])])


@pair("GATHER before the first row")
def gather_below(broken):
    values, indices = np.arange(12).reshape(2, 3, 2), np.array([[0, 1], [-1 if broken else 0, 2]])
    return built(ts.Op.GATHER, "Gather", [(D.INT8, values), (D.INT32, indices)], [(D.INT8, [2, 2, 2])])


@pair("SCATTER beyond the last row")
def scatter_above(broken):
    operands = [
        (D.INT8, np.zeros([2, 3, 2])),
        (D.INT32, np.array([[0, 1], [2, 3 if broken else 1]])),
        (D.INT8, np.ones([2, 2, 2])),
    ]
    return built(ts.Op.SCATTER, "Scatter", operands, [(D.INT8, [2, 3, 2])])


@pair("SCATTER before the first row")
def scatter_below(broken):
    operands = [
        (D.INT8, np.zeros([2, 3, 2])),
        (D.INT32, np.array([[0, 1], [2, -1 if broken else 1]])),
        (D.INT8, np.ones([2, 2, 2])),
    ]
    return built(ts.Op.SCATTER, "Scatter", operands, [(D.INT8, [2, 3, 2])])


@pair("SCATTER to a row twice")
def scatter_twice(broken):
    operands = [
        (D.INT8, np.zeros([2, 3, 2])),
        (D.INT32, np.array([[0, 1], [2, 2 if broken else 1]])),
        (D.INT8, np.ones([2, 2, 2])),
    ]
    return built(ts.Op.SCATTER, "Scatter", operands, [(D.INT8, [2, 3, 2])])


def convolved(op, kind, x_type, w_type, out_type, acc, bias, spatial):
    x, w = (
        (x_type, np.full([1, *[2] * spatial, 1], 100)),
        (w_type, np.full([1, *[1] * spatial, 1], 7), w_type == D.INT4),
    )
    operands = [x, w, (out_type, np.array([bias]), True), (x_type, np.zeros(1), True), (w_type, np.zeros(1), True)]
    if kind == "TransposeConv2d":
        attribute = ([0] * 4, [1, 1], False, acc)
    else:
        attribute = ([0] * 2 * spatial, [1] * spatial, [1] * spatial, False, acc)
    return built(op, kind, operands, [(out_type, [1, *[2] * spatial, 1])], attribute)


def convolution_pairs():
    for op, kind, spatial in (
        (ts.Op.CONV2D, "Conv2d", 2),
        (ts.Op.CONV3D, "Conv3d", 3),
        (ts.Op.DEPTHWISE_CONV2D, "DepthwiseConv2d", 2),
        (ts.Op.TRANSPOSE_CONV2D, "TransposeConv2d", 2),
    ):
        for types, top in (
            ((D.INT8, D.INT8, D.INT32, D.INT32), 2**31),
            ((D.INT8, D.INT4, D.INT32, D.INT32), 2**31),
            ((D.INT16, D.INT8, D.INT48, D.INT48), 2**47),
        ):
            name = f"{str(op).split('.')[-1]} of {' by '.join(str(t).split('.')[-1].lower() for t in types[:2])}, accumulator above"
            PAIRS[name] = lambda broken, op=op, kind=kind, types=types, top=top, spatial=spatial: convolved(
                op, kind, *types, top - 700 - (0 if broken else 1), spatial
            )


convolution_pairs()


@pair("MATMUL of i8, accumulator above i32")
def matmul_i8(broken):
    c = 33026 if broken else 33025  # 255 * 255 * 33026 > 2^31 - 1
    zero = (D.INT8, np.array([127]), True)
    operands = [(D.INT8, np.full([1, 1, c], -128)), (D.INT8, np.full([1, c, 1], -128)), zero, zero]
    return built(ts.Op.MATMUL, "MatMul", operands, [(D.INT32, [1, 1, 1])])


@pair("MATMUL of i16, accumulator above i48")
def matmul_i16(broken):
    c = 2**17 - (0 if broken else 1)
    zero = (D.INT16, np.zeros(1), True)
    operands = [(D.INT16, np.full([1, 1, c], -32768)), (D.INT16, np.full([1, c, 1], -32768)), zero, zero]
    return built(ts.Op.MATMUL, "MatMul", operands, [(D.INT48, [1, 1, 1])])


@pair("AVG_POOL2D of i16, sum below i32")
def average_i16(broken):
    x = np.zeros([1, 256, 257, 1])
    x.reshape(-1)[: 2**16] = -32768  # -2^31, then -1 more
    x.reshape(-1)[-1] = -1 if broken else 0
    zero = (D.INT16, np.zeros(1), True)
    return built(
        ts.Op.AVG_POOL2D,
        "AvgPool2d",
        [(D.INT16, x), zero, zero],
        [(D.INT16, [1, 1, 1, 1])],
        ([256, 257], [1, 1], [0] * 4, D.INT32),
    )


def reference_code(case):
    """The exit code of the reference model's program (0 valid, 1 unpredictable, 2 error, negative: a signal) and the outputs."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "t.tosa").write_bytes(case.tosa)
        for i, array in enumerate(case.inputs):
            np.save(here / f"i{i}.npy", array)
        names = ",".join(f"input-{i}" for i in range(len(case.inputs)))
        files = ",".join(f"i{i}.npy" for i in range(len(case.inputs)))
        command = [
            SITE / "bin" / "tosa_reference_model",
            "--tosa_file=t.tosa",
            f"--ifm_name={names}",
            f"--ifm_file={files}",
            "--ofm_name=result-0",
            "--ofm_file=o.npy",
            "-l",
            "NONE",
        ]
        code = subprocess.run(command, cwd=here, capture_output=True, timeout=300).returncode
        return code, np.load(here / "o.npy") if code == 0 else None


@pytest.mark.parametrize("name", PAIRS)
def test_broken_require_is_reported_and_nearest_valid_case_runs(name, tmp_path):
    broken, kept = PAIRS[name](True), PAIRS[name](False)
    ours, fine = run_ours(tmp_path, [(case.tosa, case.inputs) for case in (broken, kept)])
    # The verifier already rejects constants that break a REQUIRE.
    assert (ours.stage == 4 and "element" in ours.message) or (ours.stage == 2 and "rule RESCALE" in ours.message), (
        ours.rejected or "we run it"
    )
    assert not fine.rejected, fine.rejected
    code, _ = reference_code(broken)
    assert code == (0 if name.startswith(UNCHECKED) else DIES.get(name, UNPREDICTABLE)), (
        f"the reference model ends with {code}"
    )
    code, wanted = reference_code(kept)
    assert code == 0
    (got,) = fine.values.values()
    assert np.frombuffer(got, wanted.dtype).tolist() == wanted.reshape(-1).tolist()


@pytest.mark.parametrize("shape", [[0], [2, 0], [0, 3, 1]], ids=str)
def test_tensors_without_elements_are_rejected(shape, tmp_path):
    """Only shapes may be empty: RESHAPE to rank 0 has an empty shape operand (random graphs include it)."""
    case = built(ts.Op.IDENTITY, "Identity", [(D.INT8, np.zeros(shape))], [(D.INT8, shape)])
    (ours,) = run_ours(tmp_path, [(case.tosa, case.inputs)])
    assert ours.stage == 2, ours.rejected
    assert reference_code(case)[0] != 0
