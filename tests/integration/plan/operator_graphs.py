"""One generator per TOSA INT operator and type, with the families of NPUs that support it. Sizes, ranks, axes, attributes and operands are
random.

ROWS is the list. generate(row, seed, config) -> vela_graphs.Sample; draw(seed, config) picks a row. The same seed gives the same sample.
"""

from dataclasses import dataclass, replace
from typing import Callable

import numpy as np
import vela_graphs
from npu_graphs import cond_if, shape_of_rank, while_loop
from vela_graphs import BOTH, OP, PROPAGATE, ROUND, U85, Builder, D, Impossible, ResizeMode, Sample

NAME = {D.BOOL: "bool", D.INT4: "int4", D.INT8: "int8", D.INT16: "int16", D.INT32: "int32", D.INT48: "int48"}
SMALL = (D.INT8, D.INT16)
INTEGERS = (D.INT8, D.INT16, D.INT32)
STORED = (D.BOOL, *INTEGERS)
NAME_OF = {number: name for name, number in vars(type(OP)).items() if isinstance(number, int)}


@dataclass(frozen=True)
class Row:
    op: int
    dtypes: tuple  # of the operands, in the generator's form
    families: tuple
    make: Callable

    @property
    def name(self):
        return "_".join([self.make.__name__, *(NAME[dtype] for dtype in self.dtypes)])


ROWS = []
# What ethos-u55 and ethos-u65 reject with a diagnostic (docs/plan.md).
BEYOND_U55 = {
    *(f"{name}_{bits}" for name in ("gather", "scatter", "logical_right_shift", "bitwiseand", "bitwiseor", "bitwisexor") for bits in ("int8", "int16", "int32")),
    *("intdiv_int32", "matmul_int16"),
}  # fmt: skip
BEYOND_ALL = {"choice_of_branch_int32", "loop_int32"}  # a schedule has no branches


def row(op, *types):
    """Registers the function as a generator for each of these types. Operands with different types are given as a tuple."""

    def add(make):
        for dtype in types or ((),):
            dtypes = dtype if isinstance(dtype, tuple) else (dtype,)
            made = Row(op, dtypes, BOTH, make)
            ROWS.append(
                replace(
                    made, families=() if made.name in BEYOND_ALL else U85 if made.name in BEYOND_U55 else made.families
                )
            )
        return make

    return add


def any_shape(g, max_elements=600):
    return shape_of_rank(g, g.int(1, 5), max_elements)


def with_ones(g, shape):
    return [1 if g.chance(0.3) else s for s in shape]


def pair(g, dtype, low=None, high=None):
    """Two operands that broadcast to each other, on either side."""
    shape = any_shape(g)
    a, b = g.input(shape, dtype, low, high), g.operand(with_ones(g, shape), dtype, low, high)
    return (b, a) if g.chance(0.4) else (a, b)


def after(g, x):
    """Sometimes adds an operator that could be fused to `x`, or one that reads its layout."""
    if x.dtype == D.INT32 and g.chance(0.3):
        return g.rescale(x, g.choice(SMALL), 2.0**-16, False, input_zp=0)
    if x.dtype in SMALL and g.chance(0.2):
        return g.clamp(x)
    return x


# --- windows ---


def weights_of(g, shape, dtype):
    if dtype == D.INT4:
        return g.const(g.random.integers(-7, 8, shape), D.INT4)
    return g.const(g.weights(shape), D.INT8)


def narrow(g, y, dtype, taps, weights=D.INT8):
    gain = g.gain_of(taps, dtype) * (16 if weights == D.INT4 else 1)
    return g.rescale(y, dtype, gain)


def windowed(g, kernel_of, dtype):
    """A shape that fits the kernel, the kernel, stride and dilation."""
    shape = g.image(12, 33, g.choice([1, 1, 1, 2]))
    kernel = kernel_of(g)
    shape[1], shape[2] = max(shape[1], kernel[0]), max(shape[2], kernel[1])
    return shape, kernel


def small_kernel(g):
    return [g.int(1, 4), g.int(1, 4)]


def pick_strides(g):
    stride = [1, 1] if g.chance(0.5) else [g.int(1, 4), g.int(1, 4)]
    dilation = [1, 1] if g.chance(0.6) else [g.int(1, 4), g.int(1, 4)]
    return stride, dilation


CONV_TYPES = ((D.INT8, D.INT8), (D.INT8, D.INT4), (D.INT16, D.INT8))


