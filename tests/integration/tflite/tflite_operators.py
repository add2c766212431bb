"""Single operators with random shapes, scales and data: make(name, seed) -> (file, inputs)."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from tflite_models import Model

ACTIVATIONS = [
    schema.ActivationFunctionType.NONE,
    schema.ActivationFunctionType.RELU,
    schema.ActivationFunctionType.RELU6,
    schema.ActivationFunctionType.RELU_N1_TO_1,
]
RANGE = {np.int8: (-128, 127), np.uint8: (0, 255), np.int16: (-32768, 32767)}


class Case:
    """A model under construction with the random numbers of its seed."""

    def __init__(self, seed, dtype=np.int8):
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.model = Model()
        self.inputs = []

    def size(self, low=1, high=9):
        return int(self.random.integers(low, high + 1))

    def scale(self, low=0.003, high=0.3):
        return float(np.float32(np.exp(self.random.uniform(np.log(low), np.log(high)))))

    def zero(self):
        low, high = RANGE[self.dtype]
        return 0 if self.dtype == np.int16 else int(self.random.integers(low, high + 1))

    def data(self, shape, dtype=None):
        low, high = RANGE[dtype or self.dtype]
        return self.random.integers(low, high + 1, shape).astype(dtype or self.dtype)

    def input(self, shape, name="x", scale=None, zero=None, data=None):
        scale = self.scale() if scale is None else scale
        index = self.model.input(name, shape, self.dtype, scale, self.zero() if zero is None else zero)
        self.inputs.append(self.data(shape) if data is None else data)
        return index, scale

    def quantization(self, index):
        q = self.model.graph.tensors[index].quantization
        return q.scale[0], q.zeroPoint[0]

    def output(self, shape, scale=None, zero=None, dtype=None, name="y"):
        scale = self.scale() if scale is None else scale
        return self.model.output(name, shape, dtype or self.dtype, scale, self.zero() if zero is None else zero)

    def ints(self, *values, name="c"):
        return self.model.constant(name, np.array(values, np.int32))

    def activation(self):
        return ACTIVATIONS[int(self.random.integers(4))]

    def weights(self, shape, axis, per_channel=True):
        if self.dtype == np.uint8:
            scale = self.scale(0.002, 0.02)
            return self.model.constant("weights", self.data(shape), scale=scale, zero_point=self.zero()), [scale]
        channels = shape[axis]
        scales = [self.scale(0.002, 0.02) for _ in range(channels if per_channel else 1)]
        data = self.random.integers(-127, 128, shape).astype(np.int8)
        return self.model.constant("weights", data, scale=scales, axis=axis if per_channel else 0), scales

    def bias(self, in_scale, scales, channels):
        wide = self.dtype == np.int16
        data = self.random.integers(-3000, 3000, channels).astype(np.int64 if wide else np.int32)
        return self.model.constant("bias", data, scale=[in_scale * s for s in scales])

    def done(self):
        return self.model.bytes(), self.inputs


def window(case, size, kernel, stride, dilation=1):
    same = bool(case.random.integers(2))
    extent = (kernel - 1) * dilation + 1
    if not same and extent > size:
        same = True
    out = -(-size // stride) if same else (size - extent) // stride + 1
    return same, out


def convolution(case, depthwise):
    h = w = case.size(4, 12)
    c, kernel, stride = case.size(1, 8), case.size(1, 4), case.size(1, 3)
    dilation = 1 if stride > 1 else case.size(1, 2)
    same, oh = window(case, h, kernel, stride, dilation)
    n = 1 if depthwise else case.size(1, 2)
    x, sx = case.input((n, h, w, c))
    oc = c * case.size(1, 2) if depthwise else case.size(1, 12)
    shape = (1, kernel, kernel, oc) if depthwise else (oc, kernel, kernel, c)
    weights, scales = case.weights(shape, 3 if depthwise else 0, bool(case.random.integers(2)))
    bias = case.bias(sx, scales, oc)
    y = case.output((n, oh, oh, oc), scale=sx * max(scales) * case.size(10, 300))
    kind = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
    more = {"depthMultiplier": oc // c} if depthwise else {}
    case.model.op(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [x, weights, bias],
        [y],
        kind,
        padding=0 if same else 1,
        strideH=stride,
        strideW=stride,
        dilationHFactor=dilation,
        dilationWFactor=dilation,
        fusedActivationFunction=case.activation(),
        version=3,
        **more,
    )


def conv_2d(case):
    convolution(case, False)


def depthwise_conv_2d(case):
    convolution(case, True)


def fully_connected(case):
    n, k, m = case.size(1, 6), case.size(4, 80), case.size(1, 20)
    x, sx = case.input((n, k))
    weights, scales = case.weights((m, k), 0, bool(case.random.integers(2)))
    bias = case.bias(sx, scales, m)
    y = case.output((n, m), scale=sx * max(scales) * case.size(4, 100))
    case.model.op(
        "FULLY_CONNECTED",
        [x, weights, bias],
        [y],
        "FullyConnectedOptions",
        fusedActivationFunction=case.activation(),
        version=7,
    )


def transpose_conv(case):
    h, w, c, oc = case.size(2, 6), case.size(2, 6), case.size(1, 6), case.size(1, 6)
    stride, kernel = case.size(1, 2), case.size(2, 4)
    same = bool(case.random.integers(2))
    out = [side * stride if same else (side - 1) * stride + kernel for side in (h, w)]
    kernel = max(kernel, stride)
    x, sx = case.input((1, h, w, c))
    weights, scales = case.weights((oc, kernel, kernel, c), 0)
    if not same:
        out = [(side - 1) * stride + kernel for side in (h, w)]
    bias = case.bias(sx, scales, oc)
    y = case.output((1, *out, oc), scale=sx * max(scales) * case.size(10, 100))
    case.model.op(
        "TRANSPOSE_CONV",
        [case.ints(1, *out, oc), weights, x, bias],
        [y],
        "TransposeConvOptions",
        padding=0 if same else 1,
        strideH=stride,
        strideW=stride,
        version=3,
    )


def binary(case, op, options=None, same_scale=False, **fields):
    shape = [case.size(1, 3), case.size(2, 5), case.size(2, 5), case.size(1, 9)]
    other = [1 if case.random.integers(3) == 0 else d for d in shape]
    if case.dtype == np.int16:
        other = shape
    a, sa = case.input(shape, "a")
    scale, zero = case.quantization(a) if same_scale else (None, None)
    b, sb = case.input(other, "b", scale, zero)
    y = case.output(shape, sa if same_scale else max(sa, sb) * float(case.random.uniform(0.6, 2.5)), zero)
    if op == "MUL":
        case.model.graph.tensors[y].quantization.scale = [sa * sb * case.size(5, 200)]
    case.model.op(op, [a, b], [y], options, version=2, **fields)


def add(case):
    binary(case, "ADD", "AddOptions", fusedActivationFunction=case.activation(), potScaleInt16=False)


def sub(case):
    binary(case, "SUB", "SubOptions", fusedActivationFunction=case.activation(), potScaleInt16=False)


def mul(case):
    binary(case, "MUL", "MulOptions", fusedActivationFunction=case.activation())


def maximum(case):
    binary(case, "MAXIMUM", same_scale=True)


def minimum(case):
    binary(case, "MINIMUM", same_scale=True)


def prelu(case):
    shape = (1, case.size(2, 6), case.size(2, 6), case.size(1, 8))
    x, sx = case.input(shape)
    sa = case.scale()
    alpha = case.model.constant("alpha", case.data((1, 1, shape[3])), scale=sa, zero_point=case.zero())
    y = case.output(shape, sx * float(case.random.uniform(0.5, 2)))
    case.model.op("PRELU", [x, alpha], [y])


def pool(case, op):
    h, w, c = case.size(3, 10), case.size(3, 10), case.size(1, 9)
    kh, kw, stride = case.size(1, 3), case.size(1, 3), case.size(1, 3)
    same = bool(case.random.integers(2))
    oh, ow = [-(-n // stride) if same else (n - k) // stride + 1 for n, k in ((h, kh), (w, kw))]
    x, _ = case.input((case.size(1, 2), h, w, c))
    n = case.inputs[0].shape[0]
    y = case.output((n, oh, ow, c), *case.quantization(x))
    case.model.op(
        op,
        [x],
        [y],
        "Pool2DOptions",
        padding=0 if same else 1,
        strideH=stride,
        strideW=stride,
        filterHeight=kh,
        filterWidth=kw,
        fusedActivationFunction=case.activation(),
        version=2,
    )


def average_pool_2d(case):
    pool(case, "AVERAGE_POOL_2D")


def max_pool_2d(case):
    pool(case, "MAX_POOL_2D")


def mean(case):
    shape = (1, case.size(1, 9), case.size(1, 9), case.size(1, 12))
    axes = [(1, 2), (3,), (2,), (1,)][int(case.random.integers(4))]
    keep = bool(case.random.integers(2))
    x, sx = case.input(shape)
    out = [1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes]
    y = case.output(out, sx * float(case.random.uniform(0.4, 2)))
    case.model.op("MEAN", [x, case.ints(*axes)], [y], "ReducerOptions", keepDims=keep, version=2)


def arg_max(case):
    shape = (case.size(1, 3), case.size(1, 6), case.size(2, 30))
    x, _ = case.input(shape)
    axis = int(case.random.integers(1, 3))
    y = case.model.output("y", [d for i, d in enumerate(shape) if i != axis], np.int32)
    case.model.op("ARG_MAX", [x, case.ints(axis)], [y], "ArgMaxOptions", outputType=schema.TensorType.INT32, version=2)


def unary(case, op, options=None, scale=None, zero=None, in_scale=(0.003, 0.3), **fields):
    x, sx = case.input((1, case.size(1, 4), 64, 4), scale=case.scale(*in_scale))
    y = case.output(case.inputs[0].shape, scale or sx * float(case.random.uniform(0.5, 2)), zero)
    case.model.op(op, [x], [y], options, version=2, **fields)


def relu(case):
    unary(case, "RELU")


def relu6(case):
    unary(case, "RELU6")


def relu_n1_to_1(case):
    unary(case, "RELU_N1_TO_1", in_scale=(0.003, 0.03))


def of_int16(case, op):
    """The functions whose int16 results are in units of 1/32768."""
    scale = 1 / 4096 if case.random.integers(4) == 0 else case.scale(0.00005, 0.001)
    x, _ = case.input((1, case.size(1, 4), 64, 4), scale=scale)
    y = case.output(case.inputs[0].shape, 1 / 32768, 0)
    case.model.op(op, [x], [y], version=3 if op == "LOGISTIC" else 2)


def logistic(case):
    if case.dtype == np.int16:
        return of_int16(case, "LOGISTIC")
    unary(case, "LOGISTIC", scale=1 / 256, zero=0 if case.dtype == np.uint8 else -128)


def tanh(case):
    if case.dtype == np.int16:
        return of_int16(case, "TANH")
    unary(case, "TANH", scale=1 / 128, zero=128 if case.dtype == np.uint8 else 0)


def hard_swish(case):
    unary(case, "HARD_SWISH", scale=None)


def elu(case):
    unary(case, "ELU")


def gelu(case):
    unary(case, "GELU", "GeluOptions", approximate=bool(case.random.integers(2)))


def leaky_relu(case):
    unary(case, "LEAKY_RELU", "LeakyReluOptions", alpha=float(case.random.uniform(-0.9, 0.9)))


def quantize(case):
    unary(case, "QUANTIZE")


def softmax(case):
    shape = (case.size(1, 6), case.size(2, 40))
    if case.dtype == np.int16:
        x, _ = case.input(shape, scale=case.scale(0.00005, 0.002))
        y = case.output(shape, 1 / 32768, 0)
    else:
        x, _ = case.input(shape, scale=case.scale(0.01, 1.5))
        y = case.output(shape, 1 / 256, 0 if case.dtype == np.uint8 else -128)
    beta = 1.0 if case.random.integers(2) else float(case.random.uniform(0.3, 2))
    case.model.op("SOFTMAX", [x], [y], "SoftmaxOptions", beta=beta, version=3 if case.dtype == np.int16 else 2)


def moved(case, op, out, more=(), options=None, shape=None, **fields):
    x, _ = case.input(shape)
    y = case.output(out, *case.quantization(x))
    case.model.op(op, [x, *more], [y], options, version=2, **fields)


def four(case):
    return [case.size(1, 4) for _ in range(4)]


def reshape(case):
    shape = four(case)
    out = [shape[0] * shape[1], shape[2] * shape[3]]
    moved(case, "RESHAPE", out, [case.ints(*out)], "ReshapeOptions", shape, newShape=out)


def squeeze(case):
    shape = [1, case.size(2, 5), 1, case.size(2, 5)]
    moved(case, "SQUEEZE", shape[1::2], (), "SqueezeOptions", shape, squeezeDims=[0, 2])


def expand_dims(case):
    shape = [case.size(2, 5), case.size(2, 5)]
    moved(case, "EXPAND_DIMS", [shape[0], 1, shape[1]], [case.ints(1)], None, shape)


def transpose(case):
    shape, perms = four(case), case.random.permutation(4).tolist()
    moved(case, "TRANSPOSE", [shape[p] for p in perms], [case.ints(*perms)], None, shape)


def slice_(case):
    shape = [case.size(3, 8) for _ in range(3)]
    begin = [case.size(0, 1) for _ in shape]
    size = [case.size(1, s - b) for s, b in zip(shape, begin, strict=True)]
    moved(case, "SLICE", size, [case.ints(*begin), case.ints(*size)], None, shape)


def strided_slice(case):
    shape = [case.size(3, 8) for _ in range(3)]
    begin, end, strides = [case.size(0, 1), -2, 1], [-1, 0, shape[2]], [1, -1, case.size(1, 2)]
    shrink, begin_mask = 4 if case.random.integers(2) else 0, 1 if case.random.integers(2) else 0
    if begin[2] + 1 > shape[2]:
        shrink = 0
    index = [slice(None if begin_mask else begin[0], end[0]), slice(begin[1], end[1], -1)]
    index.append(begin[2] if shrink else slice(begin[2], end[2], strides[2]))
    out = np.zeros(shape)[tuple(index)].shape
    if 0 in out:
        end[1], strides[1] = shape[1], 1
        begin[1] = 0
        out = np.zeros(shape)[index[0], :, index[2]].shape
    moved(
        case,
        "STRIDED_SLICE",
        out,
        [case.ints(*begin), case.ints(*end), case.ints(*strides)],
        "StridedSliceOptions",
        shape,
        beginMask=begin_mask,
        shrinkAxisMask=shrink,
    )


def pad(case):
    shape = four(case)
    amounts = case.random.integers(0, 3, (4, 2)).astype(np.int32)
    out = [int(d + a.sum()) for d, a in zip(shape, amounts, strict=True)]
    moved(case, "PAD", out, [case.model.constant("amounts", amounts)], None, shape)


def concatenation(case):
    shape, axis = four(case), int(case.random.integers(4))
    a, scale = case.input(shape, "a")
    other = [case.size(1, 4) if i == axis else d for i, d in enumerate(shape)]
    b, _ = case.input(other, "b", *case.quantization(a))
    y = case.output(
        [d + o if i == axis else d for i, (d, o) in enumerate(zip(shape, other, strict=True))], *case.quantization(a)
    )
    case.model.op("CONCATENATION", [a, b], [y], "ConcatenationOptions", axis=axis, version=2)


def split(case):
    shape = [2, 2 * case.size(1, 3), 3 * case.size(1, 3)]
    axis, parts = (1, 2) if case.random.integers(2) else (2, 3)
    x, _ = case.input(shape)
    part = [d // parts if i == axis else d for i, d in enumerate(shape)]
    ys = [case.output(part, *case.quantization(x), name=f"y{i}") for i in range(parts)]
    case.model.op("SPLIT", [case.ints(axis), x], ys, "SplitOptions", numSplits=parts, version=2)


def split_v(case):
    sizes = [case.size(1, 3), case.size(1, 3), case.size(1, 3)]
    x, _ = case.input([2, sum(sizes), 3])
    ys = [case.output([2, n, 3], *case.quantization(x), name=f"y{i}") for i, n in enumerate(sizes)]
    case.model.op("SPLIT_V", [x, case.ints(*sizes), case.ints(1)], ys, "SplitVOptions", numSplits=3, version=2)


def pack(case):
    shape, axis = [case.size(1, 4), case.size(1, 4)], int(case.random.integers(3))
    a, _ = case.input(shape, "a")
    b, _ = case.input(shape, "b", *case.quantization(a))
    y = case.output(shape[:axis] + [2] + shape[axis:], *case.quantization(a))
    case.model.op("PACK", [a, b], [y], "PackOptions", valuesCount=2, axis=axis, version=2)


def unpack(case):
    shape = [case.size(1, 4), 3, case.size(1, 4)]
    x, _ = case.input(shape)
    ys = [case.output(shape[::2], *case.quantization(x), name=f"y{i}") for i in range(3)]
    case.model.op("UNPACK", [x], ys, "UnpackOptions", num=3, axis=1, version=2)


def resize(case, op, options):
    h, w, c = case.size(2, 5), case.size(2, 5), case.size(1, 8)
    factor = int(case.random.choice([2, 4]))
    half, align = [(False, False), (True, False)][int(case.random.integers(2))]
    if op == "RESIZE_BILINEAR" and half:
        factor = 2
    out = [h * factor, w * factor]
    if op == "RESIZE_NEAREST_NEIGHBOR" and case.random.integers(2):
        out = [case.size(1, 20), case.size(1, 20)]  # any ratio
    x, _ = case.input([1, h, w, c])
    y = case.output([1, *out, c], *case.quantization(x))
    size = case.ints(*out)
    case.model.op(op, [x, size], [y], options, alignCorners=align, halfPixelCenters=half, version=3)


def resize_nearest_neighbor(case):
    resize(case, "RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions")


def resize_bilinear(case):
    resize(case, "RESIZE_BILINEAR", "ResizeBilinearOptions")


def abs_(case):
    unary(case, "ABS", "AbsOptions")


def exp(case):
    unary(case, "EXP", "ExpOptions", in_scale=(0.003, 0.03))


def neg(case):
    unary(case, "NEG", "NegOptions")


def relu_0_to_1(case):
    unary(case, "RELU_0_TO_1", in_scale=(0.003, 0.03))


def squared_difference(case):
    binary(case, "SQUARED_DIFFERENCE", "SquaredDifferenceOptions")


def compare(case, op):
    """int16: small numbers, of which many are equal, also with scales that make neighbors equal."""
    shape = [case.size(1, 3), case.size(2, 5), case.size(2, 9)]
    small = case.dtype == np.int16
    data = [case.data(shape) // (2000 if small else 1) for _ in range(2)]
    a, _ = case.input(shape, "a", case.scale(0.00003 if small else 0.003, 0.9), data=data[0])
    b, _ = case.input(shape, "b", *(case.quantization(a) if case.random.integers(2) else (None, None)), data[1])
    y = case.model.output("y", shape, np.bool_)
    case.model.op(op, [a, b], [y], version=2)


def equal(case):
    compare(case, "EQUAL")


def not_equal(case):
    compare(case, "NOT_EQUAL")


def greater(case):
    compare(case, "GREATER")


def greater_equal(case):
    compare(case, "GREATER_EQUAL")


def less(case):
    compare(case, "LESS")


def less_equal(case):
    compare(case, "LESS_EQUAL")


def reverse_v2(case):
    shape = four(case)
    moved(case, "REVERSE_V2", shape, [case.ints(int(case.random.integers(4)))], None, shape)


def tile(case):
    shape, counts = four(case), [case.size(1, 2) for _ in range(4)]
    moved(case, "TILE", [d * n for d, n in zip(shape, counts, strict=True)], [case.ints(*counts)], None, shape)


def mirror_pad(case):
    shape, mode = [case.size(3, 6) for _ in range(3)], int(case.random.integers(2))
    amounts = case.random.integers(0, 3, (3, 2)).astype(np.int32)
    out = [int(d + a.sum()) for d, a in zip(shape, amounts, strict=True)]
    constant = case.model.constant("amounts", amounts)
    moved(case, "MIRROR_PAD", out, [constant], "MirrorPadOptions", shape, mode=mode)


def gather(case):
    shape, axis = [case.size(2, 5) for _ in range(3)], int(case.random.integers(3))
    indices = case.random.integers(0, shape[axis], 4).tolist()
    out = [4 if i == axis else d for i, d in enumerate(shape)]
    moved(case, "GATHER", out, [case.ints(*indices)], "GatherOptions", shape, axis=axis)


def reduce_extreme(case, op):
    shape = four(case)
    axis = int(case.random.integers(4))
    out = [1 if i == axis else d for i, d in enumerate(shape)]
    moved(case, op, out, [case.ints(axis)], "ReducerOptions", shape, keepDims=True)


def reduce_max(case):
    reduce_extreme(case, "REDUCE_MAX")


def reduce_min(case):
    reduce_extreme(case, "REDUCE_MIN")


def log(case):
    """Numbers below 0, too: LiteRT's table has the smallest result for them."""
    x, _ = case.input((1, 4, 5, 6))
    case.model.op("LOG", [x], [case.output(case.inputs[0].shape, 0.05)], version=2)


