"""Small random TOSA 1.0 graphs that Vela can compile, each as (file bytes, input arrays), made from a seed.

generate(seed, config) -> Sample. The same seed gives the same sample. The weighted kinds are at the end; each kind names the families that
support it.
"""

from dataclasses import dataclass

import numpy as np
from serializer import tosa_serializer as ts
from tosa.DType import DType as DTypes
from tosa.NanPropagationMode import NanPropagationMode
from tosa.Op import Op as Ops
from tosa.ResizeMode import ResizeMode
from tosa.RoundingMode import RoundingMode

D = DTypes()
OP = Ops()
ROUND = RoundingMode()
PROPAGATE = NanPropagationMode().PROPAGATE
NUMPY = {D.BOOL: np.bool_, D.INT8: np.int8, D.INT16: np.int16, D.INT32: np.int32, D.INT48: np.int64}
LIMITS = {D.INT8: (-128, 127), D.INT16: (-32768, 32767), D.INT32: (-(2**31), 2**31 - 1), D.INT48: (-(2**47), 2**47 - 1)}


@dataclass
class Sample:
    kind: str
    config: str
    tosa: bytes
    inputs: list


class Impossible(Exception):
    """The random choice has no legal form. The caller draws again."""


class Builder:
    """A graph during construction. Methods add an operator and return its output tensor."""

    def __init__(self, random, config):
        self.random = random
        self.config = config
        self.family = config[:9]
        self.u85 = self.family == "ethos-u85"
        self.file = ts.TosaSerializer("", ts.ConstMode.EMBED, 1, 0, 0, False)
        self.inputs = []

    # --- values ---
    def int(self, low, high):
        return int(self.random.integers(low, high + 1))

    def choice(self, options):
        return options[self.int(0, len(options) - 1)]

    def chance(self, probability):
        return bool(self.random.random() < probability)

    def values(self, shape, dtype, low=None, high=None):
        if dtype == D.BOOL:
            return self.random.integers(0, 2, shape).astype(np.bool_)
        lowest, highest = LIMITS[dtype]
        low, high = lowest if low is None else low, highest if high is None else high
        data = self.random.integers(low, high + 1, shape)
        if self.chance(0.5):  # most errors in rounding and saturation are at extremes
            mask = self.random.random(shape) < 0.1
            data = np.where(mask, self.random.choice([low, high, max(low, min(0, high))], shape), data)
        return data.astype(NUMPY[dtype])

    def input(self, shape, dtype, low=None, high=None):
        data = self.values(shape, dtype, low, high)
        self.inputs.append(data)
        return self.file.addPlaceholder(list(shape), dtype, None)

    def const(self, data, dtype):
        data = np.asarray(data, NUMPY[dtype])
        return self.file.addConst(list(data.shape), dtype, data)

    def shape(self, data):
        return self.file.addConst([len(data)], D.SHAPE, np.asarray(data, np.int64))

    def operand(self, shape, dtype, low=None, high=None, const=0.2):
        """An input, sometimes a constant."""
        if self.chance(const):
            return self.const(self.values(shape, dtype, low, high), dtype)
        return self.input(shape, dtype, low, high)

    def op(self, op, inputs, shape, dtype, attribute=None, *args):
        if min(shape, default=1) < 1:
            raise Impossible
        attributes = None
        if attribute is not None:
            attributes = ts.TosaSerializerAttribute()
            getattr(attributes, attribute)(*args)
        output = self.file.addIntermediate([int(d) for d in shape], dtype)
        self.file.addOperator(op, [i.name for i in inputs], [output.name], attributes)
        return output

    def finish(self, *outputs):
        for output in outputs:
            self.file.addOutputTensor(output)
        return bytes(self.file.serialize()), self.inputs

    # --- operators ---
    def zero_point(self, dtype, value=None):
        if value is None:
            value = self.int(-128, 127) if dtype == D.INT8 and self.chance(0.7) else 0
        return self.const([value], dtype)

    def rounding(self):
        return self.choice([ROUND.SINGLE_ROUND, ROUND.DOUBLE_ROUND])

    def multiplier_bits(self, most):
        """The bits of a RESCALE's multiplier after the first. Quantizers use as many as there are."""
        return most

    def rescale(self, x, dtype, gain=None, per_channel=None, rounding=None, output_zp=None, input_zp=None, value_bits=None,
                single_if_power=False):  # fmt: skip
        """A RESCALE to `dtype` with factors near `gain`. With `single_if_power`, a power of two is rounded only once."""
        scale32 = x.dtype != D.INT48
        per_channel = self.chance(0.5) if per_channel is None else per_channel
        count = x.shape[-1] if per_channel else 1
        if gain is None:
            gain = 2.0 ** self.random.uniform(-12, 0.5)
        bits = self.multiplier_bits(30 if scale32 else 14)
        mantissa = self.random.uniform(1, 2, count)
        if self.chance(0.15):
            mantissa = np.ones(count)
        multiplier = np.minimum(np.round(mantissa * 2.0**bits), 2.0 ** (bits + 1) - 1).astype(np.int64)
        exponent = int(np.floor(np.log2(gain)))
        shift = np.full(count, bits - exponent)
        if per_channel:
            shift = shift + self.random.integers(0, 3, count)
        # The specification requires each value to be below 2^(shift - 1).
        value_bits = {D.INT8: 9, D.INT16: 17, D.INT32: 2, D.INT48: 2}[x.dtype] if value_bits is None else value_bits
        if shift.min() < max(2, value_bits) or shift.max() > 62:
            raise Impossible
        rounding = self.rounding() if rounding is None else rounding
        if not scale32 or (single_if_power and (multiplier & (multiplier - 1) == 0).all()):
            rounding = ROUND.SINGLE_ROUND
        inputs = [
            x,
            self.const(multiplier, D.INT32 if scale32 else D.INT16),
            self.const(shift, D.INT8),
            self.zero_point(x.dtype, input_zp if x.dtype == D.INT8 else 0),
            self.zero_point(dtype, output_zp if dtype == D.INT8 else 0),
        ]
        return self.op(
            OP.RESCALE, inputs, x.shape, dtype, "RescaleAttribute", scale32, rounding, per_channel, False, False
        )

    def unit(self, x, zero_point=None):
        """RESCALE to int32 that only removes the zero point."""
        inputs = [
            x,
            self.const([1 << 30], D.INT32),
            self.const([30], D.INT8),
            self.zero_point(x.dtype, zero_point),
            self.const([0], D.INT32),
        ]
        return self.op(
            OP.RESCALE, inputs, x.shape, D.INT32, "RescaleAttribute", True, self.rounding(), False, False, False
        )

    def clamp(self, x):
        low, high = LIMITS[x.dtype]
        a, b = sorted([self.int(low, high), self.int(low, high)])
        raw = [np.asarray(v, NUMPY[x.dtype]).tobytes() for v in (a, b)]
        attributes = ts.TosaSerializerAttribute()
        attributes.ClampAttribute(self.file.builder, *raw, PROPAGATE)
        output = self.file.addIntermediate(list(x.shape), x.dtype)
        self.file.addOperator(OP.CLAMP, [x.name], [output.name], attributes)
        return output

    def table(self, x):
        if x.dtype == D.INT8:
            return self.op(
                OP.TABLE, [x, self.const(self.values([256], D.INT8), D.INT8)], x.shape, D.INT8, "TableAttribute"
            )
        t = np.clip(np.cumsum(self.random.integers(-3000, 3000, 513)), -32768, 32767)
        return self.op(OP.TABLE, [x, self.const(t, D.INT16)], x.shape, D.INT32, "TableAttribute")

    def weights(self, shape, per_channel_axis=None):
        style = self.choice(["dense", "dense", "small", "sparse", "palette", "zero-rich", "extreme"])
        data = self.random.integers(-127, 128, shape)
        if style == "small":
            data = np.round(self.random.normal(0, 8, shape))
        elif style == "palette":
            data = self.random.choice(self.random.integers(-127, 128, self.int(1, 20)), shape)
        elif style == "zero-rich":
            data = np.where(self.random.random(shape) < 0.9, 0, data)
        elif style == "extreme":
            data = self.random.choice([-127, 127], shape)
        elif style == "sparse" and len(shape) == 4:
            keep = self.random.random(shape)
            flat = np.zeros(shape, int)
            for c in range(0, shape[3], 4):
                group = keep[..., c : c + 4]
                order = np.argsort(group, axis=-1)
                flat[..., c : c + 4] = np.where(np.argsort(order, axis=-1) >= 2, 0, data[..., c : c + 4])
            data = flat
        return np.clip(data, -127, 127).astype(np.int8)

    def bias(self, count, wide):
        if self.chance(0.2):
            return self.const(np.zeros(1 if self.chance(0.5) else count), D.INT48 if wide else D.INT32)
        limit = 2**28 if wide and self.chance(0.3) else 60000
        return self.const(self.random.integers(-limit, limit, count), D.INT48 if wide else D.INT32)

    def window(self, size, kernel, stride, dilation, pad_limit=None):
        """Paddings (before, after) and the output size. The last window must end exactly at the end of the input."""
        extent = (kernel - 1) * dilation + 1
        limit = extent - 1 if pad_limit is None else pad_limit
        before = self.int(0, limit)
        for after in self.random.permutation(limit + 1):
            space = size + before + int(after) - extent
            if space >= 0 and space % stride == 0:
                return before, int(after), space // stride + 1
        raise Impossible

    def conv2d(self, x, channels, kernel, stride, dilation, padded=True):
        wide = x.dtype == D.INT16
        n, h, w, c = x.shape
        top, bottom, oh = self.window(h, kernel[0], stride[0], dilation[0], None if padded else 0)
        left, right, ow = self.window(w, kernel[1], stride[1], dilation[1], None if padded else 0)
        weights = self.const(self.weights([channels, *kernel, c]), D.INT8)
        inputs = [x, weights, self.bias(channels, wide), self.zero_point(x.dtype), self.zero_point(D.INT8, 0)]
        acc = D.INT48 if wide else D.INT32
        pad = [top, bottom, left, right]
        return self.op(
            OP.CONV2D, inputs, [n, oh, ow, channels], acc, "Conv2dAttribute", pad, stride, dilation, False, acc
        )

    def depthwise(self, x, multiplier, kernel, stride, dilation):
        wide = x.dtype == D.INT16
        n, h, w, c = x.shape
        top, bottom, oh = self.window(h, kernel[0], stride[0], dilation[0])
        left, right, ow = self.window(w, kernel[1], stride[1], dilation[1])
        weights = self.const(self.weights([*kernel, c, multiplier]), D.INT8)
        inputs = [x, weights, self.bias(c * multiplier, wide), self.zero_point(x.dtype), self.zero_point(D.INT8, 0)]
        acc = D.INT48 if wide else D.INT32
        pad = [top, bottom, left, right]
        return self.op(
            OP.DEPTHWISE_CONV2D,
            inputs,
            [n, oh, ow, c * multiplier],
            acc,
            "DepthwiseConv2dAttribute",
            pad,
            stride,
            dilation,
            False,
            acc,
        )

    def max_pool(self, x, kernel, stride):
        n, h, w, c = x.shape
        top, bottom, oh = self.window(h, kernel[0], stride[0], 1)
        left, right, ow = self.window(w, kernel[1], stride[1], 1)
        return self.op(
            OP.MAX_POOL2D,
            [x],
            [n, oh, ow, c],
            x.dtype,
            "MaxPool2dAttribute",
            kernel,
            stride,
            [top, bottom, left, right],
            PROPAGATE,
        )

    def avg_pool(self, x, kernel, stride, padded=True):
        n, h, w, c = x.shape
        top, bottom, oh = self.window(h, kernel[0], stride[0], 1, None if padded else 0)
        left, right, ow = self.window(w, kernel[1], stride[1], 1, None if padded else 0)
        inputs = [x, self.zero_point(x.dtype), self.zero_point(x.dtype)]
        return self.op(
            OP.AVG_POOL2D,
            inputs,
            [n, oh, ow, c],
            x.dtype,
            "AvgPool2dAttribute",
            kernel,
            stride,
            [top, bottom, left, right],
            D.INT32,
        )

    def binary(self, op, a, b, dtype=None, attribute=None, *args):
        shape = [max(p, q) for p, q in zip(a.shape, b.shape, strict=True)]
        return self.op(op, [a, b], shape, a.dtype if dtype is None else dtype, attribute, *args)

    def mul(self, a, b, dtype, shift=0):
        shape = [max(p, q) for p, q in zip(a.shape, b.shape, strict=True)]
        return self.op(OP.MUL, [a, b, self.const([shift], D.INT8)], shape, dtype, "MulAttribute")

    def requantized_add(self, a, b, op=None):
        """An 8-bit addition, as a quantizer lowers it."""
        common = self.choice([2.0**20, 2.0**19, 1.0] if a.dtype == D.INT8 else [2.0**13, 2.0**12, 1.0])
        left, right = self.rescale(a, D.INT32, common, False), self.rescale(b, D.INT32, common, False)
        total = self.binary(
            OP.ADD if op is None else op,
            left,
            right,
            attribute="AddAttribute" if op in (None, OP.ADD) else "SubAttribute",
        )
        return self.rescale(total, a.dtype, 1 / common, False, input_zp=0)

    # --- shapes ---
    def image(self, max_hw=20, max_c=40, n=1):
        c = self.choice([1, 2, 3, 4, 7, 8, 15, 16, 17, 24, 32, 33, self.int(1, max_c)])
        return [n, self.int(1, max_hw), self.int(1, max_hw), min(c, max_c)]

    def activation_type(self):
        return self.choice([D.INT8, D.INT8, D.INT8, D.INT16])

    def gain_of(self, taps, dtype):
        return (
            2.0 ** self.random.uniform(-1, 1)
            / (np.sqrt(taps) * (64 if dtype == D.INT8 else 64))
            * self.random.uniform(0.3, 3)
        )


