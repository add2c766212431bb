"""Builders of one random TOSA operator each: builder(gen, types) draws operands from the graph so far and adds the node.

`types` is a type row of facts/tosa_rows.h. If a builder cannot build the operator from the existing values, it raises Impossible. Builders
satisfy the specification's REQUIREs by the known range of each value. With gen.careless, a REQUIRE may sometimes be broken.
"""

import math

import numpy as np
import tosa_serializer as ts
from interpreter_cases import NAN, RANGE, fitted
from random_tosa_ir import BITS, D, LARGEST, full_range, is_float

BUILDERS = {}


class Impossible(Exception):
    """The random choice has no legal form. The caller draws again."""


def builder(*ops):
    def keep(function):
        for op in ops:
            BUILDERS[op] = function
        return function

    return keep


def hull(*values):
    """The range of an element that may come from any of the values."""
    return {"low": min(v.low for v in values), "high": max(v.high for v in values), "wild": any(v.wild for v in values)}


def rounded(dtype, low, high, wild):
    """The range of a float result that is in [low, high] before it is rounded to its type."""
    slack = 1 + 2.0 ** {D.FP32: -20, D.FP16: -9, D.BF16: -6, D.FP8E4M3: -2, D.FP8E5M2: -1}[dtype]
    low, high = min(low * slack, low / slack), max(high * slack, high / slack)
    top = LARGEST[dtype]
    return {"low": max(low, -top), "high": min(high, top), "wild": wild or low < -top or high > top}


def interval(function, a, b):
    corners = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


# --- elementwise ------------------------------------------------------------------------------------------------------


@builder("ADD", "SUB")
def add(g, t, op):
    dtype = t["in_out_t"]
    half = 2**30 - 1 if dtype == D.INT32 and not g.careless else None
    a, b = g.broadcast_pair(dtype, half and -half, half)
    low, high = interval((lambda x, y: x + y) if op == "ADD" else (lambda x, y: x - y), a, b)
    known = {"low": low, "high": high} if dtype == D.INT32 else rounded(dtype, low, high, a.wild or b.wild)
    g.node(op, op.capitalize(), (), [a, b], dtype, g.broadcast_shape(a, b), known)


@builder("MUL")
def mul(g, t, op):
    dtype, out = t["in_t"], t["out_t"]
    shift = 0
    if dtype == D.INT32:
        shift = g.int(0, 40) if g.chance(0.7) else 0
        bound = None if g.careless else int(2 ** ((30 + shift) / 2))
        bound = None if bound is None or bound > 2**31 - 1 else bound
        a, b = g.broadcast_pair(dtype, bound and -bound, bound)
    else:
        a, b = g.broadcast_pair(dtype)
    low, high = interval(lambda x, y: x * y, a, b)
    if is_float(out):
        known = rounded(out, low, high, a.wild or b.wild)
    else:
        known = {"low": max((int(low) >> shift) - 1, -(2**31)), "high": min((int(high) >> shift) + 1, 2**31 - 1)}
    g.node(op, "Mul", (), [a, b, g.constant(D.INT8, [shift])], out, g.broadcast_shape(a, b), known)


@builder("POW")
def power(g, t, op):
    dtype = t["in_out_t"]
    a, b = g.broadcast_pair(dtype, 0.0, 20.0)
    if not g.careless:  # zero needs an exponent above zero
        zero = g.chance(0.3)
        a, b = g.limit(a, 0.0 if zero else 2.0**-8, 20.0), g.limit(b, 0.125 if zero else -3.0, 3.0)
    g.node(op, "Pow", (), [a, b], dtype, g.broadcast_shape(a, b), full_range(dtype), {})


@builder("MAXIMUM", "MINIMUM")
def extreme(g, t, op):
    dtype = t["in_out_t"]
    a, b = g.broadcast_pair(dtype)
    if a.wild or b.wild:
        known = hull(a, b)
    else:
        choose = max if op == "MAXIMUM" else min
        known = {"low": choose(a.low, b.low), "high": choose(a.high, b.high)}
    g.node(op, op.capitalize(), (g.choice(NAN),), [a, b], dtype, g.broadcast_shape(a, b), known)