@row(OP.CONV2D, *CONV_TYPES)
def conv2d(g, dtype, weights):
    shape, kernel = windowed(g, small_kernel, dtype)
    stride, dilation = pick_strides(g)
    top, bottom, oh = g.window(shape[1], kernel[0], stride[0], dilation[0])
    left, right, ow = g.window(shape[2], kernel[1], stride[1], dilation[1])
    channels, wide = g.int(1, 40), dtype == D.INT16
    acc = D.INT48 if wide else D.INT32
    zero = g.zero_point(weights, 0)
    inputs = [
        g.input(shape, dtype),
        weights_of(g, [channels, *kernel, shape[3]], weights),
        g.bias(channels, wide),
        g.zero_point(dtype),
        zero,
    ]
    y = g.op(
        OP.CONV2D,
        inputs,
        [shape[0], oh, ow, channels],
        acc,
        "Conv2dAttribute",
        [top, bottom, left, right],
        stride,
        dilation,
        False,
        acc,
    )
    if acc == D.INT32 and g.chance(0.1):
        return g.finish(y)
    return g.finish(after(g, narrow(g, y, dtype, kernel[0] * kernel[1] * shape[3], weights)))


@row(OP.CONV2D, D.INT8)
def large_kernel(g, dtype):
    """Kernels with more than 64 rows or 4,096 elements, and strides above 3."""
    kernel = g.choice([[g.int(65, 80), 1], [g.int(65, 70), 2], [66, 64], [1, g.int(65, 90)], [3, 3]])
    stride = [g.int(1, 8), g.int(1, 8)]
    shape = [1, kernel[0] + g.int(0, 6), kernel[1] + g.int(0, 6), g.choice([1, 3, 8])]
    y = g.conv2d(g.input(shape, dtype), g.int(1, 6), kernel, stride, [1, 1])
    return g.finish(narrow(g, y, dtype, kernel[0] * kernel[1] * shape[3]))


@row(OP.CONV2D, *SMALL)
def first_layer_on_audio(g, dtype):
    """Kernels that are long in one axis, with any stride, on few channels: an axis of one element beside it, or a few."""
    long, stride = g.int(65, 260), g.choice([1, 1, 2, g.int(3, 20)])
    length, beside = long + g.int(0, 30) * stride + g.int(0, 3), g.choice([1, 1, 4])
    turn = (lambda pair: list(pair)) if g.chance(0.3) else (lambda pair: [pair[1], pair[0]])  # tall ones more often
    size, kernel, strides = (
        turn([beside, length]),
        turn([1 if beside == 1 else g.int(1, 3), long]),
        turn([g.int(1, 4), stride]),
    )
    channels = g.choice([1, 1, 2, 3])
    top, bottom, oh = g.window(size[0], kernel[0], strides[0], 1)
    left, right, ow = g.window(size[1], kernel[1], strides[1], 1)
    wide = dtype == D.INT16
    acc, out = D.INT48 if wide else D.INT32, g.int(1, 20)
    inputs = [
        g.input([1, *size, channels], dtype),
        weights_of(g, [out, *kernel, channels], D.INT8),
        g.bias(out, wide),
        g.zero_point(dtype),
        g.zero_point(D.INT8, 0),
    ]
    y = g.op(
        OP.CONV2D,
        inputs,
        [1, oh, ow, out],
        acc,
        "Conv2dAttribute",
        [top, bottom, left, right],
        strides,
        [1, 1],
        False,
        acc,
    )
    return g.finish(after(g, narrow(g, y, dtype, kernel[0] * kernel[1] * channels)))


@row(OP.DEPTHWISE_CONV2D, *SMALL)
def tall_depthwise(g, dtype):
    kernel = [g.int(65, 140), g.int(1, 3)]
    y = g.depthwise(
        g.input([1, kernel[0] + g.int(0, 20), kernel[1] + g.int(0, 6), g.choice([1, 3, 8])], dtype),
        1,
        kernel,
        [g.int(1, 3), 1],
        [1, 1],
    )
    return g.finish(narrow(g, y, dtype, kernel[0] * kernel[1]))