# --- kinds: each makes one graph ---


def conv(g):
    dtype = g.activation_type()
    shape = g.image()
    kernel = [g.int(1, 5), g.int(1, 5)] if g.chance(0.7) else [1, 1]
    if g.chance(0.08):
        kernel = [g.int(1, 12), g.int(1, 12)]
    shape[1], shape[2] = max(shape[1], kernel[0]), max(shape[2], kernel[1])
    stride, dilation = [g.int(1, 3), g.int(1, 3)], [g.int(1, 2), g.int(1, 2)]
    if g.chance(0.5):
        stride = [1, 1]
    x = g.input(shape, dtype)
    y = g.conv2d(x, g.int(1, 72), kernel, stride, dilation)
    if g.chance(0.1) and dtype == D.INT8:
        return g.finish(y)
    taps = kernel[0] * kernel[1] * shape[3]
    y = g.rescale(y, dtype, g.gain_of(taps, dtype))
    if g.chance(0.3):
        y = g.clamp(y)
    elif dtype == D.INT8 and g.chance(0.2):
        y = g.table(y)
    return g.finish(y)


def deep_conv(g):
    dtype = g.activation_type()
    shape = [1, g.int(1, 6), g.int(1, 6), g.int(30, 300)]
    kernel = g.choice([[1, 1], [1, 1], [3, 3], [1, 3]])
    shape[1], shape[2] = max(shape[1], kernel[0]), max(shape[2], kernel[1])
    y = g.conv2d(g.input(shape, dtype), g.int(1, 160), kernel, [1, 1], [1, 1])
    return g.finish(g.rescale(y, dtype, g.gain_of(kernel[0] * kernel[1] * shape[3], dtype)))