@builder("EQUAL", "GREATER", "GREATER_EQUAL")
def compare(g, t, op):
    dtype = t["in_t"]
    small = g.chance(0.5) and dtype == D.INT32
    a, b = g.broadcast_pair(dtype, -3 if small else None, 3 if small else None)
    kind = {"EQUAL": "Equal", "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual"}[op]
    g.node(op, kind, (), [a, b], D.BOOL, g.broadcast_shape(a, b), full_range(D.BOOL))


BITWISE = {
    "BITWISE_AND": "BitwiseAnd",
    "BITWISE_OR": "BitwiseOr",
    "BITWISE_XOR": "BitwiseXor",
    "LOGICAL_AND": "LogicalAnd",
    "LOGICAL_OR": "LogicalOr",
    "LOGICAL_XOR": "LogicalXor",
}


@builder(*BITWISE)
def bitwise(g, t, op):
    dtype = t["in_out_t"]
    a, b = g.broadcast_pair(dtype)
    g.node(
        op,
        BITWISE[op],
        (),
        [a, b],
        dtype,
        g.broadcast_shape(a, b),
        full_range(dtype) | ({"low": -(2**31)} if dtype == D.INT32 else {}),
    )


SHIFTS = {
    "LOGICAL_LEFT_SHIFT": "LogicalLeftShift",
    "LOGICAL_RIGHT_SHIFT": "LogicalRightShift",
    "ARITHMETIC_RIGHT_SHIFT": "ArithmeticRightShift",
}


@builder(*SHIFTS)
def shift(g, t, op):
    dtype = t["in_out_t"]
    a, b = g.broadcast_pair(dtype)
    top = BITS[dtype] - 1
    if not (g.careless and g.chance(0.3)):
        b = g.limit(b, 0, top)
    attributes = (g.chance(0.5),) if op == "ARITHMETIC_RIGHT_SHIFT" else ()
    g.node(op, SHIFTS[op], attributes, [a, b], dtype, g.broadcast_shape(a, b), full_range(dtype))


@builder("INTDIV")
def intdiv(g, t, op):
    a, b = g.broadcast_pair(D.INT32)
    b = g.limit(b, 1, 2**31 - 1)  # also when careless: the reference model's process crashes on -2^31 / -1
    g.node(op, "IntDiv", (), [a, b], D.INT32, g.broadcast_shape(a, b), {"low": -a.magnitude, "high": a.magnitude})


@builder("SELECT")
def select(g, t, op):
    dtype = t["in_out_t"]
    a, b = g.broadcast_pair(dtype)
    shape = g.broadcast_shape(a, b)
    condition = g.operand(D.BOOL, [1 if g.chance(0.25) else d for d in shape])
    g.node(op, "Select", (), [condition, a, b], dtype, shape, hull(a, b))


@builder("CLAMP")
def clamp(g, t, op):
    dtype = t["in_out_t"]
    x = g.take(dtype)
    bounds = sorted(
        float(v) for v in g.elements(dtype, [2], -20 if is_float(dtype) else None, 20 if is_float(dtype) else None)
    )
    g.clamp(x, bounds[0], bounds[1], g.choice(NAN))


UNARY = {
    "ERF": ("Erf", -8, 8),
    "SIGMOID": ("Sigmoid", -30, 30),
    "TANH": ("Tanh", -20, 20),
    "COS": ("Cos", -100, 100),
    "SIN": ("Sin", -100, 100),
    "EXP": ("Exp", -20, 8),
    "LOG": ("Log", 0, 1000),
    "RECIPROCAL": ("Reciprocal", -50, 50),
    "RSQRT": ("Rsqrt", 0, 1000),
}
UNIT = {"ERF", "SIGMOID", "TANH", "COS", "SIN"}