@row(OP.CONV2D, *SMALL)
def atrous(g, dtype):
    """Dilations far above the NPU's limit, on images for which zeros between the taps would be expensive."""
    shape = [1, g.int(16, 34), g.int(16, 34), g.choice([3, 8, 16])]
    kernel = [g.int(1, 3), g.int(2, 3)]
    dilation = [g.int(3, 9), g.int(3, 9)]
    extent = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    shape[1], shape[2] = max(shape[1], extent[0]), max(shape[2], extent[1])
    x = g.input(shape, dtype)
    if g.chance(0.5):
        y = g.conv2d(x, g.int(1, 16), kernel, [g.int(1, 2) if kernel[0] == 1 else 1, 1], dilation)
    else:
        y = g.depthwise(x, 1, kernel, [1, 1], dilation)
    return g.finish(narrow(g, y, dtype, kernel[0] * kernel[1] * shape[3]))


@row(OP.MAX_POOL2D, *SMALL)
def long_max_pool(g, dtype):
    """Windows that are long in one axis, with padding beyond that of the NPU's registers."""
    long, stride = g.int(130, 256), g.int(1, 3)
    turn = (lambda pair: pair) if g.chance(0.5) else (lambda pair: pair[::-1])
    size, kernel, strides = turn([g.int(1, 3), long + g.int(0, 40)]), turn([1, long]), turn([1, stride])
    return g.finish(after(g, g.max_pool(g.input([1, *size, g.int(1, 8)], dtype), kernel, strides)))


@row(OP.MAX_POOL2D, *SMALL)
def sparse_max_pool(g, dtype):
    """Strides above the NPU's limit, at many positions."""
    kernel, stride = [g.int(1, 4), g.int(2, 5)], [g.int(1, 5), g.int(4, 6)]
    shape = [g.int(1, 2), g.int(4, 30), g.int(20, 50), g.choice([1, 3, 16])]
    return g.finish(after(g, g.max_pool(g.input(shape, dtype), kernel, stride)))


@row(OP.CONV3D, *CONV_TYPES)
def conv3d(g, dtype, weights):
    n, size, c = g.choice([1, 1, 2]), [g.int(1, 6), g.int(1, 8), g.int(1, 8)], g.choice([1, 2, 3, 8, 12])
    kernel, stride, dilation = [g.int(1, 3) for _ in size], [1, 1, 1], [1, 1, 1]
    if g.chance(0.3):
        stride = [g.int(1, 3) for _ in size]
    if g.chance(0.3):
        dilation = [g.int(1, 2) for _ in size]
    size = [max(s, k) for s, k in zip(size, kernel, strict=True)]
    windows = [g.window(s, k, t, d) for s, k, t, d in zip(size, kernel, stride, dilation, strict=True)]
    channels, wide = g.int(1, 16), dtype == D.INT16
    acc = D.INT48 if wide else D.INT32
    inputs = [
        g.input([n, *size, c], dtype),
        weights_of(g, [channels, *kernel, c], weights),
        g.bias(channels, wide),
        g.zero_point(dtype),
        g.zero_point(weights, 0),
    ]
    pad = [p for before, after, _ in windows for p in (before, after)]
    y = g.op(
        OP.CONV3D,
        inputs,
        [n, *(w[2] for w in windows), channels],
        acc,
        "Conv3dAttribute",
        pad,
        stride,
        dilation,
        False,
        acc,
    )
    return g.finish(narrow(g, y, dtype, int(np.prod(kernel)) * c, weights))


@row(OP.DEPTHWISE_CONV2D, *CONV_TYPES)
def depthwise(g, dtype, weights):
    shape, kernel = windowed(g, small_kernel, dtype)
    stride, dilation = pick_strides(g)
    top, bottom, oh = g.window(shape[1], kernel[0], stride[0], dilation[0])
    left, right, ow = g.window(shape[2], kernel[1], stride[1], dilation[1])
    multiplier, wide = 1 if g.chance(0.7) else g.int(2, 4), dtype == D.INT16
    acc, channels = D.INT48 if wide else D.INT32, shape[3] * multiplier
    inputs = [
        g.input(shape, dtype),
        weights_of(g, [*kernel, shape[3], multiplier], weights),
        g.bias(channels, wide),
        g.zero_point(dtype),
        g.zero_point(weights, 0),
    ]
    pad = [top, bottom, left, right]
    y = g.op(
        OP.DEPTHWISE_CONV2D,
        inputs,
        [shape[0], oh, ow, channels],
        acc,
        "DepthwiseConv2dAttribute",
        pad,
        stride,
        dilation,
        False,
        acc,
    )
    return g.finish(after(g, narrow(g, y, dtype, kernel[0] * kernel[1], weights)))