def fully_connected(g):
    dtype = g.activation_type()
    shape = [g.choice([1, 1, 1, g.int(2, 6)]), 1, 1, g.int(1, 300)]
    y = g.conv2d(g.input(shape, dtype), g.int(1, 100), [1, 1], [1, 1], [1, 1])
    return g.finish(g.rescale(y, dtype, g.gain_of(shape[3], dtype)))


def depthwise(g):
    dtype = g.activation_type()
    shape = g.image()
    kernel = [g.int(1, 5), g.int(1, 5)]
    if g.chance(0.1):
        kernel = [g.int(1, 10), g.int(1, 10)]
    shape[1], shape[2] = max(shape[1], kernel[0]), max(shape[2], kernel[1])
    stride, dilation = [g.int(1, 3), g.int(1, 3)], [g.int(1, 2), g.int(1, 2)]
    multiplier = 1 if g.chance(0.85) else g.int(2, 3)
    y = g.depthwise(g.input(shape, dtype), multiplier, kernel, stride, dilation)
    y = g.rescale(y, dtype, g.gain_of(kernel[0] * kernel[1], dtype))
    return g.finish(g.clamp(y) if g.chance(0.3) else y)


def transpose_conv(g):
    dtype = D.INT8
    n, h, w, c = g.image(8, 24)
    kernel, stride = [g.int(1, 5), g.int(1, 5)], [g.int(1, 2), g.int(1, 2)]
    # U55 and U65 have one upscaling factor for both axes. Vela 5.2 accepts a few other graphs of this kind but drops
    # the stride.
    if (
        not g.u85
        and stride[0] != stride[1]
        and not any(stride[i] == 1 and (h, w)[i] == 1 and kernel[i] == 1 for i in (0, 1))
    ):
        raise Impossible
    channels = g.int(1, 24)
    # Vela 5.2 misplaces the result of a positive leading pad on U55 and U65 (docs/npu-open-points.md).
    leading = 1 if g.u85 else 0
    pad = [
        g.int(1 - kernel[0], leading),
        g.int(1 - kernel[0], 1),
        g.int(1 - kernel[1], leading),
        g.int(1 - kernel[1], 1),
    ]
    out = [
        n,
        (h - 1) * stride[0] + pad[0] + pad[1] + kernel[0],
        (w - 1) * stride[1] + pad[2] + pad[3] + kernel[1],
        channels,
    ]
    if min(out) < 1:
        raise Impossible
    x = g.input([n, h, w, c], dtype)
    weights = g.const(g.weights([channels, *kernel, c]), D.INT8)
    inputs = [x, weights, g.bias(channels, False), g.zero_point(dtype), g.zero_point(D.INT8, 0)]
    y = g.op(OP.TRANSPOSE_CONV2D, inputs, out, D.INT32, "TransposeConv2dAttribute", pad, stride, False, D.INT32)
    return g.finish(g.rescale(y, dtype, g.gain_of(kernel[0] * kernel[1] * c, dtype)))