@builder(*UNARY)
def unary_float(g, t, op):
    dtype = t["in_out_t"]
    kind, low, high = UNARY[op]
    x = g.take(dtype)
    if g.chance(0.8):  # the other cases include overflows, zeros, infinities and NaN
        x = g.limit(x, low, high)
    known = {"low": -1.0, "high": 1.0, "wild": x.wild} if op in UNIT else full_range(dtype)
    g.node(op, kind, (), [x], dtype, x.shape, known, {})


@builder("CEIL", "FLOOR", "ABS")
def unary_exact(g, t, op):
    dtype = t["in_out_t"]
    low = -(2**31) + 1 if dtype == D.INT32 and not g.careless else None
    x = g.take(dtype, low=low)
    known = {
        "low": max(x.low - 1, -LARGEST.get(dtype, 2**31)),
        "high": min(x.high + 1, LARGEST.get(dtype, 2**31 - 1)),
        "wild": x.wild,
    }
    if op == "ABS":
        known = {"low": 0, "high": x.magnitude, "wild": x.wild}
    g.node(op, op.capitalize(), (), [x], dtype, x.shape, known)


@builder("BITWISE_NOT", "LOGICAL_NOT", "CLZ")
def unary_bits(g, t, op):
    dtype = t["in_out_t"]
    x = g.take(dtype)
    known = (
        {"low": 0, "high": 32}
        if op == "CLZ"
        else {"low": -x.high - 1, "high": -x.low - 1}
        if op == "BITWISE_NOT"
        else full_range(dtype)
    )
    g.node(
        op, {"BITWISE_NOT": "BitwiseNot", "LOGICAL_NOT": "LogicalNot", "CLZ": "Clz"}[op], (), [x], dtype, x.shape, known
    )


def zero_point(g, dtype):
    return g.constant(dtype, [g.int(-128, 127) if dtype == D.INT8 and g.chance(0.7) else 0])


@builder("NEGATE")
def negate(g, t, op):
    dtype = t["in_out_t"]
    low = -(2**31) + 1 if dtype == D.INT32 and not g.careless else None
    x = g.take(dtype, low=low)
    known = full_range(dtype) if dtype in (D.INT8, D.INT16) else {"low": -x.high, "high": -x.low, "wild": x.wild}
    g.node(op, "Negate", (), [x, zero_point(g, dtype), zero_point(g, dtype)], dtype, x.shape, known)


@builder("TABLE")
def table(g, t, op):
    x = g.take(t["in_t"])
    if t["in_t"] == D.INT8:
        entries = g.elements(D.INT8, [256])
    else:
        entries = g.elements(D.INT16, [513], *((None, None) if g.careless and g.chance(0.5) else (-16000, 16000)))
    g.node(op, "Table", (), [x, g.constant(t["table_t"], entries)], t["out_t"], x.shape, {"low": -128, "high": 127} if t["in_t"] == D.INT8 else
           {"low": -(2**22), "high": 2**22})  # fmt: skip


# --- types ------------------------------------------------------------------------------------------------------------


@builder("CAST")
def cast(g, t, op):
    source, target = t["in_t"], t["out_t"]
    x = g.take(source)
    # The specification does not define the integer for NaN: 0 in Carina; 0, or -2^31 for i32, in the reference model.
    if is_float(source) and not is_float(target) and x.wild:
        x = g.limit(x, -LARGEST[source] / 2, LARGEST[source] / 2)
    if is_float(target):
        known = rounded(target, x.low, x.high, x.wild)
    elif x.low >= RANGE.get(target, (0, 0))[0] and x.high <= RANGE.get(target, (0, 1))[1]:
        known = {"low": math.floor(x.low), "high": math.ceil(x.high)}
    else:
        known = full_range(target) | ({"low": -(2**31)} if target == D.INT32 else {})
    # The reference model rounds i32 to fp32 and then to the narrower type. The specification allows that, and also a
    # single rounding.
    twice = source == D.INT32 and target in (D.FP16, D.BF16)
    g.node(op, "Cast", (), [x], target, x.shape, known, {} if twice else None)