@row(OP.TRANSPOSE_CONV2D, *CONV_TYPES)
def transpose_conv(g, dtype, weights):
    n, h, w, c = g.image(8, 24, g.choice([1, 1, 2]))
    kernel, channels = [g.int(1, 5), g.int(1, 5)], g.int(1, 20)
    stride = [2, 2] if g.chance(0.5) else [g.int(1, 4), g.int(1, 4)]
    pad = [g.int(1 - kernel[0], 2), g.int(1 - kernel[0], 2), g.int(1 - kernel[1], 2), g.int(1 - kernel[1], 2)]
    out = [
        n,
        (h - 1) * stride[0] + pad[0] + pad[1] + kernel[0],
        (w - 1) * stride[1] + pad[2] + pad[3] + kernel[1],
        channels,
    ]
    wide = dtype == D.INT16
    acc = D.INT48 if wide else D.INT32
    inputs = [
        g.input([n, h, w, c], dtype),
        weights_of(g, [channels, *kernel, c], weights),
        g.bias(channels, wide),
        g.zero_point(dtype),
        g.zero_point(weights, 0),
    ]
    y = g.op(OP.TRANSPOSE_CONV2D, inputs, out, acc, "TransposeConv2dAttribute", pad, stride, False, acc)
    return g.finish(narrow(g, y, dtype, kernel[0] * kernel[1] * c, weights))


@row(OP.MATMUL, *SMALL)
def matmul(g, dtype):
    n, h, c, w = g.int(1, 4), g.int(1, 12), g.int(1, 40), g.int(1, 20)
    a, b = g.operand([n, h, c], dtype, const=0.1), g.operand([n, c, w], dtype, const=0.2)
    acc = D.INT48 if dtype == D.INT16 else D.INT32
    y = g.op(OP.MATMUL, [a, b, g.zero_point(dtype), g.zero_point(dtype)], [n, h, w], acc, "MatMulAttribute")
    if acc == D.INT32 and g.chance(0.2):
        return g.finish(y)
    return g.finish(g.rescale(y, dtype, g.gain_of(c, dtype) / (1 if dtype == D.INT8 else 256), False))


def pool_window(g, dtype, largest):
    shape, kernel = windowed(g, lambda g: [g.int(1, largest), g.int(1, largest)], dtype)
    return g.input(shape, dtype), kernel, [g.int(1, 4), g.int(1, 4)]


@row(OP.MAX_POOL2D, *SMALL)
def max_pool(g, dtype):
    return g.finish(after(g, g.max_pool(*pool_window(g, dtype, 9))))


@row(OP.AVG_POOL2D, *SMALL)
def avg_pool(g, dtype):
    x, kernel, stride = pool_window(g, dtype, 12)
    return g.finish(g.avg_pool(x, kernel, stride, padded=True))


@row(OP.ARGMAX, *SMALL)
def argmax(g, dtype):
    shape = shape_of_rank(g, g.int(2, 4), 900)
    axis = g.int(0, len(shape) - 1)
    if g.chance(0.2):
        shape[axis] = g.int(100, 300)
    x = g.input(shape, dtype, -6, 6) if g.chance(0.5) else g.input(shape, dtype)
    return g.finish(
        g.op(OP.ARGMAX, [x], [s for i, s in enumerate(shape) if i != axis], D.INT32, "ArgMaxAttribute", axis, PROPAGATE)
    )


# --- elementwise ---


@row(OP.CLAMP, *SMALL)
def clamp(g, dtype):
    return g.finish(g.clamp(g.input(any_shape(g), dtype)))


@row(OP.TABLE, *SMALL)
def table(g, dtype):
    return g.finish(after(g, g.table(g.input(any_shape(g), dtype))))


def arithmetic(op, name):
    def make(g, dtype):
        return g.finish(after(g, g.binary(op, *pair(g, dtype, -(2**30), 2**30), None, name)))

    make.__name__ = name.removesuffix("Attribute").lower()
    row(op, D.INT32)(make)


arithmetic(OP.ADD, "AddAttribute")
arithmetic(OP.SUB, "SubAttribute")


@row(OP.ADD, *SMALL)
def quantized_sum(g, dtype):
    """An addition or subtraction of narrow types, as a quantizer lowers it."""
    return g.finish(after(g, g.requantized_add(*pair(g, dtype), g.choice([OP.ADD, OP.SUB]))))


@row(OP.MUL, *INTEGERS)
def mul(g, dtype):
    limit = 2 ** g.int(4, 30) if dtype == D.INT32 else None
    shift = max(0, 2 * int(np.log2(limit)) - 30) + g.int(0, 2) if limit else 0
    y = g.mul(*pair(g, dtype, limit and -limit, limit), D.INT32, shift)
    return g.finish(after(g, y))


