"""Random graphs of one TOSA operator, made with the official serializer, for every operator and type of TOSA 1.0.

make_case(op row, seed) -> Case. The same seed gives the same case. Most cases satisfy the specification's REQUIREs. Some break one, and
then both engines must reject the case.
"""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
import tosa_serializer as ts

D = ts.DType
NUMPY = {
    D.BOOL: np.bool_,
    D.INT4: np.int8,
    D.INT8: np.int8,
    D.INT16: np.int16,
    D.INT32: np.int32,
    D.INT48: np.int64,
    D.FP32: np.float32,
    D.FP16: np.float16,
    D.BF16: ml_dtypes.bfloat16,
    D.FP8E4M3: ml_dtypes.float8_e4m3fn,
    D.FP8E5M2: ml_dtypes.float8_e5m2,
    D.SHAPE: np.int64,
}
RANGE = {
    D.INT4: (-7, 7),
    D.INT8: (-128, 127),
    D.INT16: (-32768, 32767),
    D.INT32: (-(2**31), 2**31 - 1),
    D.INT48: (-(2**47), 2**47 - 1),
}
FLOATS = [D.FP32, D.FP16, D.BF16]
FP8 = [D.FP8E4M3, D.FP8E5M2]
NAN = [ts.NanPropagationMode.PROPAGATE, ts.NanPropagationMode.IGNORE]


def is_float(dtype):
    return dtype not in RANGE and dtype not in (D.BOOL, D.SHAPE)


@dataclass
class Case:
    name: str
    tosa: bytes = b""
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)  # the DType of each output
    exact: bool = True  # outputs must be bit-exact
    ulps: float = 0  # in ulps of the output's type, if not exact
    scale: object = None  # sum of the absolute products, for error bounds of sums: |difference| <= ulps * eps * scale


class Builder:
    """One operator: operands in order, then outputs."""

    def __init__(self, rng):
        self.rng = rng
        self.serializer = ts.TosaSerializer(
            "", ts.ConstMode.EMBED, targetMajor=1, targetMinor=0, targetPatch=0, targetDraft=False
        )
        self.operands, self.arrays = [], []

    def value(self, dtype, shape, low=None, high=None, special=0.0):
        rng = self.rng
        if dtype == D.BOOL:
            return rng.integers(0, 2, shape).astype(np.bool_)
        if dtype in RANGE:
            lo, hi = RANGE[dtype]
            return rng.integers(
                lo if low is None else low, (hi if high is None else high) + 1, shape, dtype=np.int64
            ).astype(NUMPY[dtype])
        values = rng.uniform(-4 if low is None else low, 4 if high is None else high, shape)
        if special and values.size:
            flat = values.reshape(-1)
            for _ in range(max(1, int(flat.size * special))):
                flat[rng.integers(flat.size)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
        return values.astype(NUMPY[dtype])

    def operand(self, dtype, array, constant=False):
        array = np.asarray(array, NUMPY[dtype])
        if constant:
            name = self.serializer.addConst(list(array.shape), dtype, array).name
        else:
            name = self.serializer.addPlaceholder(list(array.shape), dtype, None).name
            self.arrays.append(array)
        self.operands.append(name)
        return array

    def shape(self, values):
        self.operands.append(self.serializer.addConst([len(values)], D.SHAPE, np.array(values, np.int64)).name)

    def finish(self, name, op, outputs, attribute=None, **how):
        names = [self.serializer.addOutput(list(shape), dtype).name for dtype, shape in outputs]
        attr = ts.TosaSerializerAttribute()
        kind, *values = attribute
        getattr(attr, kind + "Attribute")(*values)
        self.serializer.addOperator(op, self.operands, names, attr)
        return Case(
            name=name,
            tosa=bytes(self.serializer.serialize()),
            inputs=self.arrays,
            outputs=[dtype for dtype, _ in outputs],
            **how,
        )


def random_shape(rng, rank=None, low=1, high=7):
    rank = int(rng.integers(0, 6)) if rank is None else rank
    return [int(x) for x in rng.integers(low, high + 1, rank)]


def broadcast_pair(rng, count=2):
    shape = random_shape(rng)
    shapes = [[1 if rng.random() < 0.25 else d for d in shape] for _ in range(count)]
    out = [max(ds) for ds in zip(*shapes)] if shape else []
    return shapes, out


# --- elementwise ------------------------------------------------------------------------------------------------------


def binary(op, kind, dtype, out=None, low=None, high=None, low2=None, high2=None, attribute=(), special=0.05, **how):
    def make(rng):
        b = Builder(rng)
        (s1, s2), shape = broadcast_pair(rng)
        b.operand(dtype, b.value(dtype, s1, low, high, special))
        b.operand(
            dtype,
            b.value(dtype, s2, low if low2 is None else low2, high if high2 is None else high2, special),
            constant=rng.random() < 0.3,
        )
        attr = attribute(rng) if callable(attribute) else attribute
        return b.finish("", op, [(out or dtype, shape)], (kind, *attr), **how)

    return make


def mul(dtype):
    def make(rng):
        b = Builder(rng)
        (s1, s2), shape = broadcast_pair(rng)
        shift = int(rng.integers(0, 40)) if dtype == D.INT32 and rng.random() < 0.7 else 0
        bound = {D.INT32: 2**15 if shift < 16 else 2**30}.get(dtype)
        b.operand(dtype, b.value(dtype, s1, bound and -bound, bound, 0.05))
        b.operand(dtype, b.value(dtype, s2, bound and -bound, bound, 0.05))
        b.operand(D.INT8, np.array([shift]), constant=True)
        return b.finish("", ts.Op.MUL, [(D.INT32 if dtype in RANGE else dtype, shape)], ("Mul",))

    return make


def unary(op, kind, dtype, low=None, high=None, attribute=(), special=0.05, **how):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng)
        b.operand(dtype, b.value(dtype, shape, low, high, special))
        attr = attribute(rng) if callable(attribute) else attribute
        return b.finish("", op, [(dtype, shape)], (kind, *attr), **how)

    return make