def log_16(case):
    x, _ = case.input((1, 4, 5, 60), scale=case.scale(0.0005, 0.01))
    case.model.op("LOG", [x], [case.output(case.inputs[0].shape, case.scale(0.0004, 0.0008))], version=2)


def rsqrt(case):
    """Numbers from 0 on: LiteRT takes no others."""
    zero = RANGE[case.dtype][0]
    x, _ = case.input((1, 4, 5, 6), zero=zero)
    case.model.op("RSQRT", [x], [case.output(case.inputs[0].shape, case.scale(0.01, 0.2))], version=2)


def rsqrt_16(case):
    x, _ = case.input((1, 4, 5, 60), scale=case.scale(0.002, 0.02), data=np.abs(case.data((1, 4, 5, 60)) // 2))
    case.model.op("RSQRT", [x], [case.output(case.inputs[0].shape, case.scale(0.001, 0.003))], version=2)


def exp_16(case):
    """Results that fit: exp of at most 3.3."""
    x, _ = case.input((1, 3, 40, 5), scale=1e-4)
    case.model.op("EXP", [x], [case.output(case.inputs[0].shape, case.scale(0.0005, 0.002), 0)], version=2)


def batch_matmul(case):
    """Leading axes that one operand lacks, or has once, repeat its matrices."""
    batches = tuple(case.size(1, 3) for _ in range(case.size(0, 2)))
    of_x, of_y = batches, batches
    if case.random.integers(2):
        repeated = tuple(1 if case.random.integers(2) else n for n in batches)[case.size(0, len(batches)) :]
        of_x, of_y = (repeated, of_y) if case.random.integers(2) else (of_x, repeated)
    rows, depth, columns = case.size(1, 9), case.size(1, 20), case.size(1, 9)
    adj_x, adj_y = bool(case.random.integers(2)), bool(case.random.integers(2))
    x, sx = case.input((*of_x, depth, rows) if adj_x else (*of_x, rows, depth), "x")
    y, sy = case.input((*of_y, columns, depth) if adj_y else (*of_y, depth, columns), "y")
    z = case.output((*batches, rows, columns), scale=sx * sy * case.size(20, 400), name="z")
    case.model.op("BATCH_MATMUL", [x, y], [z], "BatchMatMulOptions", version=2, adjX=adj_x, adjY=adj_y)


def depth_to_space(case):
    n, h, w, c, block = case.size(1, 2), case.size(1, 5), case.size(1, 5), case.size(1, 5), case.size(1, 3)
    shape, out = [n, h, w, c * block**2], [n, h * block, w * block, c]
    x, _ = case.input(shape)
    y = case.output(out, *case.quantization(x))
    case.model.op("DEPTH_TO_SPACE", [x], [y], "DepthToSpaceOptions", blockSize=block)


def space_to_depth(case):
    n, h, w, c, block = case.size(1, 2), case.size(1, 5), case.size(1, 5), case.size(1, 5), case.size(1, 3)
    out = [n, h, w, c * block**2]
    moved(case, "SPACE_TO_DEPTH", out, (), "SpaceToDepthOptions", [n, h * block, w * block, c], blockSize=block)


def blocks(case, op, sign):
    """The batch with blocks of pixels in it, and the images: [batch, h, w, c] or [batch, h, c]."""
    axes, batch, c = case.size(1, 2), case.size(1, 2), case.size(1, 5)
    sizes, whole = [case.size(1, 3) for _ in range(axes)], [case.size(3, 5) for _ in range(axes)]
    amounts = [[case.size(0, 1), case.size(0, 1)] for _ in range(axes)]
    image = [batch, *(n * size - sum(a) for n, size, a in zip(whole, sizes, amounts, strict=True)), c]
    divided = [batch * int(np.prod(sizes)), *whole, c]
    shape, out = (image, divided) if sign > 0 else (divided, image)
    given = [case.ints(*sizes), case.model.constant("amounts", np.array(amounts, np.int32))]
    moved(case, op, out, given, None, shape)


def space_to_batch_nd(case):
    blocks(case, "SPACE_TO_BATCH_ND", 1)


def batch_to_space_nd(case):
    blocks(case, "BATCH_TO_SPACE_ND", -1)


def broadcast_to(case):
    out = four(case)
    shape = [1 if case.random.integers(2) else d for d in out][case.size(0, 3) :]
    moved(case, "BROADCAST_TO", out, [case.ints(*out)], None, shape)


def arg_min(case):
    shape, axis = (case.size(1, 3), case.size(1, 6), case.size(2, 30)), case.size(1, 2)
    x, _ = case.input(shape)
    y = case.model.output("y", [d for i, d in enumerate(shape) if i != axis], np.int32)
    case.model.op("ARG_MIN", [x, case.ints(axis)], [y], "ArgMinOptions", outputType=schema.TensorType.INT32, version=2)


def int32(case):
    """Arithmetic of int32 without quantization, with every fused activation."""
    options = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "MAXIMUM": None, "MINIMUM": None}
    op = list(options)[int(case.random.integers(len(options)))]
    shape = [case.size(1, 3), case.size(2, 9)]
    other = [1 if case.random.integers(3) == 0 else d for d in shape]
    operands = []
    for name, sizes in (("a", shape), ("b", other)):
        operands.append(case.model.input(name, sizes, np.int32))
        case.inputs.append(case.random.integers(-30000, 30000, sizes).astype(np.int32) // 10 ** case.size(0, 4))
    activation = {"fusedActivationFunction": case.activation()} if options[op] else {}
    case.model.op(op, operands, [case.model.output("y", shape, np.int32)], options[op], **activation)


def quantize_wide(case):
    """int16 with a zero point to int32, as after a SOFTMAX with int16 results."""
    x, _ = case.input((2, 9), scale=1 / 65536, zero=-32768)
    y = case.output((2, 9), scale=case.scale(0.2, 4) / 65536, zero=0, dtype=np.int32)
    case.model.op("QUANTIZE", [x], [y])


INT8 = [
    conv_2d, depthwise_conv_2d, fully_connected, transpose_conv, add, sub, mul, maximum, minimum, prelu,
    average_pool_2d, max_pool_2d, mean, arg_max, relu, relu6, relu_n1_to_1, logistic, tanh, hard_swish, elu, gelu,
    leaky_relu, quantize, softmax, reshape, squeeze, expand_dims, transpose, slice_, strided_slice, pad, concatenation,
    split, split_v, pack, unpack, resize_nearest_neighbor, resize_bilinear, abs_, exp, neg, relu_0_to_1,
    squared_difference, equal, not_equal, greater, greater_equal, less, less_equal, reverse_v2, tile, mirror_pad,
    gather, reduce_max, reduce_min, log, rsqrt, batch_matmul, int32, depth_to_space, space_to_depth,
    space_to_batch_nd, batch_to_space_nd, broadcast_to, arg_min,
]  # fmt: skip
# Their inputs and outputs are unsigned on the NPU, too.
UINT8 = [
    conv_2d, depthwise_conv_2d, fully_connected, add, sub, mul, maximum, minimum, average_pool_2d, max_pool_2d, mean,
    arg_max, relu, relu6, logistic, tanh, hard_swish, leaky_relu, quantize, softmax, reshape, transpose, slice_,
    pad, concatenation, split, pack, unpack, resize_nearest_neighbor, reduce_max, depth_to_space, space_to_batch_nd,
    arg_min,
]  # fmt: skip
INT16 = [conv_2d, depthwise_conv_2d, fully_connected, add, sub, mul, average_pool_2d, max_pool_2d, relu, leaky_relu, quantize, reshape, logistic, tanh, softmax, abs_, exp_16, log_16, rsqrt_16, quantize_wide, batch_matmul, equal, not_equal, greater, less_equal]  # fmt: skip


def make(function, seed, dtype=np.int8):
    case = Case(seed, dtype)
    function(case)
    return case.done()