def extremes(op, name):
    def make(g, dtype):
        return g.finish(after(g, g.binary(op, *pair(g, dtype), None, name, PROPAGATE)))

    make.__name__ = name.removesuffix("Attribute").lower()
    row(op, D.INT32)(make)


extremes(OP.MAXIMUM, "MaximumAttribute")
extremes(OP.MINIMUM, "MinimumAttribute")


def shift_operands(g, dtype):
    shape = any_shape(g)
    bits = {D.INT8: 7, D.INT16: 15, D.INT32: 31}[dtype]
    return g.input(shape, dtype), g.operand(with_ones(g, shape), dtype, 0, bits, const=0.4)


@row(OP.ARITHMETIC_RIGHT_SHIFT, *INTEGERS)
def arithmetic_right_shift(g, dtype):
    return g.finish(
        g.binary(
            OP.ARITHMETIC_RIGHT_SHIFT, *shift_operands(g, dtype), None, "ArithmeticRightShiftAttribute", g.chance(0.5)
        )
    )


@row(OP.LOGICAL_LEFT_SHIFT, *INTEGERS)
def logical_left_shift(g, dtype):
    return g.finish(g.binary(OP.LOGICAL_LEFT_SHIFT, *shift_operands(g, dtype), None, "LogicalLeftShiftAttribute"))


@row(OP.LOGICAL_RIGHT_SHIFT, *INTEGERS)
def logical_right_shift(g, dtype):
    return g.finish(g.binary(OP.LOGICAL_RIGHT_SHIFT, *shift_operands(g, dtype), None, "LogicalRightShiftAttribute"))


def simple_binary(op, name, types, result=None):
    def make(g, dtype):
        limits = (-3, 3) if dtype == D.INT32 and g.chance(0.4) else (None, None)
        return g.finish(g.binary(op, *pair(g, dtype, *limits), result, name))

    make.__name__ = name.removesuffix("Attribute").lower()
    row(op, *types)(make)


simple_binary(OP.BITWISE_AND, "BitwiseAndAttribute", INTEGERS)
simple_binary(OP.BITWISE_OR, "BitwiseOrAttribute", INTEGERS)
simple_binary(OP.BITWISE_XOR, "BitwiseXorAttribute", INTEGERS)
simple_binary(OP.LOGICAL_AND, "LogicalAndAttribute", (D.BOOL,))
simple_binary(OP.LOGICAL_OR, "LogicalOrAttribute", (D.BOOL,))
simple_binary(OP.LOGICAL_XOR, "LogicalXorAttribute", (D.BOOL,))
simple_binary(OP.EQUAL, "EqualAttribute", (D.INT32,), D.BOOL)
simple_binary(OP.GREATER, "GreaterAttribute", (D.INT32,), D.BOOL)
simple_binary(OP.GREATER_EQUAL, "GreaterEqualAttribute", (D.INT32,), D.BOOL)


def simple_unary(op, name, types, low=None):
    def make(g, dtype):
        x = g.input(any_shape(g), dtype, low if dtype == D.INT32 else None)
        return g.finish(g.op(op, [x], x.shape, dtype, name))

    make.__name__ = name.removesuffix("Attribute").lower()
    row(op, *types)(make)


simple_unary(OP.BITWISE_NOT, "BitwiseNotAttribute", INTEGERS)
simple_unary(OP.LOGICAL_NOT, "LogicalNotAttribute", (D.BOOL,))
simple_unary(OP.ABS, "AbsAttribute", (D.INT32,), -(2**31) + 1)
simple_unary(OP.CLZ, "ClzAttribute", (D.INT32,))
simple_unary(OP.IDENTITY, "IdentityAttribute", STORED)


@row(OP.NEGATE, *INTEGERS)
def negate(g, dtype):
    x = g.input(any_shape(g), dtype, None if dtype != D.INT32 else -(2**31) + 1)
    return g.finish(g.op(OP.NEGATE, [x, g.zero_point(dtype), g.zero_point(dtype)], x.shape, dtype, "NegateAttribute"))