def clamp(dtype):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng)
        b.operand(dtype, b.value(dtype, shape, special=0.05))
        bounds = np.sort(b.value(dtype, [2]).astype(np.float64)).astype(NUMPY[dtype])
        raw = [list(np.array([x], NUMPY[dtype]).tobytes()) for x in bounds]
        return b.finish("", ts.Op.CLAMP, [(dtype, shape)], ("Clamp", raw[0], raw[1], NAN[rng.integers(2)]))

    return make


def negate(dtype):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng)
        b.operand(dtype, b.value(dtype, shape, special=0.05))
        for _ in range(2):
            b.operand(dtype, b.value(dtype, [1]) if dtype == D.INT8 else np.zeros(1), constant=True)
        return b.finish("", ts.Op.NEGATE, [(dtype, shape)], ("Negate",))

    return make


def select(dtype):
    def make(rng):
        b = Builder(rng)
        (s0, s1, s2), shape = broadcast_pair(rng, 3)
        b.operand(D.BOOL, b.value(D.BOOL, s0))
        b.operand(dtype, b.value(dtype, s1))
        b.operand(dtype, b.value(dtype, s2))
        return b.finish("", ts.Op.SELECT, [(dtype, shape)], ("Select",))

    return make


def table(dtype):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng)
        b.operand(dtype, b.value(dtype, shape))
        if dtype == D.INT8:
            b.operand(dtype, b.value(dtype, [256]), constant=True)
        else:
            steep = 32768 if rng.random() < 0.1 else 16000
            b.operand(dtype, b.value(dtype, [513], -steep, steep - 1), constant=True)
        return b.finish("", ts.Op.TABLE, [(D.INT8 if dtype == D.INT8 else D.INT32, shape)], ("Table",))

    return make


def cast(source, target):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng)
        wide = {D.INT8: 200, D.INT16: 50000, D.INT32: 3e9, D.FP8E4M3: 600, D.FP8E5M2: 80000}.get(target, 1e5)
        bound = (
            min(wide, {D.FP16: 60000, D.FP8E4M3: 440, D.FP8E5M2: 50000}.get(source, 1e30)) if is_float(source) else None
        )
        b.operand(source, b.value(source, shape, bound and -bound, bound, special=0.0 if target in RANGE else 0.05))
        return b.finish("", ts.Op.CAST, [(target, shape)], ("Cast",))

    return make