def conv3d(g):
    d, h, w, c = g.int(1, 4), g.int(1, 6), g.int(1, 6), g.int(1, 12)
    kernel = [g.int(1, min(d, 3)), g.int(1, min(h, 3)), g.int(1, min(w, 3))]
    channels = g.int(1, 16)
    x = g.input([1, d, h, w, c], D.INT8)
    weights = g.const(g.weights([channels, *kernel, c]), D.INT8)
    inputs = [x, weights, g.bias(channels, False), g.zero_point(D.INT8), g.zero_point(D.INT8, 0)]
    out = [1, *(s - k + 1 for s, k in zip((d, h, w), kernel, strict=True)), channels]
    y = g.op(OP.CONV3D, inputs, out, D.INT32, "Conv3dAttribute", [0] * 6, [1, 1, 1], [1, 1, 1], False, D.INT32)
    return g.finish(g.rescale(y, D.INT8, g.gain_of(int(np.prod(kernel)) * c, D.INT8)))


def pool(g):
    dtype = g.activation_type()
    shape = g.image()
    kernel = [g.int(1, 8), g.int(1, 8)] if g.chance(0.8) else [g.int(1, 20), g.int(1, 20)]
    shape[1], shape[2] = max(shape[1], kernel[0]), max(shape[2], kernel[1])
    stride = [g.int(1, 3), g.int(1, 3)]
    x = g.input(shape, dtype)
    if g.chance(0.4):
        y = g.max_pool(x, kernel, stride)
    else:
        y = g.avg_pool(x, kernel, stride, padded=max(kernel) <= 8)
    if g.chance(0.3):
        y = g.rescale(y, g.activation_type(), 2.0 ** g.random.uniform(-3, 1), False)
    return g.finish(y)


def rescale(g):
    source, target = g.choice([(D.INT8, D.INT8), (D.INT8, D.INT16), (D.INT16, D.INT8), (D.INT16, D.INT16), (D.INT8, D.INT32),
                               (D.INT16, D.INT32), (D.INT32, D.INT8), (D.INT32, D.INT16), (D.INT32, D.INT32)])  # fmt: skip
    bits = {D.INT8: 8, D.INT16: 16, D.INT32: 26}
    low, high = (-(2**25), 2**25) if source == D.INT32 else LIMITS[source]
    x = g.input(g.image(), source, low, high)
    gain = 2.0 ** (min(bits[target], 24) - bits[source] + g.random.uniform(-6, 1))
    return g.finish(g.rescale(x, target, gain))