@row(OP.INTDIV, D.INT32)
def intdiv(g, dtype):
    shape = any_shape(g)
    divisor = g.values(with_ones(g, shape), D.INT32, *((-1000, 1000) if g.chance(0.7) else (None, None)))
    divisor[divisor == 0] = 7
    dividend = g.operand(shape, dtype, -(2**31) + 1)
    g.inputs.append(divisor)
    return g.finish(
        g.binary(OP.INTDIV, dividend, g.file.addPlaceholder(list(divisor.shape), dtype, None), None, "IntDivAttribute")
    )


@row(OP.SELECT, *STORED)
def select(g, dtype):
    shape = any_shape(g)
    condition = g.input(with_ones(g, shape) if g.chance(0.3) else shape, D.BOOL)
    a, b = g.input(shape, dtype), g.operand(with_ones(g, shape), dtype)
    if g.chance(0.3):
        a, b = b, a
    return g.finish(g.op(OP.SELECT, [condition, a, b], shape, dtype, "SelectAttribute"))


@row(OP.GREATER, *SMALL)
def quantized_choice(g, dtype):
    """torch.where(a > b, a, b), as a quantizer lowers it."""
    a, b = pair(g, dtype)
    x, y = g.rescale(a, D.INT32, 1.0, False), g.rescale(b, D.INT32, 1.0, False)
    op, name = g.choice(
        [(OP.GREATER, "GreaterAttribute"), (OP.GREATER_EQUAL, "GreaterEqualAttribute"), (OP.EQUAL, "EqualAttribute")]
    )
    condition = g.binary(op, x, y, D.BOOL, name)
    if g.chance(0.3):
        condition = g.op(OP.LOGICAL_NOT, [condition], condition.shape, D.BOOL, "LogicalNotAttribute")
    return g.finish(g.op(OP.SELECT, [condition, a, b], condition.shape, dtype, "SelectAttribute"))


# --- reductions ---


def reduced(g, op, name, dtype, *arguments, low=None, high=None):
    shape = any_shape(g, 1500)
    axis = g.int(0, len(shape) - 1)
    if g.chance(0.15):
        shape[axis] = g.int(100, 300)
    out = [1 if i == axis else s for i, s in enumerate(shape)]
    return g.finish(after(g, g.op(op, [g.input(shape, dtype, low, high)], out, dtype, name, axis, *arguments)))


@row(OP.REDUCE_SUM, D.INT32)
def reduce_sum(g, dtype):
    return reduced(g, OP.REDUCE_SUM, "ReduceSumAttribute", dtype, low=-(2**22), high=2**22)


@row(OP.REDUCE_SUM, *SMALL)
def quantized_reduce_sum(g, dtype):
    """The sum of narrow elements and its RESCALE, as a quantizer lowers it. The axis often has one element, as in a normalization of vectors
    by themselves."""
    shape = any_shape(g, 1500)
    axis = g.int(0, len(shape) - 1)
    if g.chance(0.4):
        shape[axis] = 1
    x = g.unit(g.input(shape, dtype)) if g.chance(0.8) else g.rescale(g.input(shape, dtype), D.INT32, 1.0, False)
    total = g.op(
        OP.REDUCE_SUM, [x], [1 if i == axis else s for i, s in enumerate(shape)], D.INT32, "ReduceSumAttribute", axis
    )
    target = g.choice(INTEGERS)
    gain = 2.0 ** g.random.uniform(-12, 6 if target == D.INT32 else 0)
    return g.finish(after(g, g.rescale(total, target, gain / shape[axis], False, input_zp=0, value_bits=26)))


@row(OP.REDUCE_MAX, *INTEGERS)
def reduce_max(g, dtype):
    return reduced(g, OP.REDUCE_MAX, "ReduceMaxAttribute", dtype, PROPAGATE)


@row(OP.REDUCE_MIN, *INTEGERS)
def reduce_min(g, dtype):
    return reduced(g, OP.REDUCE_MIN, "ReduceMinAttribute", dtype, PROPAGATE)


@row(OP.REDUCE_ALL, D.BOOL)
def reduce_all(g, dtype):
    return reduced(g, OP.REDUCE_ALL, "ReduceAllAttribute", dtype)


@row(OP.REDUCE_ANY, D.BOOL)
def reduce_any(g, dtype):
    return reduced(g, OP.REDUCE_ANY, "ReduceAnyAttribute", dtype)


# --- data layout ---