def rescale(source, target):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng, rank=int(rng.integers(1, 5)))
        scale32 = source != D.INT48 and bool(rng.random() < 0.7)
        per_channel = bool(rng.random() < 0.5)
        count = shape[-1] if per_channel else 1
        double = scale32 and rng.random() < 0.4
        narrow = source in (D.INT8, D.INT16) and target in (D.INT8, D.INT16)
        input_unsigned = bool(narrow and rng.random() < 0.3)
        output_unsigned = bool(narrow and not input_unsigned and rng.random() < 0.3)
        low = {D.INT8: 10, D.INT16: 18, D.INT32: 32, D.INT48: 17}[source] if rng.random() < 0.9 else 2
        top = {D.INT8: 38, D.INT16: 46, D.INT32: 62, D.INT48: 62}[source]
        if scale32:
            multiplier = rng.integers(2**30, 2**31, count)
        else:
            multiplier = rng.integers(2**14, 2**15, count)
            low = max(low - 16, 2) if source != D.INT48 else 32
        shift = rng.integers(low, top + 1, count)
        b.operand(source, b.value(source, shape))
        b.operand(D.INT32 if scale32 else D.INT16, multiplier, constant=True)
        b.operand(D.INT8, shift, constant=True)

        def zero_point(dtype, unsigned):
            if dtype == D.INT8:
                return b.value(dtype, [1])
            return np.array([-32768 if unsigned and dtype == D.INT16 and rng.random() < 0.5 else 0])

        b.operand(source, zero_point(source, input_unsigned), constant=True)
        b.operand(target, zero_point(target, output_unsigned), constant=True)
        mode = ts.RoundingMode.DOUBLE_ROUND if double else ts.RoundingMode.SINGLE_ROUND
        return b.finish(
            "",
            ts.Op.RESCALE,
            [(target, shape)],
            ("Rescale", scale32, mode, per_channel, input_unsigned, output_unsigned),
        )

    return make


# --- reductions, layout -----------------------------------------------------------------------------------------------


def reduce(op, kind, dtype, nan=False, **how):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng, rank=int(rng.integers(1, 5)), high=9)
        axis = int(rng.integers(len(shape)))
        bound = 2**27 if dtype == D.INT32 and kind == "ReduceSum" else 2 if kind == "ReduceProduct" else None
        x = b.operand(dtype, b.value(dtype, shape, bound and -bound, bound, special=0.1 if nan else 0))
        out = [1 if i == axis else d for i, d in enumerate(shape)]
        attr = (kind, axis, NAN[rng.integers(2)]) if nan else (kind, axis)
        scale = None
        if is_float(dtype) and kind == "ReduceSum":
            scale = np.abs(x.astype(np.float64)).sum(axis=axis, keepdims=True)
        return b.finish("", op, [(dtype, out)], attr, scale=scale, **how)

    return make


def argmax(dtype):
    def make(rng):
        b = Builder(rng)
        shape = random_shape(rng, rank=int(rng.integers(1, 5)), high=9)
        axis = int(rng.integers(len(shape)))
        bound = 3 if dtype in RANGE else None
        b.operand(dtype, b.value(dtype, shape, bound and -bound, bound, special=0 if dtype in FP8 else 0.05))
        return b.finish(
            "", ts.Op.ARGMAX, [(D.INT32, shape[:axis] + shape[axis + 1 :])], ("ArgMax", axis, NAN[rng.integers(2)])
        )

    return make


def layout(op, dtype):
    def make(rng):
        b = Builder(rng)
        rank = int(rng.integers(1, 6))
        shape = random_shape(rng, rank=rank)
        x = b.value(dtype, shape)
        if op == ts.Op.CONCAT:
            axis = int(rng.integers(rank))
            out = list(shape)
            out[axis] = 0
            for _ in range(int(rng.integers(1, 4))):
                part = list(shape)
                part[axis] = int(rng.integers(1, 5))
                out[axis] += part[axis]
                b.operand(dtype, b.value(dtype, part))
            return b.finish("", op, [(dtype, out)], ("Concat", axis))
        b.operand(dtype, x)
        if op == ts.Op.TRANSPOSE:
            perms = [int(p) for p in rng.permutation(rank)]
            return b.finish("", op, [(dtype, [shape[p] for p in perms])], ("Transpose", perms))
        if op == ts.Op.REVERSE:
            return b.finish("", op, [(dtype, shape)], ("Reverse", int(rng.integers(rank))))
        if op == ts.Op.PAD:
            pads = [int(p) for p in rng.integers(0, 4, 2 * rank)]
            b.shape(pads)
            b.operand(dtype, b.value(dtype, [1]), constant=True)
            return b.finish(
                "", op, [(dtype, [d + pads[2 * i] + pads[2 * i + 1] for i, d in enumerate(shape)])], ("Pad",)
            )
        if op == ts.Op.SLICE:
            start = [int(rng.integers(0, d)) for d in shape]
            size = [int(rng.integers(1, d - s + 1)) for d, s in zip(shape, start)]
            b.shape(start)
            b.shape(size)
            return b.finish("", op, [(dtype, size)], ("Slice",))
        if op == ts.Op.TILE:
            multiples = [int(m) for m in rng.integers(1, 4, rank)]
            b.shape(multiples)
            return b.finish("", op, [(dtype, [d * m for d, m in zip(shape, multiples)])], ("Tile",))
        if op == ts.Op.RESHAPE:
            flat = [int(np.prod(shape))]
            b.shape(flat)
            return b.finish("", op, [(dtype, flat)], ("Reshape",))
        return b.finish("", op, [(dtype, shape)], ("Identity",))

    return make