def broadcast_pair(g, dtype, low=None, high=None):
    shape = g.image(12, 40)
    other = [1 if g.chance(0.35) else s for s in shape]
    if g.chance(0.4):
        other = shape
    a, b = g.input(shape, dtype, low, high), g.operand(other, dtype, low, high)
    return (b, a) if g.chance(0.4) else (a, b)


def add(g):
    dtype = g.activation_type()
    a, b = broadcast_pair(g, dtype)
    y = g.requantized_add(a, b, g.choice([OP.ADD, OP.SUB]))
    return g.finish(g.clamp(y) if g.chance(0.2) else y)


def arithmetic32(g):
    a, b = broadcast_pair(g, D.INT32, -(2**29), 2**29)
    op, attribute = g.choice(
        [(OP.ADD, "AddAttribute"), (OP.SUB, "SubAttribute"), (OP.MAXIMUM, None), (OP.MINIMUM, None)]
    )
    if attribute is None:
        y = g.binary(op, a, b, None, "MaximumAttribute" if op == OP.MAXIMUM else "MinimumAttribute", PROPAGATE)
    else:
        y = g.binary(op, a, b, None, attribute)
    if g.chance(0.3):
        y = g.op(OP.ABS, [y], y.shape, D.INT32, "AbsAttribute")
    elif g.chance(0.3):
        y = g.op(OP.CLZ, [y], y.shape, D.INT32, "ClzAttribute")
    return g.finish(y)