@row(OP.CONCAT, *STORED)
def concat(g, dtype):
    shape = any_shape(g, 300)
    axis, parts = g.int(0, len(shape) - 1), []
    for _ in range(g.int(1, 4)):
        size = g.int(1, 12)
        parts.append(g.operand([size if i == axis else s for i, s in enumerate(shape)], dtype))
    g.input([1], D.INT8) if not g.inputs else None
    total = sum(part.shape[axis] for part in parts)
    return g.finish(
        g.op(OP.CONCAT, parts, [total if i == axis else s for i, s in enumerate(shape)], dtype, "ConcatAttribute", axis)
    )


@row(OP.PAD, *STORED)
def pad(g, dtype):
    shape = any_shape(g, 300)
    padding = [g.int(0, 3) for _ in range(2 * len(shape))]
    out = [s + padding[2 * i] + padding[2 * i + 1] for i, s in enumerate(shape)]
    value = g.const(g.values([1], dtype), dtype)
    return g.finish(g.op(OP.PAD, [g.input(shape, dtype), g.shape(padding), value], out, dtype, "PadAttribute"))


@row(OP.RESHAPE, *STORED)
def reshape(g, dtype):
    shape = any_shape(g)
    total = int(np.prod(shape))
    out = g.choice([[total], [1, total, 1], shape[::-1], [*shape[:-1], 1, shape[-1]]])
    return g.finish(after(g, g.op(OP.RESHAPE, [g.input(shape, dtype), g.shape(out)], out, dtype, "ReshapeAttribute")))


@row(OP.REVERSE, *STORED)
def reverse(g, dtype):
    shape = any_shape(g)
    return g.finish(
        g.op(OP.REVERSE, [g.input(shape, dtype)], shape, dtype, "ReverseAttribute", g.int(0, len(shape) - 1))
    )


@row(OP.SLICE, *STORED)
def slice_of(g, dtype):
    shape = any_shape(g)
    start = [g.int(0, s - 1) for s in shape]
    size = [g.int(1, s - b) for s, b in zip(shape, start, strict=True)]
    return g.finish(
        g.op(OP.SLICE, [g.input(shape, dtype), g.shape(start), g.shape(size)], size, dtype, "SliceAttribute")
    )


@row(OP.TILE, *STORED)
def tile(g, dtype):
    shape = any_shape(g, 200)
    multiples = [g.int(1, 3) for _ in shape]
    out = [s * m for s, m in zip(shape, multiples, strict=True)]
    return g.finish(g.op(OP.TILE, [g.input(shape, dtype), g.shape(multiples)], out, dtype, "TileAttribute"))


@row(OP.TRANSPOSE, *STORED)
def transpose(g, dtype):
    shape = any_shape(g)
    perms = [int(p) for p in g.random.permutation(len(shape))]
    return g.finish(
        g.op(OP.TRANSPOSE, [g.input(shape, dtype)], [shape[p] for p in perms], dtype, "TransposeAttribute", perms)
    )


@row(OP.GATHER, *INTEGERS)
def gather(g, dtype):
    n, k, c, w = g.int(1, 3), g.int(1, 20), g.int(1, 30), g.int(1, 20)
    values, indices = g.input([n, k, c], dtype), g.operand([n, w], D.INT32, 0, k - 1)
    return g.finish(g.op(OP.GATHER, [values, indices], [n, w, c], dtype, "GatherAttribute"))


@row(OP.SCATTER, *INTEGERS)
def scatter(g, dtype):
    n, k, c = g.int(1, 3), g.int(2, 20), g.int(1, 30)
    w = g.int(1, k)
    values = g.input([n, k, c], dtype)
    g.inputs.append(np.stack([g.random.permutation(k)[:w] for _ in range(n)]).astype(np.int32))
    indices = g.file.addPlaceholder([n, w], D.INT32, None)
    return g.finish(
        g.op(OP.SCATTER, [values, indices, g.input([n, w, c], dtype)], [n, k, c], dtype, "ScatterAttribute")
    )


# --- images and types ---