def rescale_zero_point(g, dtype, unsigned):
    if dtype == D.INT8:
        return g.int(-128, 127) if g.chance(0.7) else 0
    return -32768 if unsigned and dtype == D.INT16 and g.chance(0.5) else 0


@builder("RESCALE")
def rescale(g, t, op, value=None):
    source, target = t["in_t"], t["out_t"]
    x = value or g.take(source, rank=(0, 5))
    scale32 = source != D.INT48 and g.chance(0.7)
    per_channel = x.rank > 0 and g.chance(0.5)
    count = x.shape[-1] if per_channel else 1
    modes = (
        [ts.RoundingMode.SINGLE_ROUND] * 3
        + [ts.RoundingMode.DOUBLE_ROUND] * (2 if scale32 else 0)
        + [ts.RoundingMode.INEXACT_ROUND] * g.chance(0.3)
    )
    mode = g.choice(modes)
    narrow = source in (D.INT8, D.INT16) and target in (D.INT8, D.INT16)
    unsigned = g.choice(["", "", "", "in", "out"]) if narrow else ""
    zero = rescale_zero_point(g, source, unsigned == "in")
    largest = (2**17 if source == D.INT16 else 2**9) if unsigned == "in" else max(1, int(x.magnitude) + abs(zero))
    # Results reach about twice the target's range, but always fit 32 bits, which is a REQUIRE.
    wanted = min(RANGE[target][1] * 2.0 ** g.uniform(-3, 1), 2.0**30)
    bits = 31 if scale32 else 15
    shifts = []
    for _ in range(count):
        shift = (
            math.ceil(math.log2(largest) + bits - math.log2(wanted)) + g.int(-1, 2) if g.chance(0.95) else g.int(2, 62)
        )
        min_shift = math.ceil(math.log2(largest)) + bits - 30
        if scale32:
            min_shift = max(min_shift, int(largest).bit_length() + 2)
        # INEXACT_ROUND: the reference model computes in floats and does not check the REQUIREs.
        free = g.careless and mode != ts.RoundingMode.INEXACT_ROUND
        shifts.append(min(62, max(2, shift if free else max(shift, min_shift))))
    multipliers = [
        g.int(2 ** (bits - 1), 2**bits - 1) if g.chance(0.9) else g.int(0, 2**bits - 1) for _ in range(count)
    ]
    inputs = [
        x,
        g.constant(D.INT32 if scale32 else D.INT16, multipliers),
        g.constant(D.INT8, shifts),
        g.constant(source, [zero]),
        g.constant(target, [rescale_zero_point(g, target, unsigned == "out")]),
    ]
    attributes = (scale32, mode, per_channel, unsigned == "in", unsigned == "out")
    inexact = (
        {"rounding_mode": mode, "output_unsigned": unsigned == "out"} if mode == ts.RoundingMode.INEXACT_ROUND else None
    )
    return g.node(
        op,
        "Rescale",
        attributes,
        inputs,
        target,
        x.shape,
        full_range(target) | ({"low": -(2**31)} if target == D.INT32 else {}),
        inexact,
    )


@builder("IDENTITY")
def identity(g, t, op):
    dtype = t["in_out_t"]
    x = g.constant(D.INT4, g.elements(D.INT4, g.shape())) if dtype == D.INT4 else g.take(dtype)
    g.node(op, "Identity", (), [x], dtype, x.shape, hull(x))


# --- reductions -------------------------------------------------------------------------------------------------------

REDUCTIONS = {
    "REDUCE_ALL": "ReduceAll",
    "REDUCE_ANY": "ReduceAny",
    "REDUCE_MAX": "ReduceMax",
    "REDUCE_MIN": "ReduceMin",
}


def reduced(x, axis):
    return [1 if i == axis else d for i, d in enumerate(x.shape)]