def gather(dtype):
    def make(rng):
        n, k, w, c = random_shape(rng, 4)
        b = Builder(rng)
        b.operand(dtype, b.value(dtype, [n, k, c]))
        b.operand(
            D.INT32, b.value(D.INT32, [n, w], 0, k - 1)
        )  # the reference model reads out of bounds for invalid indices
        return b.finish("", ts.Op.GATHER, [(dtype, [n, w, c])], ("Gather",))

    return make


def scatter(dtype):
    def make(rng):
        n, k, w, c = random_shape(rng, 4)
        w = min(w, k)
        b = Builder(rng)
        b.operand(dtype, b.value(dtype, [n, k, c]))
        b.operand(
            D.INT32,
            np.stack([rng.permutation(k)[:w] for _ in range(n)])
            if rng.random() < 0.9
            else b.value(D.INT32, [n, w], 0, k - 1),
        )
        b.operand(dtype, b.value(dtype, [n, w, c]))
        return b.finish("", ts.Op.SCATTER, [(dtype, [n, k, c])], ("Scatter",))

    return make


def resize(source, target, mode):
    def make(rng):
        b = Builder(rng)
        n, ih, iw, c = random_shape(rng, 4, high=9)
        axes = []
        for size in (ih, iw):
            while True:
                sn, sd = int(rng.integers(1, 17)), int(rng.integers(1, 17))
                offset = int(rng.integers(-sn, 2 * sn))
                border = int(rng.integers(-2 * sn, sn))
                span = (size - 1) * sn - offset + border
                border -= span % sd if span >= 0 else 0
                span -= span % sd if span >= 0 else 0
                if span >= 0 and border >= -16 * sn and span // sd + 1 < 60:
                    axes.append((sn, sd, offset, border, span // sd + 1))
                    break
        (yn, yd, yo, yb, oh), (xn, xd, xo, xb, ow) = axes
        b.operand(source, b.value(source, [n, ih, iw, c]))
        b.shape([yn, yd, xn, xd])
        b.shape([yo, xo])
        b.shape([yb, xb])
        return b.finish(
            "",
            ts.Op.RESIZE,
            [(target, [n, oh, ow, c])],
            ("Resize", mode),
            exact=not is_float(source) or mode == ts.ResizeMode.NEAREST,
            ulps=8,
            scale=16.0,
        )

    return make


# --- windows ----------------------------------------------------------------------------------------------------------


def window(rng, size, kernel, stride, dilation=1):
    """Random padding such that the output size is whole: (before, after, out)."""
    while True:
        before, after = int(rng.integers(0, kernel)), int(rng.integers(0, kernel))
        span = size - 1 + before + after - (kernel - 1) * dilation
        if span >= 0:
            after += -span % stride
            if after < kernel * dilation:
                return before, after, (size - 1 + before + after - (kernel - 1) * dilation) // stride + 1
        size += 1 if span < -2 * kernel else 0
        if before == after == kernel - 1 and span < 0:
            return None


def fitted(rng, spatial, kernels, strides, dilations):
    pads, outs, sizes = [], [], []
    for k, s, d in zip(kernels, strides, dilations):
        size = int(rng.integers(max(1, (k - 1) * d - k + 2), (k - 1) * d + spatial))
        before, after = int(rng.integers(0, k)), int(rng.integers(0, k))
        span = size - 1 + before + after - (k - 1) * d
        if span < 0:
            size -= span
            span = 0
        size += -span % s
        span += -span % s
        pads += [before, after]
        outs.append(span // s + 1)
        sizes.append(size)
    return sizes, pads, outs


def conv(kind, source, weight, target, acc):
    spatial = 3 if kind == "Conv3d" else 2

    def make(rng):
        b = Builder(rng)
        n = int(rng.integers(1, 3))
        wide = rng.random() < 0.3
        ic, oc = int(rng.integers(1, 70 if wide else 10)), int(rng.integers(1, 70 if wide else 10))
        top = 3 if spatial == 3 else 4
        kernels = [int(k) for k in rng.integers(1, top + 1, spatial)]
        strides = [int(k) for k in rng.integers(1, 4, spatial)]
        dilations = [int(k) for k in rng.integers(1, 3, spatial)]
        sizes, pads, outs = fitted(rng, 6, kernels, strides, dilations)
        if kind == "DepthwiseConv2d":
            multiplier = int(rng.choice([1, 1, 2, 3]))
            oc = ic * multiplier
            weights = [*kernels, ic, multiplier]
        else:
            weights = [oc, *kernels, ic]
        constant = weight == D.INT4 or bool(rng.random() < 0.7)
        x = b.operand(source, b.value(source, [n, *sizes, ic]))
        w = b.operand(weight, b.value(weight, weights), constant)
        bias_bound = 2**20 if not is_float(target) else None
        b.operand(
            target, b.value(target, [oc if rng.random() < 0.8 else 1], bias_bound and -bias_bound, bias_bound), constant
        )
        b.operand(source, b.value(source, [1]) if source == D.INT8 else np.zeros(1), constant=True)
        b.operand(
            weight, b.value(weight, [1]) if weight == D.INT8 and rng.random() < 0.3 else np.zeros(1), constant=True
        )
        op = {"Conv2d": ts.Op.CONV2D, "Conv3d": ts.Op.CONV3D, "DepthwiseConv2d": ts.Op.DEPTHWISE_CONV2D}[kind]
        terms = np.prod(kernels) * (1 if kind == "DepthwiseConv2d" else ic) + 1
        return b.finish(
            "",
            op,
            [(target, [n, *outs, oc])],
            (kind, pads, strides, dilations, False, acc),
            exact=not is_float(source),
            ulps=4 + terms / 4,
            scale=16.0 * terms,
        )

    return make


def transpose_conv(source, weight, target, acc):
    def make(rng):
        b = Builder(rng)
        n, ih, iw, ic, oc = (int(v) for v in rng.integers(1, 6, 5))
        kh, kw, sy, sx = (int(v) for v in rng.integers(1, 4, 4))
        pads = [int(rng.integers(-k + 1, 3)) for k in (kh, kh, kw, kw)]
        oh, ow = (ih - 1) * sy + pads[0] + pads[1] + kh, (iw - 1) * sx + pads[2] + pads[3] + kw
        if oh < 1 or ow < 1:
            pads, oh, ow = [0] * 4, (ih - 1) * sy + kh, (iw - 1) * sx + kw
        b.operand(source, b.value(source, [n, ih, iw, ic]))
        b.operand(weight, b.value(weight, [oc, kh, kw, ic]), weight == D.INT4)
        bias_bound = 2**20 if not is_float(target) else None
        b.operand(target, b.value(target, [oc if rng.random() < 0.8 else 1], bias_bound and -bias_bound, bias_bound))
        b.operand(source, b.value(source, [1]) if source == D.INT8 else np.zeros(1), constant=True)
        b.operand(weight, np.zeros(1), constant=True)
        return b.finish(
            "",
            ts.Op.TRANSPOSE_CONV2D,
            [(target, [n, oh, ow, oc])],
            ("TransposeConv2d", pads, [sy, sx], False, acc),
            exact=not is_float(source),
            ulps=20,
            scale=16.0 * kh * kw * ic,
        )

    return make


def matmul(source, target):
    def make(rng):
        b = Builder(rng)
        n = int(rng.integers(1, 4))
        h, c, w = (int(v) for v in rng.integers(1, 80 if rng.random() < 0.3 else 9, 3))
        b.operand(source, b.value(source, [n, h, c]))
        b.operand(source, b.value(source, [n, c, w]), constant=bool(rng.random() < 0.3))
        for _ in range(2):
            b.operand(source, b.value(source, [1]) if source == D.INT8 else np.zeros(1), constant=True)
        return b.finish(
            "",
            ts.Op.MATMUL,
            [(target, [n, h, w])],
            ("MatMul",),
            exact=not is_float(source),
            ulps=4 + c / 4,
            scale=16.0 * c,
        )

    return make


def pool(kind, dtype, acc=None):
    def make(rng):
        b = Builder(rng)
        n, c = int(rng.integers(1, 3)), int(rng.integers(1, 40))
        kernels = [int(k) for k in rng.integers(1, 6, 2)]
        strides = [int(k) for k in rng.integers(1, 4, 2)]
        sizes, pads, outs = fitted(rng, 8, kernels, strides, [1, 1])
        b.operand(
            dtype, b.value(dtype, [n, *sizes, c], special=0.05 if kind == "MaxPool2d" and dtype not in FP8 else 0)
        )
        if kind == "MaxPool2d":
            return b.finish(
                "", ts.Op.MAX_POOL2D, [(dtype, [n, *outs, c])], (kind, kernels, strides, pads, NAN[rng.integers(2)])
            )
        for _ in range(2):
            b.operand(dtype, b.value(dtype, [1]) if dtype == D.INT8 else np.zeros(1), constant=True)
        return b.finish(
            "",
            ts.Op.AVG_POOL2D,
            [(dtype, [n, *outs, c])],
            (kind, kernels, strides, pads, acc),
            exact=not is_float(dtype),
            ulps=8,
            scale=8.0,
        )

    return make


def fft(real):
    def make(rng):
        b = Builder(rng)
        n, h, w = int(rng.integers(1, 3)), 2 ** int(rng.integers(0, 6)), 2 ** int(rng.integers(0, 6))
        b.operand(D.FP32, b.value(D.FP32, [n, h, w]))
        how = {"exact": False, "ulps": 4, "scale": 4.0 * h * w}
        if real:
            return b.finish("", ts.Op.RFFT2D, [(D.FP32, [n, h, w // 2 + 1])] * 2, ("RFFT2d", False), **how)
        b.operand(D.FP32, b.value(D.FP32, [n, h, w]))
        return b.finish("", ts.Op.FFT2D, [(D.FP32, [n, h, w])] * 2, ("FFT2d", bool(rng.random() < 0.5), False), **how)

    return make


def rows():
    """(name, builder) for every operator and type combination."""
    out = []

    def row(name, dtypes, builder):
        out.append((name + "".join("_" + str(d).split(".")[-1].lower() for d in dtypes), builder))

    big = 2**30
    for d in [D.INT32, *FLOATS]:
        row(
            "add",
            [d],
            binary(ts.Op.ADD, "Add", d, low=-big if d == D.INT32 else None, high=big if d == D.INT32 else None),
        )
        row(
            "sub",
            [d],
            binary(ts.Op.SUB, "Sub", d, low=-big if d == D.INT32 else None, high=big if d == D.INT32 else None),
        )
        row("maximum", [d], binary(ts.Op.MAXIMUM, "Maximum", d, attribute=lambda rng: (NAN[rng.integers(2)],)))
        row("minimum", [d], binary(ts.Op.MINIMUM, "Minimum", d, attribute=lambda rng: (NAN[rng.integers(2)],)))
        row(
            "equal",
            [d],
            binary(ts.Op.EQUAL, "Equal", d, D.BOOL, low=-3 if d == D.INT32 else None, high=3 if d == D.INT32 else None),
        )
        row("greater", [d], binary(ts.Op.GREATER, "Greater", d, D.BOOL))
        row("greater_equal", [d], binary(ts.Op.GREATER_EQUAL, "GreaterEqual", d, D.BOOL))
        row("abs", [d], unary(ts.Op.ABS, "Abs", d))
    row("add_overflow", [D.INT32], binary(ts.Op.ADD, "Add", D.INT32))
    row("intdiv", [D.INT32], binary(ts.Op.INTDIV, "IntDiv", D.INT32, low2=1, high2=40))
    for d in [D.INT8, D.INT16, D.INT32]:
        width = {D.INT8: 8, D.INT16: 16, D.INT32: 32}[d]
        row("bitwise_and", [d], binary(ts.Op.BITWISE_AND, "BitwiseAnd", d))
        row("bitwise_or", [d], binary(ts.Op.BITWISE_OR, "BitwiseOr", d))
        row("bitwise_xor", [d], binary(ts.Op.BITWISE_XOR, "BitwiseXor", d))
        row("bitwise_not", [d], unary(ts.Op.BITWISE_NOT, "BitwiseNot", d))
        row("logical_left_shift", [d], binary(ts.Op.LOGICAL_LEFT_SHIFT, "LogicalLeftShift", d, low2=0, high2=width - 1))
        row(
            "logical_right_shift",
            [d],
            binary(ts.Op.LOGICAL_RIGHT_SHIFT, "LogicalRightShift", d, low2=0, high2=width - 1),
        )
        row(
            "arithmetic_right_shift",
            [d],
            binary(
                ts.Op.ARITHMETIC_RIGHT_SHIFT,
                "ArithmeticRightShift",
                d,
                low2=0,
                high2=width - 1,
                attribute=lambda rng: (bool(rng.random() < 0.5),),
            ),
        )
    row("clz", [D.INT32], unary(ts.Op.CLZ, "Clz", D.INT32))
    row("logical_and", [D.BOOL], binary(ts.Op.LOGICAL_AND, "LogicalAnd", D.BOOL))
    row("logical_or", [D.BOOL], binary(ts.Op.LOGICAL_OR, "LogicalOr", D.BOOL))
    row("logical_xor", [D.BOOL], binary(ts.Op.LOGICAL_XOR, "LogicalXor", D.BOOL))
    row("logical_not", [D.BOOL], unary(ts.Op.LOGICAL_NOT, "LogicalNot", D.BOOL))
    for d in [D.INT8, D.INT16, D.INT32, *FLOATS]:
        row("mul", [d], mul(d))
        row("negate", [d], negate(d))
        row("reduce_max", [d], reduce(ts.Op.REDUCE_MAX, "ReduceMax", d, nan=True))
        row("reduce_min", [d], reduce(ts.Op.REDUCE_MIN, "ReduceMin", d, nan=True))
    for d in [D.INT8, D.INT16, *FLOATS]:
        row("clamp", [d], clamp(d))
    for d in FLOATS:
        row("pow", [d], binary(ts.Op.POW, "Pow", d, low=0.01, high=5, low2=-3, high2=3, special=0, exact=False, ulps=2))
        for op, kind, low, high in [
            (ts.Op.ERF, "Erf", -4, 4),
            (ts.Op.SIGMOID, "Sigmoid", -20, 20),
            (ts.Op.TANH, "Tanh", -6, 6),
            (ts.Op.COS, "Cos", -1000, 1000),
            (ts.Op.SIN, "Sin", -1000, 1000),
            (ts.Op.EXP, "Exp", -20, 10),
            (ts.Op.LOG, "Log", -0.1, 100),
            (ts.Op.RECIPROCAL, "Reciprocal", -9, 9),
            (ts.Op.RSQRT, "Rsqrt", -0.1, 99),
        ]:
            row(kind.lower(), [d], unary(op, kind, d, low, high, exact=False, ulps=2))
        row("ceil", [d], unary(ts.Op.CEIL, "Ceil", d))
        row("floor", [d], unary(ts.Op.FLOOR, "Floor", d))
        row("reduce_sum", [d], reduce(ts.Op.REDUCE_SUM, "ReduceSum", d, exact=False, ulps=10))
        row("reduce_product", [d], reduce(ts.Op.REDUCE_PRODUCT, "ReduceProduct", d, exact=False, ulps=16))
    row("reduce_sum", [D.INT32], reduce(ts.Op.REDUCE_SUM, "ReduceSum", D.INT32))
    row("reduce_all", [D.BOOL], reduce(ts.Op.REDUCE_ALL, "ReduceAll", D.BOOL))
    row("reduce_any", [D.BOOL], reduce(ts.Op.REDUCE_ANY, "ReduceAny", D.BOOL))
    for d in [D.INT8, D.INT16, *FLOATS, *FP8]:
        row("argmax", [d], argmax(d))
    for d in [D.BOOL, D.INT8, D.INT16, D.INT32, *FLOATS]:
        row("select", [d], select(d))
    row("table", [D.INT8], table(D.INT8))
    row("table", [D.INT16], table(D.INT16))
    for op in [
        ts.Op.CONCAT,
        ts.Op.TRANSPOSE,
        ts.Op.REVERSE,
        ts.Op.PAD,
        ts.Op.SLICE,
        ts.Op.TILE,
        ts.Op.RESHAPE,
        ts.Op.IDENTITY,
    ]:
        for d in [D.BOOL, D.INT8, D.INT16, D.INT32, *FLOATS, *FP8]:
            if op == ts.Op.REVERSE and d in FP8:
                pass
            row(str(op).split(".")[-1].lower(), [d], layout(op, d))
    for d in [D.INT8, D.INT16, D.INT32, *FLOATS, *FP8]:
        row("gather", [d], gather(d))
        row("scatter", [d], scatter(d))
    ints = [D.INT8, D.INT16, D.INT32]
    for a in [D.BOOL, *ints]:
        for b in [D.BOOL, *ints]:
            if a != b:
                row("cast", [a, b], cast(a, b))
    for a in ints:
        for b in FLOATS:
            row("cast", [a, b], cast(a, b))
            row("cast", [b, a], cast(b, a))
    for a in FLOATS:
        for b in [*FLOATS, *FP8]:
            if a != b and not (a in (D.FP16, D.BF16) and b in (D.FP16, D.BF16)):
                row("cast", [a, b], cast(a, b))
    for a in FP8:
        for b in FLOATS:
            row("cast", [a, b], cast(a, b))
    for a in [D.INT8, D.INT16, D.INT32, D.INT48]:
        for b in ints:
            row("rescale", [a, b], rescale(a, b))
    for a, b, mode in [
        (D.INT8, D.INT8, "N"),
        (D.INT16, D.INT16, "N"),
        (D.INT8, D.INT32, "B"),
        (D.INT16, D.INT48, "B"),
        *[(d, d, m) for d in FLOATS for m in "NB"],
    ]:
        kind = ts.ResizeMode.NEAREST if mode == "N" else ts.ResizeMode.BILINEAR
        row("resize_" + ("nearest" if mode == "N" else "bilinear"), [a, b], resize(a, b, kind))
    types = [
        (D.INT8, D.INT8, D.INT32, D.INT32),
        (D.INT8, D.INT4, D.INT32, D.INT32),
        (D.INT16, D.INT8, D.INT48, D.INT48),
        (D.FP32, D.FP32, D.FP32, D.FP32),
        (D.FP16, D.FP16, D.FP16, D.FP16),
        (D.FP16, D.FP16, D.FP16, D.FP32),
        (D.BF16, D.BF16, D.BF16, D.FP32),
        (D.FP8E4M3, D.FP8E4M3, D.FP16, D.FP16),
        (D.FP8E5M2, D.FP8E5M2, D.FP16, D.FP16),
    ]
    for t in types:
        for kind in ["Conv2d", "DepthwiseConv2d", "Conv3d"]:
            row(kind.lower(), t, conv(kind, *t))
        row("transpose_conv2d", t, transpose_conv(*t))
    for a, b in [
        (D.INT8, D.INT32),
        (D.INT16, D.INT48),
        (D.FP32, D.FP32),
        (D.FP16, D.FP16),
        (D.FP16, D.FP32),
        (D.BF16, D.FP32),
        (D.FP8E4M3, D.FP16),
        (D.FP8E5M2, D.FP16),
    ]:
        row("matmul", [a, b], matmul(a, b))
    for d, acc in [
        (D.INT8, D.INT32),
        (D.INT16, D.INT32),
        (D.FP32, D.FP32),
        (D.FP16, D.FP16),
        (D.FP16, D.FP32),
        (D.BF16, D.FP32),
        (D.FP8E4M3, D.FP16),
        (D.FP8E5M2, D.FP16),
    ]:
        row("avg_pool2d", [d, acc], pool("AvgPool2d", d, acc))
    for d in [D.INT8, D.INT16, *FLOATS, *FP8]:
        row("max_pool2d", [d], pool("MaxPool2d", d))
    row("fft2d", [D.FP32], fft(real=False))
    row("rfft2d", [D.FP32], fft(real=True))
    return out


def make_case(name, builder, seed):
    rng = np.random.default_rng([seed, sum(ord(c) * 131**i for i, c in enumerate(name)) % 2**32])
    case = builder(rng)
    case.name = f"{name}#{seed}"
    return case