def resized(g, dtype, mode):
    n, h, w, c = g.image(7, 20, g.choice([1, 1, 2]))
    if g.chance(0.5):  # as frameworks write a constant factor
        factor = [g.choice([2, 3, 4, 8]), g.choice([2, 3, 4, 8])]
        scale = [2 * factor[0], 2, 2 * factor[1], 2]
        offset = [1 - factor[0], 1 - factor[1]] if g.chance(0.5) else [0, 0]
    else:
        scale = [g.int(1, 9), g.int(1, 5), g.int(1, 9), g.int(1, 5)]
        offset = [g.int(1 - scale[2 * i], scale[2 * i] - 1) if g.chance(0.4) else 0 for i in (0, 1)]
    border = []
    for axis, size in enumerate((h, w)):
        num, den = scale[2 * axis], scale[2 * axis + 1]
        border.append(g.int(0, num - 1) if g.chance(0.4) else -offset[axis])
        while ((size - 1) * num - offset[axis] + border[axis]) % den:
            border[axis] += 1
        if border[axis] >= num or border[axis] < -16 * num or den >= 16 * num:
            raise Impossible
    out = [
        n,
        ((h - 1) * scale[0] - offset[0] + border[0]) // scale[1] + 1,
        ((w - 1) * scale[2] - offset[1] + border[1]) // scale[3] + 1,
        c,
    ]
    if min(out) < 1 or max(out[1:3]) > 60:
        raise Impossible
    result = dtype if mode == ResizeMode().NEAREST else {D.INT8: D.INT32, D.INT16: D.INT48}[dtype]
    inputs = [g.input([n, h, w, c], dtype), g.shape(scale), g.shape(offset), g.shape(border)]
    return g.op(OP.RESIZE, inputs, out, result, "ResizeAttribute", mode), float(scale[0] * scale[2])


@row(OP.RESIZE, *SMALL)
def resize_nearest(g, dtype):
    return g.finish(resized(g, dtype, ResizeMode().NEAREST)[0])


@row(OP.RESIZE, *SMALL)
def resize_bilinear(g, dtype):
    y, exact = resized(g, dtype, ResizeMode().BILINEAR)
    if dtype == D.INT8 and g.chance(0.2):
        return g.finish(y)
    return g.finish(g.rescale(y, dtype, 1 / exact, False, input_zp=0))


CASTS = [(a, b) for a in STORED for b in STORED if a != b]


@row(OP.CAST, *CASTS)
def cast(g, source, target):
    return g.finish(g.op(OP.CAST, [g.input(shape := any_shape(g), source)], shape, target, "CastAttribute"))


@row(OP.RESCALE, *((a, b) for a in INTEGERS for b in INTEGERS))
def rescale(g, source, target):
    bits = {D.INT8: 8, D.INT16: 16, D.INT32: 26}
    limits = (-(2**25), 2**25) if source == D.INT32 else (None, None)
    gain = 2.0 ** (min(bits[target], 24) - bits[source] + g.random.uniform(-6, 1))
    return g.finish(g.rescale(g.input(any_shape(g), source, *limits), target, gain))


@row(OP.RESCALE, *((a, b) for a in SMALL for b in SMALL))
def rescale_unsigned(g, source, target):
    unsigned_input = g.chance(0.5)
    zero = {D.INT8: [g.int(-128, 127)], D.INT16: [-32768] if g.chance(0.5) else [0]}
    inputs = [
        g.input(any_shape(g), source),
        g.const([g.int(2**30, 2**31 - 1)], D.INT32),
        g.const([30 + g.int(0, 9)], D.INT8),
        g.const(zero[source] if unsigned_input or source == D.INT8 else [0], source),
        g.const(zero[target] if not unsigned_input or target == D.INT8 else [0], target),
    ]
    flags = [True, ROUND.SINGLE_ROUND, False, unsigned_input, not unsigned_input]
    return g.finish(g.op(OP.RESCALE, inputs, inputs[0].shape, target, "RescaleAttribute", *flags))


@row(OP.RESCALE, (D.INT48,))
def rescale_wide(g, dtype):
    """A 48-bit result with several readers, so that it must be stored."""
    shape = g.image(8, 24)
    y = g.conv2d(g.input(shape, D.INT16), g.int(1, 20), [1, 1], [1, 1], [1, 1])
    gain = g.gain_of(shape[3], D.INT16)
    return g.finish(
        g.rescale(y, D.INT16, gain), g.rescale(y, D.INT32, gain * 4, False), g.rescale(y, D.INT8, gain / 256, False)
    )


# --- control flow ---


@row(OP.COND_IF, D.INT32)
def choice_of_branch(g, dtype):
    return cond_if(g)


@row(OP.WHILE_LOOP, D.INT32)
def loop(g, dtype):
    return while_loop(g)


def generate(row, seed, config, builder=Builder):
    """The sample of a row. A choice without a legal form is drawn again."""
    random = np.random.default_rng([seed, sum(map(ord, row.name))])
    while True:
        try:
            tosa, inputs = row.make(builder(random, config), *row.dtypes)
        except Impossible:
            continue
        return Sample(row.name, config, tosa, inputs)