@builder(*REDUCTIONS)
def reduce_exact(g, t, op):
    x = g.take(t["in_out_t"], rank=(1, 5))
    axis = g.int(0, x.rank - 1)
    attributes = (axis,) if t["in_out_t"] == D.BOOL else (axis, g.choice(NAN))
    known = hull(x)
    if x.wild:  # IGNORE starts from the ends of the type's range
        known = full_range(x.dtype)
    g.node(op, REDUCTIONS[op], attributes, [x], x.dtype, reduced(x, axis), known)


@builder("REDUCE_SUM")
def reduce_sum(g, t, op):
    dtype = t["in_out_t"]
    x = g.take(dtype, rank=(1, 5))
    axis = g.int(0, x.rank - 1)
    n = x.shape[axis]
    if dtype == D.INT32:
        if not g.careless:
            x = g.limit(x, -((2**31 - 1) // n), (2**31 - 1) // n)
        g.node(op, "ReduceSum", (axis,), [x], dtype, reduced(x, axis), {"low": n * x.low, "high": n * x.high})
        return
    x = g.limit(x, -50.0, 50.0)
    compliance = {"dot": True, "ks": n, "acc_type": t["acc_t"]}
    g.node(
        op, "ReduceSum", (axis,), [x], dtype, reduced(x, axis), rounded(dtype, n * x.low, n * x.high, False), compliance
    )


@builder("REDUCE_PRODUCT")
def reduce_product(g, t, op):
    dtype = t["in_out_t"]
    x = g.limit(g.take(dtype, rank=(1, 5)), -2.0, 2.0)
    axis = g.int(0, x.rank - 1)
    g.node(op, "ReduceProduct", (axis,), [x], dtype, reduced(x, axis), full_range(dtype), {"n": x.shape[axis]})


@builder("ARGMAX")
def argmax(g, t, op):
    x = g.take(t["in_t"], rank=(1, 5))
    axis = g.int(0, x.rank - 1)
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    g.node(op, "ArgMax", (axis, g.choice(NAN)), [x], D.INT32, shape, {"low": 0, "high": x.shape[axis] - 1})


# --- layout -----------------------------------------------------------------------------------------------------------


@builder("CONCAT")
def concat(g, t, op):
    dtype = t["in_out_t"]
    x = g.take(dtype, rank=(1, 5))
    axis = g.int(0, x.rank - 1)
    parts = [x]
    for _ in range(g.int(0, 3)):
        parts.insert(
            g.int(0, len(parts)), g.operand(dtype, [g.int(1, 4) if i == axis else d for i, d in enumerate(x.shape)])
        )
    total = sum(p.shape[axis] for p in parts)
    g.node(
        op, "Concat", (axis,), parts, dtype, [total if i == axis else d for i, d in enumerate(x.shape)], hull(*parts)
    )


@builder("PAD")
def pad(g, t, op):
    dtype = t["in_out_t"]
    x = g.take(dtype, rank=(1, 5))
    padding = [g.int(0, 3) if g.chance(0.5) else 0 for _ in range(2 * x.rank)]
    fill = g.constant(dtype, g.elements(dtype, [1]))
    shape = [d + padding[2 * i] + padding[2 * i + 1] for i, d in enumerate(x.shape)]
    g.node(op, "Pad", (), [x, g.dimensions(padding), fill], dtype, shape, hull(x, fill))


@builder("RESHAPE")
def reshape(g, t, op):
    x = g.take(t["in_out_t"])
    g.reshape(x, g.factors(x.size, g.int(0, 5)))


@builder("REVERSE")
def reverse(g, t, op):
    x = g.take(t["in_out_t"], rank=(1, 5))
    g.node(op, "Reverse", (g.int(0, x.rank - 1),), [x], x.dtype, x.shape, hull(x))


@builder("SLICE")
def slices(g, t, op):
    x = g.take(t["in_out_t"], rank=(1, 5))
    start = [g.int(0, d - 1) if g.chance(0.6) else 0 for d in x.shape]
    size = [g.int(1, d - s) for d, s in zip(x.shape, start)]
    g.node(op, "Slice", (), [x, g.dimensions(start), g.dimensions(size)], x.dtype, size, hull(x))


@builder("TILE")
def tile(g, t, op):
    x = g.take(t["in_out_t"], rank=(1, 5))
    multiples = [g.int(1, 3) for _ in x.shape]
    g.node(op, "Tile", (), [x, g.dimensions(multiples)], x.dtype, [d * m for d, m in zip(x.shape, multiples)], hull(x))


@builder("TRANSPOSE")
def transpose(g, t, op):
    x = g.take(t["in_out_t"], rank=(1, 6))
    perms = [int(p) for p in g.rng.permutation(x.rank)]
    g.node(op, "Transpose", (perms,), [x], x.dtype, [x.shape[p] for p in perms], hull(x))


@builder("GATHER")
def gather(g, t, op):
    values = g.take(t["in_out_t"], rank=(3, 3))
    n, k, c = values.shape
    indices = g.index(n, k) or g.fresh(D.INT32, [n, g.int(1, 7)], 0, k - 1)
    g.node(op, "Gather", (), [values, indices], values.dtype, [n, indices.shape[1], c], hull(values))


@builder("SCATTER")
def scatter(g, t, op):
    values = g.take(t["in_out_t"], rank=(3, 3))
    n, k, c = values.shape
    w = g.int(1, k)
    rows = np.stack([g.rng.permutation(k)[:w] for _ in range(n)])
    if g.careless and g.chance(0.5):
        rows = g.elements(D.INT32, [n, w], 0, k - 1)
    indices = g.input(D.INT32, rows) if g.chance(0.5) else g.constant(D.INT32, rows)
    source = g.operand(values.dtype, [n, w, c])
    g.node(op, "Scatter", (), [values, indices, source], values.dtype, [n, k, c], hull(values, source))


@builder("RESIZE")
def resize(g, t, op):
    source, target = t["in_t"], t["out_t"]
    x = g.take(source, rank=(4, 4))
    bilinear = source != target if not is_float(source) else g.chance(0.6)
    mode = ts.ResizeMode.BILINEAR if bilinear else ts.ResizeMode.NEAREST
    axes = [resize_axis(g, size) for size in x.shape[1:3]]
    (yn, yd, yo, yb, oh), (xn, xd, xo, xb, ow) = axes
    inputs = [x, g.dimensions([yn, yd, xn, xd]), g.dimensions([yo, xo]), g.dimensions([yb, xb])]
    if is_float(source) and bilinear:
        x = inputs[0] = g.limit(x, -100.0, 100.0)
    known = hull(x)
    if source in RANGE and bilinear:
        known = {"low": x.low * yn * xn, "high": x.high * yn * xn}
    compliance = {"max_abs_value": float(x.magnitude)} if is_float(source) and bilinear else None
    g.node(op, "Resize", (mode,), inputs, target, [x.shape[0], oh, ow, x.shape[3]], known, compliance)


def resize_axis(g, size):
    for _ in range(50):
        numerator, denominator = g.int(1, 16), g.int(1, 16)
        offset, border = g.int(-numerator, 2 * numerator), g.int(-2 * numerator, numerator - 1)
        span = (size - 1) * numerator - offset + border
        if (
            span < 0
            or span // denominator + 1 > 24
            or border - span % denominator < -16 * numerator
            or denominator >= 16 * numerator
        ):
            continue
        return numerator, denominator, offset, border - span % denominator, span // denominator + 1
    raise Impossible


# --- windows ----------------------------------------------------------------------------------------------------------


def window_input(g, dtype, sizes):
    """A value of shape [n, *sizes, c]: an existing one, a slice of one, or a new one."""
    x = g.take(dtype, rank=(len(sizes) + 2, len(sizes) + 2))
    if all(a >= b for a, b in zip(x.shape[1:-1], sizes)):
        size = [x.shape[0], *sizes, x.shape[-1]]
        if size != list(x.shape):
            x = g.node("SLICE", "Slice", (), [x, g.dimensions([0] * x.rank), g.dimensions(size)], dtype, size, hull(x))
    else:
        padding = [0, 0] + [p for a, b in zip(x.shape[1:-1], sizes) for p in (0, max(0, b - a))] + [0, 0]
        fill = g.constant(dtype, np.zeros(1))
        shape = [d + padding[2 * i + 1] for i, d in enumerate(x.shape)]
        x = g.node("PAD", "Pad", (), [x, g.dimensions(padding), fill], dtype, shape, hull(x, fill))
        if shape[1:-1] != list(sizes):
            size = [shape[0], *sizes, shape[-1]]
            x = g.node("SLICE", "Slice", (), [x, g.dimensions([0] * x.rank), g.dimensions(size)], dtype, size, hull(x))
    return g.limit(x, -20.0, 20.0) if is_float(dtype) else x


def sum_known(g, t, x, ks, weight_bound):
    """The range of sums of ks products of x's elements and weights, with a bias of at most `bias_bound`."""
    out = t["out_t"]
    if is_float(out):
        bound = ks * x.magnitude * weight_bound + 4
        return rounded(out, -bound, bound, False)
    bound = ks * (x.magnitude + 128 * (x.dtype == D.INT8)) * 256 + 2**20
    return {"low": -min(bound, RANGE[out][1]), "high": min(bound, RANGE[out][1])}


def weights(g, dtype, shape):
    bound = 2.0 if is_float(dtype) else None
    w = g.elements(dtype, shape, bound and -bound, bound)
    constant = dtype == D.INT4 or g.chance(0.7)
    return g.constant(dtype, w) if constant else g.input(dtype, w)


def bias_of(g, dtype, channels):
    bound = 4.0 if is_float(dtype) else 2**20
    bias = g.elements(dtype, [channels if g.chance(0.8) else 1], -bound, bound)
    return g.constant(dtype, bias) if g.chance(0.8) or dtype == D.INT48 else g.input(dtype, bias)


def sum_compliance(t, ks):
    return {"dot": True, "ks": ks, "acc_type": t["acc_t"], "ksb_increment": 1} if is_float(t["out_t"]) else None


@builder("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")
def conv(g, t, op):
    spatial = 3 if op == "CONV3D" else 2
    kernels = [g.int(1, 3 if spatial == 3 else 4) for _ in range(spatial)]
    strides = [g.int(1, 3) for _ in range(spatial)]
    dilations = [g.int(1, 2) for _ in range(spatial)]
    sizes, pads, outs = fitted(g.rng, 4 if spatial == 3 else 6, kernels, strides, dilations)
    x = window_input(g, t["in_t"], sizes)
    ic = x.shape[-1]
    if op == "DEPTHWISE_CONV2D":
        multiplier = g.choice([1, 1, 2, 3])
        oc, ks, shape = ic * multiplier, int(np.prod(kernels)), [*kernels, ic, multiplier]
    else:  # sometimes more than one vector
        oc = g.int(1, g.choice([9, 9, 9, 40, 140]))
        ks, shape = int(np.prod(kernels)) * ic, [oc, *kernels, ic]
    inputs = [
        x,
        weights(g, t["weight_t"], shape),
        bias_of(g, t["out_t"], oc),
        zero_point(g, t["in_t"]),
        zero_point(g, t["weight_t"]),
    ]
    kind = {"CONV2D": "Conv2d", "CONV3D": "Conv3d", "DEPTHWISE_CONV2D": "DepthwiseConv2d"}[op]
    g.node(op, kind, (pads, strides, dilations, g.chance(0.1), t["acc_t"]), inputs, t["out_t"], [x.shape[0], *outs, oc], sum_known(g, t, x, ks, 2),
           sum_compliance(t, ks))  # fmt: skip


@builder("TRANSPOSE_CONV2D")
def transpose_conv(g, t, op):
    kernels, strides = [g.int(1, 3), g.int(1, 3)], [g.int(1, 3), g.int(1, 3)]
    x = window_input(g, t["in_t"], [g.int(1, 5), g.int(1, 5)])
    n, ih, iw, ic = x.shape
    pads = [g.int(-k + 1, 3) for k in kernels for _ in range(2)]
    outs = [
        (i - 1) * s + pads[2 * a] + pads[2 * a + 1] + k for a, (i, s, k) in enumerate(zip((ih, iw), strides, kernels))
    ]
    if min(outs) < 1:
        raise Impossible
    oc = g.int(1, 9)
    inputs = [
        x,
        weights(g, t["weight_t"], [oc, *kernels, ic]),
        bias_of(g, t["out_t"], oc),
        zero_point(g, t["in_t"]),
        zero_point(g, t["weight_t"]),
    ]
    ks = int(np.prod(kernels)) * ic
    g.node(op, "TransposeConv2d", (pads, strides, g.chance(0.1), t["acc_t"]), inputs, t["out_t"], [n, *outs, oc], sum_known(g, t, x, ks, 2),
           sum_compliance(t, ks))  # fmt: skip


@builder("MATMUL")
def matmul(g, t, op):
    a = g.take(t["in_t"], rank=(3, 3))
    if is_float(a.dtype):
        a = g.limit(a, -20.0, 20.0)
    n, h, c = a.shape
    b = g.operand(a.dtype, [n, c, g.int(1, 40 if g.chance(0.2) else 7)], *((-4.0, 4.0) if is_float(a.dtype) else ()))
    t = t | {"acc_t": t["out_t"]}
    compliance = {"dot": True, "ks": c, "acc_type": t["out_t"]} if is_float(a.dtype) else None
    known = sum_known(g, t, a, c, b.magnitude)
    if a.dtype == D.INT16:
        known = {"low": -c * 2**30, "high": c * 2**30}
    g.node(
        op,
        "MatMul",
        (),
        [a, b, zero_point(g, a.dtype), zero_point(g, a.dtype)],
        t["out_t"],
        [n, h, b.shape[2]],
        known,
        compliance,
    )


@builder("MAX_POOL2D", "AVG_POOL2D")
def pool(g, t, op):
    dtype = t["in_out_t"]
    kernels, strides = [g.int(1, 5), g.int(1, 5)], [g.int(1, 3), g.int(1, 3)]
    sizes, pads, outs = fitted(g.rng, 6, kernels, strides, [1, 1])
    x = window_input(g, dtype, sizes)
    shape = [x.shape[0], *outs, x.shape[-1]]
    if op == "MAX_POOL2D":
        g.node(op, "MaxPool2d", (kernels, strides, pads, g.choice(NAN)), [x], dtype, shape, hull(x))
        return
    known = full_range(dtype) if not is_float(dtype) else rounded(dtype, min(0, x.low), max(0, x.high), False)
    ks = kernels[0] * kernels[1]
    compliance = {"dot": True, "ks": ks, "acc_type": t["acc_t"]} if is_float(dtype) else None
    g.node(
        op,
        "AvgPool2d",
        (kernels, strides, pads, t["acc_t"]),
        [x, zero_point(g, dtype), zero_point(g, dtype)],
        dtype,
        shape,
        known,
        compliance,
    )


@builder("FFT2D", "RFFT2D")
def fft(g, t, op):
    shape = [g.int(1, 2), 2 ** g.int(0, 4), 2 ** g.int(0, 4)]
    real = g.operand(D.FP32, shape, -10.0, 10.0)
    n, h, w = shape
    bound = 20.0 * h * w
    known = {"low": -bound, "high": bound}
    if op == "RFFT2D":
        g.nodes(
            op,
            "RFFT2d",
            (g.chance(0.5),),
            [real],
            [(D.FP32, [n, h, w // 2 + 1], known)] * 2,
            {"dot": True, "ks": h * w, "acc_type": D.FP32},
        )
        return
    imaginary = g.operand(D.FP32, shape, -10.0, 10.0)
    g.nodes(
        op,
        "FFT2d",
        (g.chance(0.5), g.chance(0.5)),
        [real, imaginary],
        [(D.FP32, shape, known)] * 2,
        {"dot": True, "ks": 2 * h * w, "acc_type": D.FP32},
    )