def mul(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    limit = 2 ** g.int(4, 15) if dtype == D.INT32 else None
    a, b = broadcast_pair(g, dtype, None if limit is None else -limit, limit)
    y = g.mul(a, b, D.INT32, g.int(0, 30) if dtype == D.INT32 else 0)
    if dtype != D.INT32 and g.chance(0.6):
        y = g.rescale(y, dtype, 2.0 ** g.random.uniform(-10 if dtype == D.INT8 else -18, -6), False, input_zp=0)
    return g.finish(y)


def shifts(g):
    dtype = D.INT32 if not g.u85 else g.choice([D.INT8, D.INT16, D.INT32])
    bits = {D.INT8: 7, D.INT16: 15, D.INT32: 31}[dtype]
    shape = g.image(12, 40)
    op = g.choice([OP.ARITHMETIC_RIGHT_SHIFT, OP.LOGICAL_LEFT_SHIFT] + ([OP.LOGICAL_RIGHT_SHIFT] if g.u85 else []))
    rounded = not g.u85 or g.chance(0.5)
    a, b = g.input(shape, dtype), g.operand(shape, dtype, 0, bits)
    if op == OP.ARITHMETIC_RIGHT_SHIFT:
        y = g.binary(op, a, b, None, "ArithmeticRightShiftAttribute", rounded)
    else:
        y = g.binary(
            op, a, b, None, "LogicalLeftShiftAttribute" if op == OP.LOGICAL_LEFT_SHIFT else "LogicalRightShiftAttribute"
        )
    return g.finish(y)


def table(g):
    x = g.input(g.image(), g.choice([D.INT8, D.INT16]))
    y = g.table(x)
    if x.dtype == D.INT16 and g.chance(0.5):
        y = g.rescale(y, D.INT16, 2.0**-7, False, input_zp=0)
    return g.finish(y)


def reduce(g):
    shape = g.image(12, 40)
    axis = g.int(1, 3)
    dtype = g.choice([D.INT8, D.INT16] + ([D.INT32] if g.u85 else []))
    op, attribute = g.choice(
        [
            (OP.REDUCE_SUM, "ReduceSumAttribute"),
            (OP.REDUCE_MAX, "ReduceMaxAttribute"),
            (OP.REDUCE_MIN, "ReduceMinAttribute"),
        ]
    )
    out = [1 if i == axis else s for i, s in enumerate(shape)]
    if op == OP.REDUCE_SUM:
        x = g.input(shape, D.INT32, -(2**22), 2**22)
        return g.finish(g.op(op, [x], out, D.INT32, attribute, axis))
    x = g.input(shape, dtype)
    return g.finish(g.op(op, [x], out, dtype, attribute, axis, PROPAGATE))


def mean(g):
    dtype = D.INT8
    shape = g.image(10, 40)
    x = g.rescale(g.input(shape, dtype), D.INT32, 1.0, False)
    for axis in (1, 2):
        shape = [1 if i == axis else s for i, s in enumerate(shape)]
        x = g.op(OP.REDUCE_SUM, [x], shape, D.INT32, "ReduceSumAttribute", axis)
    return g.finish(g.rescale(x, dtype, 2.0**-5, False, input_zp=0))


def argmax(g):
    shape = g.image(8, 60)
    dtype = g.choice([D.INT8, D.INT16]) if g.u85 else D.INT8
    axis = g.int(1, 3) if g.u85 else 3
    x = g.input(shape, dtype, -6, 6) if g.chance(0.5) else g.input(shape, dtype)
    out = [s for i, s in enumerate(shape) if i != axis]
    return g.finish(g.op(OP.ARGMAX, [x], out, D.INT32, "ArgMaxAttribute", axis, PROPAGATE))


def matmul(g):
    dtype = g.choice([D.INT8, D.INT16]) if g.u85 else D.INT8
    n, h, c, w = g.int(1, 3), g.int(1, 16), g.int(1, 40), g.int(1, 20)
    a, b = g.input([n, h, c], dtype), g.input([n, c, w], dtype)
    acc = D.INT48 if dtype == D.INT16 else D.INT32
    y = g.op(OP.MATMUL, [a, b, g.zero_point(dtype), g.zero_point(dtype)], [n, h, w], acc, "MatMulAttribute")
    return g.finish(g.rescale(y, dtype, g.gain_of(c, dtype) / (1 if dtype == D.INT8 else 256), False))


def cast(g):
    source, target = g.choice([(D.INT8, D.INT16), (D.INT8, D.INT32), (D.INT16, D.INT32)] +
                              ([(D.INT16, D.INT8), (D.INT32, D.INT8), (D.INT32, D.INT16), (D.BOOL, D.INT8), (D.INT8, D.BOOL), (D.INT32, D.BOOL)]
                               if g.u85 else []))  # fmt: skip
    return g.finish(g.op(OP.CAST, [g.input(g.image(), source)], g_shape(g), target, "CastAttribute"))


def g_shape(g):
    return list(g.inputs[-1].shape)


def negate(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    x = g.input(g.image(), dtype, None if dtype != D.INT32 else -(2**31) + 1)
    return g.finish(g.op(OP.NEGATE, [x, g.zero_point(dtype), g.zero_point(dtype)], x.shape, dtype, "NegateAttribute"))


def concat(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    shape, axis = g.image(10, 40), g.int(1, 3)
    parts, total = [], 0
    for _ in range(g.int(2, 4)):
        size = g.int(1, 20)
        parts.append(g.input([size if i == axis else s for i, s in enumerate(shape)], dtype))
        total += size
    return g.finish(
        g.op(OP.CONCAT, parts, [total if i == axis else s for i, s in enumerate(shape)], dtype, "ConcatAttribute", axis)
    )


def slices(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    shape = g.image()
    start = [0] + [g.int(0, s - 1) for s in shape[1:]]
    size = [1] + [g.int(1, s - b) for s, b in zip(shape[1:], start[1:], strict=True)]
    x = g.input(shape, dtype)
    y = g.op(OP.SLICE, [x, g.shape(start), g.shape(size)], size, dtype, "SliceAttribute")
    if dtype == D.INT8 and g.chance(0.5):
        y = g.rescale(g.conv2d(y, g.int(1, 20), [1, 1], [1, 1], [1, 1]), D.INT8, g.gain_of(size[3], D.INT8))
    return g.finish(y)


def pad(g):
    dtype = g.choice([D.INT8, D.INT16] + ([D.INT32] if g.u85 else []))
    shape = g.image(12, 30)
    padding = [0, 0] + [g.int(0, 4) for _ in range(6)]
    out = [s + padding[2 * i] + padding[2 * i + 1] for i, s in enumerate(shape)]
    x = g.input(shape, dtype)
    value = g.const([g.int(-128, 127)], dtype)
    return g.finish(g.op(OP.PAD, [x, g.shape(padding), value], out, dtype, "PadAttribute"))


def tile(g):
    dtype = g.choice([D.INT8, D.INT16] + ([D.INT32] if g.u85 else []))
    shape = g.image(6, 12)
    multiples = [1] + [g.int(1, 3) for _ in range(3)]
    x = g.input(shape, dtype)
    out = [s * m for s, m in zip(shape, multiples, strict=True)]
    return g.finish(g.op(OP.TILE, [x, g.shape(multiples)], out, dtype, "TileAttribute"))


def transpose(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    shape = g.image(10, 24)
    perms = [0] + [int(p) + 1 for p in g.random.permutation(3)]
    x = g.input(shape, dtype)
    return g.finish(g.op(OP.TRANSPOSE, [x], [shape[p] for p in perms], dtype, "TransposeAttribute", perms))


def reverse(g):
    dtype = g.choice([D.INT8, D.INT16] + ([D.INT32] if g.u85 else []))
    shape, axis = g.image(), g.int(1, 3 if g.u85 else 2)
    return g.finish(g.op(OP.REVERSE, [g.input(shape, dtype)], shape, dtype, "ReverseAttribute", axis))


def reshape(g):
    dtype = g.choice([D.INT8, D.INT16])
    n, h, w, c = g.image(8, 24)
    x = g.input([n, h, w, c], dtype)
    out = g.choice([[1, 1, h * w, c], [1, h, 1, w * c], [1, 1, 1, h * w * c], [1, h * w, c, 1]])
    y = g.op(OP.RESHAPE, [x, g.shape(out)], out, dtype, "ReshapeAttribute")
    return g.finish(g.rescale(y, dtype, 0.7, False))


def resize(g):
    mode = g.choice([ResizeMode().NEAREST, ResizeMode().BILINEAR])
    dtype = D.INT8 if not g.u85 else g.choice([D.INT8, D.INT16])
    n, h, w, c = g.image(8, 20)
    if g.u85:
        scale = [g.int(1, 8), g.int(1, 4), g.int(1, 8), g.int(1, 4)]
        offset = [
            g.int(-scale[0] + 1, scale[0] - 1) if g.chance(0.4) else 0,
            g.int(-scale[2] + 1, scale[2] - 1) if g.chance(0.4) else 0,
        ]
    else:
        factor = 2 ** g.int(1, 3)
        scale, offset = [2 * factor, 2, 2 * factor, 2], [0, 0]
        if g.chance(0.5):
            offset = [1 - factor, 1 - factor]
    border = []
    for axis, size in enumerate((h, w)):
        num, den = scale[2 * axis], scale[2 * axis + 1]
        span = (size - 1) * num - offset[axis]
        border.append(g.int(0, 3) if g.u85 else (factor - 1 if offset[0] else 0))
        while (span + border[axis]) % den:
            border[axis] += 1
        if border[axis] >= num or not -num <= offset[axis] < 16 * num:
            raise Impossible
    out = [
        n,
        ((h - 1) * scale[0] - offset[0] + border[0]) // scale[1] + 1,
        ((w - 1) * scale[2] - offset[1] + border[1]) // scale[3] + 1,
        c,
    ]
    if max(out[1:3]) > 60:
        raise Impossible
    wide = {D.INT8: D.INT32, D.INT16: D.INT48}[dtype]
    result = dtype if mode == ResizeMode().NEAREST else wide
    x = g.input([n, h, w, c], dtype)
    y = g.op(OP.RESIZE, [x, g.shape(scale), g.shape(offset), g.shape(border)], out, result, "ResizeAttribute", mode)
    if result == D.INT32:
        exact = float(scale[0] * scale[2])
        # Vela 5.2 fuses a power of two into RESIZE on U85 and loses the second rounding (docs/npu-open-points.md).
        y = g.rescale(y, D.INT8, 2.0 ** -np.ceil(np.log2(exact)), False, input_zp=0, single_if_power=g.u85)
    elif result == D.INT48:
        y = g.rescale(y, D.INT16, 2.0 ** -np.ceil(np.log2(float(scale[0] * scale[2]))), False)
    return g.finish(y)


def gather(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    n, k, c, w = g.int(1, 3), g.int(1, 20), g.int(1, 30), g.int(1, 20)
    values, indices = g.input([n, k, c], dtype), g.input([n, w], D.INT32, 0, k - 1)
    return g.finish(g.op(OP.GATHER, [values, indices], [n, w, c], dtype, "GatherAttribute"))


def scatter(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    n, k, c = g.int(1, 3), g.int(2, 20), g.int(1, 30)
    w = g.int(1, k)
    values = g.input([n, k, c], dtype)
    rows = np.stack([g.random.permutation(k)[:w] for _ in range(n)]).astype(np.int32)
    g.inputs.append(rows)
    indices = g.file.addPlaceholder([n, w], D.INT32, None)
    return g.finish(
        g.op(OP.SCATTER, [values, indices, g.input([n, w, c], dtype)], [n, k, c], dtype, "ScatterAttribute")
    )


def bitwise(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    a, b = broadcast_pair(g, dtype)
    op, name = g.choice(
        [
            (OP.BITWISE_AND, "BitwiseAndAttribute"),
            (OP.BITWISE_OR, "BitwiseOrAttribute"),
            (OP.BITWISE_XOR, "BitwiseXorAttribute"),
        ]
    )
    y = g.binary(op, a, b, None, name)
    return g.finish(g.op(OP.BITWISE_NOT, [y], y.shape, dtype, "BitwiseNotAttribute") if g.chance(0.3) else y)


def logical(g):
    a, b = broadcast_pair(g, D.BOOL)
    op, name = g.choice(
        [
            (OP.LOGICAL_AND, "LogicalAndAttribute"),
            (OP.LOGICAL_OR, "LogicalOrAttribute"),
            (OP.LOGICAL_XOR, "LogicalXorAttribute"),
        ]
    )
    y = g.binary(op, a, b, None, name)
    return g.finish(g.op(OP.LOGICAL_NOT, [y], y.shape, D.BOOL, "LogicalNotAttribute") if g.chance(0.3) else y)


def compare(g):
    small = g.chance(0.5)
    a, b = broadcast_pair(g, D.INT32, -3 if small else None, 3 if small else None)
    op, name = g.choice(
        [(OP.EQUAL, "EqualAttribute"), (OP.GREATER, "GreaterAttribute"), (OP.GREATER_EQUAL, "GreaterEqualAttribute")]
    )
    y = g.binary(op, a, b, D.BOOL, name)
    if g.chance(0.4):
        dtype = g.choice([D.INT8, D.INT16, D.INT32])
        p, q = g.input(y.shape, dtype), g.operand(y.shape, dtype)
        y = g.op(OP.SELECT, [y, p, q], y.shape, dtype, "SelectAttribute")
    return g.finish(y)


def select(g):
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    shape = g.image(12, 40)
    return g.finish(
        g.op(
            OP.SELECT,
            [g.input(shape, D.BOOL), g.input(shape, dtype), g.operand(shape, dtype)],
            shape,
            dtype,
            "SelectAttribute",
        )
    )


def intdiv(g):
    shape = g.image(8, 20)
    divisor = g.values(shape, D.INT32, -1000, 1000)
    divisor[divisor == 0] = 7
    g.inputs.append(divisor)
    b = g.file.addPlaceholder(list(shape), D.INT32, None)
    a = g.const(g.values(shape, D.INT32, -(2**31) + 1), D.INT32)
    if g.chance(0.5):
        a = g.input(shape, D.INT32, -(2**31) + 1)
    return g.finish(g.op(OP.INTDIV, [a, b], shape, D.INT32, "IntDivAttribute"))


def reduce_bool(g):
    shape, axis = g.image(10, 30), g.int(1, 3)
    op, name = g.choice([(OP.REDUCE_ALL, "ReduceAllAttribute"), (OP.REDUCE_ANY, "ReduceAnyAttribute")])
    out = [1 if i == axis else s for i, s in enumerate(shape)]
    return g.finish(g.op(op, [g.input(shape, D.BOOL)], out, D.BOOL, name, axis))


def network(g):
    """Several layers: cascades, rolling buffers, bricks, residuals."""
    dtype = D.INT8 if g.chance(0.85) else D.INT16
    shape = [1, g.int(8, 40), g.int(8, 40), g.choice([3, 8, 16, 20])]
    x = g.input(shape, dtype)
    for _ in range(g.int(2, 5)):
        layer = g.choice(["conv", "conv", "pointwise", "depthwise", "depthwise", "residual", "max", "avg", "table"])
        n, h, w, c = x.shape
        if layer == "conv":
            y = g.conv2d(x, g.choice([8, 16, 24, 33]), [3, 3], [1, 1] if min(h, w) < 8 else [g.int(1, 2)] * 2, [1, 1])
            x = g.rescale(y, dtype, g.gain_of(9 * c, dtype))
        elif layer == "pointwise":
            x = g.rescale(g.conv2d(x, g.choice([8, 16, 48]), [1, 1], [1, 1], [1, 1]), dtype, g.gain_of(c, dtype))
        elif layer == "depthwise":
            x = g.rescale(
                g.depthwise(x, 1, [3, 3], [1, 1] if min(h, w) < 8 else [g.int(1, 2)] * 2, [1, 1]),
                dtype,
                g.gain_of(9, dtype),
            )
        elif layer == "residual":
            y = g.rescale(g.conv2d(x, c, [1, 1], [1, 1], [1, 1]), dtype, g.gain_of(c, dtype))
            x = g.requantized_add(x, y)
        elif layer == "max" and min(h, w) >= 4:
            x = g.max_pool(x, [2, 2], [2, 2])
        elif layer == "avg" and min(h, w) >= 4:
            x = g.avg_pool(x, [3, 3], [1, 1])
        elif layer == "table" and dtype == D.INT8:
            x = g.table(x)
        if g.chance(0.3):
            x = g.clamp(x)
    return g.finish(x)


def chain(g):
    """Elementwise operators that U85 chains."""
    shape = g.image(10, 24)
    x = g.input(shape, D.INT32, -(2**20), 2**20)
    for _ in range(g.int(2, 6)):
        kind = g.int(0, 5)
        if kind in (0, 1, 2, 5):
            y = g.operand(shape if g.chance(0.6) else [1, 1, 1, shape[3]], D.INT32, -(2**20), 2**20)
        if kind == 0:
            x = g.binary(OP.ADD, x, y, None, "AddAttribute")
        elif kind == 1:
            x = g.binary(OP.SUB, x, y, None, "SubAttribute")
        elif kind == 2:
            x = g.binary(OP.MAXIMUM, x, y, None, "MaximumAttribute", PROPAGATE)
        elif kind == 3:
            x = g.mul(x, g.operand([1, 1, 1, shape[3]], D.INT32, -100, 100, 0.8), D.INT32, 7)
        elif kind == 4:
            x = g.op(OP.ABS, [x], shape, D.INT32, "AbsAttribute")
        else:
            x = g.binary(OP.MINIMUM, x, y, None, "MinimumAttribute", PROPAGATE)
    if g.chance(0.5):
        x = g.rescale(x, D.INT8, 2.0**-14, False, input_zp=0)
    return g.finish(x)


BOTH, U85 = ("ethos-u55", "ethos-u65", "ethos-u85"), ("ethos-u85",)
KINDS = [
    (8, conv, BOTH), (4, deep_conv, BOTH), (3, fully_connected, BOTH), (5, depthwise, BOTH), (3, transpose_conv, BOTH), (1, conv3d, U85),
    (5, pool, BOTH), (5, rescale, BOTH), (5, add, BOTH), (3, arithmetic32, BOTH), (4, mul, BOTH), (2, shifts, BOTH), (2, table, BOTH),
    (4, reduce, BOTH), (1, mean, BOTH), (2, argmax, BOTH), (3, matmul, BOTH), (2, cast, BOTH), (2, negate, BOTH), (2, concat, BOTH),
    (2, slices, BOTH), (2, pad, BOTH), (1, tile, BOTH), (3, transpose, BOTH), (2, reverse, BOTH), (2, reshape, BOTH), (3, resize, BOTH),
    (2, gather, U85), (2, scatter, U85), (2, bitwise, U85), (1, logical, U85), (2, compare, U85), (1, select, U85), (1, intdiv, U85),
    (1, reduce_bool, U85), (6, network, BOTH), (3, chain, BOTH),
]  # fmt: skip


def generate(seed, config):
    """The sample of this seed for one NPU."""
    random = np.random.default_rng([seed, sum(map(ord, config))])
    rows = [row for row in KINDS if config[:9] in row[2]]
    weights = np.array([row[0] for row in rows], float)
    while True:
        kind = rows[int(random.choice(len(rows), p=weights / weights.sum()))][1]
        try:
            tosa, inputs = kind(Builder(random, config))
        except Impossible:
            continue
        return Sample(kind.__name__, config, tosa, inputs)
