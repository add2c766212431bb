"""Random TOSA graphs that are difficult for a planner: branches, views of views, shared values, batches, unusual strides and dilations,
large sizes.

generate(seed, config) -> vela_graphs.Sample. Same seed, same sample.
"""

import numpy as np
import vela_graphs
from vela_graphs import OP, PROPAGATE, D, Impossible


def conv_of(g, x, channels, kernel, stride, dilation, dtype=D.INT8, padded=True):
    c = x.shape[3]
    y = g.conv2d(x, channels, kernel, stride, dilation, padded)
    return g.rescale(y, dtype, g.gain_of(kernel[0] * kernel[1] * c, dtype))


def reshape(g, x, shape):
    return g.op(OP.RESHAPE, [x, g.shape(shape)], shape, x.dtype, "ReshapeAttribute")


def transpose(g, x, perms):
    return g.op(OP.TRANSPOSE, [x], [x.shape[p] for p in perms], x.dtype, "TransposeAttribute", perms)


def slice_of(g, x):
    start = [0] + [g.int(0, s - 1) if g.chance(0.4) else 0 for s in x.shape[1:]]
    size = [x.shape[0]] + [
        g.int(1, s - b) if g.chance(0.5) else s - b for s, b in zip(x.shape[1:], start[1:], strict=True)
    ]
    return g.op(OP.SLICE, [x, g.shape(start), g.shape(size)], size, x.dtype, "SliceAttribute")


def concat(g, parts, axis):
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return g.op(OP.CONCAT, parts, shape, parts[0].dtype, "ConcatAttribute", axis)


def pad(g, x, value=None):
    padding = [0, 0] + [g.int(0, 2) for _ in range(4)] + [0, 0]
    if g.chance(0.2):
        padding[6:] = [g.int(0, 3), g.int(0, 3)]
    shape = [s + padding[2 * i] + padding[2 * i + 1] for i, s in enumerate(x.shape)]
    value = g.int(-128, 127) if value is None else value
    return g.op(OP.PAD, [x, g.shape(padding), g.const([value], x.dtype)], shape, x.dtype, "PadAttribute")


def softmax(g, x):
    """Softmax as a quantizer lowers it."""
    axis = len(x.shape) - 1
    one = [*x.shape[:-1], 1]
    top = g.op(OP.REDUCE_MAX, [x], one, D.INT8, "ReduceMaxAttribute", axis, PROPAGATE)
    zero_point = g.int(-128, 127)
    a, b = (g.rescale(v, D.INT32, 2.0**19 if g.chance(0.8) else 2.0**11, False, input_zp=zero_point) for v in (x, top))
    d = g.binary(OP.SUB, a, b, None, "SubAttribute")
    e = g.table(g.rescale(d, D.INT8, 2.0**-19 * g.random.uniform(0.3, 1), False, output_zp=127, input_zp=0))
    wide = [g.unit(e, -128) for _ in range(2)]
    total = g.op(OP.REDUCE_SUM, [wide[1]], one, D.INT32, "ReduceSumAttribute", axis)
    r = g.table(g.rescale(total, D.INT8, 1 / max(2, x.shape[-1]), False, input_zp=0))
    return g.rescale(g.mul(wide[0], g.unit(r, -128), D.INT32), D.INT8, 2.0**-8, False, input_zp=0)


def mean(g, x):
    zero_point = g.int(-128, 127)
    w = g.unit(x, zero_point)
    axes = [1, 2] if g.chance(0.5) else [2, 1]
    for axis in axes if g.chance(0.7) else axes[:1]:
        shape = [1 if i == axis else s for i, s in enumerate(w.shape)]
        w = g.op(OP.REDUCE_SUM, [w], shape, D.INT32, "ReduceSumAttribute", axis)
    return g.rescale(w, D.INT8, 1 / max(2, x.shape[1] * x.shape[2]), False, input_zp=0)


# --- kinds ---


def branches(g):
    """Convolutions whose results are sliced, padded, concatenated, added and transposed, in any order."""
    n = 1 if g.chance(0.8) else g.int(2, 3)
    dtype = D.INT8
    shape = g.image(16, 40, n)
    x = g.input(shape, dtype)
    if g.chance(0.4):
        x = transpose(g, g.input([n, shape[3], shape[1], shape[2]], dtype), [0, 2, 3, 1])
    values = [x]
    for _ in range(g.int(2, 9)):
        x = g.choice(values[-3:])
        n, h, w, c = x.shape
        layer = g.choice(["conv", "conv", "point", "depthwise", "slice", "pad", "concat", "concat", "add", "max", "avg", "table", "mean", "clamp", "transpose",
                          "reverse", "reshape", "mul"])  # fmt: skip
        if layer == "conv":
            k = [g.int(1, min(3, h)), g.int(1, min(3, w))]
            y = conv_of(g, x, g.int(1, 40), k, [g.int(1, 2), g.int(1, 2)], [1, 1])
        elif layer == "point":
            y = conv_of(g, x, g.choice([8, 16, 19, 32]), [1, 1], [1, 1], [1, 1])
        elif layer == "depthwise":
            k = [g.int(1, min(3, h)), g.int(1, min(3, w))]
            y = g.rescale(
                g.depthwise(x, g.choice([1, 1, 1, 2]), k, [1, 1], [1, 1]), dtype, g.gain_of(k[0] * k[1], dtype)
            )
        elif layer == "slice":
            y = slice_of(g, x)
        elif layer == "pad":
            zero_point = g.int(-128, 127)
            y = pad(g, x, zero_point)
            if g.chance(0.7):
                z = g.conv2d(y, g.int(1, 20), [min(3, y.shape[1]), min(3, y.shape[2])], [1, 1], [1, 1], padded=False)
                y = g.rescale(z, dtype, g.gain_of(9 * c, dtype))
        elif layer == "concat":
            axis = g.int(1, 3)
            others = [
                v
                for v in values
                if [s for i, s in enumerate(v.shape) if i != axis] == [s for i, s in enumerate(x.shape) if i != axis]
            ]
            y = concat(g, [x, *[g.choice(others) for _ in range(g.int(1, 2))]], axis)
        elif layer == "add":
            others = [v for v in values if v.shape == x.shape]
            y = g.requantized_add(x, g.choice(others), g.choice([OP.ADD, OP.SUB]))
        elif layer == "mul":
            others = [v for v in values if v.shape == x.shape]
            y = g.rescale(
                g.mul(g.unit(x, g.int(-128, 127)), g.unit(g.choice(others), 3), D.INT32),
                dtype,
                2.0**-7,
                False,
                input_zp=0,
            )
        elif layer == "max":
            y = g.max_pool(x, [g.int(1, min(3, h)), g.int(1, min(3, w))], [g.int(1, 2), g.int(1, 2)])
        elif layer == "avg":
            y = g.avg_pool(x, [g.int(1, min(3, h)), g.int(1, min(3, w))], [g.int(1, 2), g.int(1, 2)])
        elif layer == "table":
            y = g.table(x)
        elif layer == "mean":
            y = mean(g, x)
        elif layer == "clamp":
            y = g.clamp(x)
        elif layer == "transpose":
            y = transpose(g, x, [0] + [int(p) + 1 for p in g.random.permutation(3)])
        elif layer == "reverse":
            y = g.op(OP.REVERSE, [x], x.shape, x.dtype, "ReverseAttribute", g.int(1, 3))
        else:
            y = reshape(g, x, g.choice([[n, 1, h * w, c], [n, h, 1, w * c], [n, w, h, c], [n, h * w, 1, c]]))
        if int(np.prod(y.shape)) > 60000:
            raise Impossible
        values.append(y)
    y = values[-1]
    if g.chance(0.3):
        y = transpose(g, y, [0, 3, 1, 2])
    elif g.chance(0.3):
        y = reshape(g, y, [y.shape[0], int(np.prod(y.shape[1:]))])
    outputs = [y]
    if g.chance(0.3):
        outputs.append(g.choice([v for v in values if v is not y]))
        if outputs[-1] is values[0] and g.chance(0.8):
            outputs.pop()
    return g.finish(*outputs)


def classifier(g):
    """A small image classifier that starts with planes and ends with a softmax."""
    n = 1
    h, w, c = g.int(6, 30), g.int(6, 30), g.choice([1, 3])
    x = transpose(g, g.input([n, c, h, w], D.INT8), [0, 2, 3, 1])
    for _ in range(g.int(1, 3)):
        k = g.choice([1, 2, 3, 5])
        stride = [g.int(1, 2), g.int(1, 2)]
        x = conv_of(g, x, g.choice([4, 8, 16, 24]), [min(k, x.shape[1]), min(k, x.shape[2])], stride, [1, 1])
        if g.chance(0.6):
            x = g.clamp(x)
        if g.chance(0.3):
            y = conv_of(g, x, x.shape[3], [1, 1], [1, 1], [1, 1])
            x = g.requantized_add(x, y)
    x = mean(g, x) if g.chance(0.5) else x
    features = int(np.prod(x.shape[1:]))
    x = reshape(g, x, [n, 1, 1, features])
    x = conv_of(g, x, g.int(2, 20), [1, 1], [1, 1], [1, 1])
    x = reshape(g, x, [n, x.shape[3]])
    return g.finish(softmax(g, x) if g.chance(0.7) else x)


def odd_windows(g):
    """Strides and dilations that the NPU does not have, kernels larger than the input, padding on all sides."""
    dtype = g.choice([D.INT8, D.INT8, D.INT16])
    n = g.int(1, 2)
    h, w, c = g.int(1, 30), g.int(1, 30), g.choice([1, 3, 8, 17])
    k = [g.int(1, 6), g.int(1, 6)]
    stride, dilation = [g.int(1, 6), g.int(1, 6)], [g.int(1, 6), g.int(1, 6)]
    if g.chance(0.3):
        w, k[1] = 1, 1
    x = g.input([n, h, w, c], dtype)
    kind = g.choice(["conv", "depthwise", "max", "avg", "transposed"])
    if kind == "conv":
        return g.finish(conv_of(g, x, g.int(1, 20), k, stride, dilation, dtype))
    if kind == "depthwise":
        return g.finish(
            g.rescale(g.depthwise(x, g.choice([1, 2, 3]), k, stride, dilation), dtype, g.gain_of(k[0] * k[1], dtype))
        )
    if kind == "transposed":
        x = g.input([n, g.int(1, 8), g.int(1, 8), c], D.INT8)
        stride = [2, 2] if g.chance(0.5) else [g.int(1, 4), g.int(1, 4)]
        out_pad = [g.int(1 - k[0], 3), g.int(1 - k[0], 3), g.int(1 - k[1], 3), g.int(1 - k[1], 3)]
        out = [
            n,
            (x.shape[1] - 1) * stride[0] + out_pad[0] + out_pad[1] + k[0],
            (x.shape[2] - 1) * stride[1] + out_pad[2] + out_pad[3] + k[1],
            5,
        ]
        weights = g.const(g.weights([5, *k, c]), D.INT8)
        inputs = [x, weights, g.bias(5, False), g.zero_point(D.INT8), g.zero_point(D.INT8, 0)]
        y = g.op(OP.TRANSPOSE_CONV2D, inputs, out, D.INT32, "TransposeConv2dAttribute", out_pad, stride, False, D.INT32)
        return g.finish(g.rescale(y, D.INT8, g.gain_of(k[0] * k[1] * c, D.INT8)))
    h, w = max(h, k[0]), max(w, k[1])
    x = g.input([n, h, w, c], dtype)
    return g.finish(g.max_pool(x, k, stride) if kind == "max" else g.avg_pool(x, k, stride))


def every_second(g, x, axis):
    """x[..., ::2, ...] as exporters write it: a reshape, a slice, a reshape."""
    shape = list(x.shape)
    if shape[axis] % 2:
        raise Impossible
    split = [*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :]]
    y = reshape(g, x, split)
    size = [1 if i == axis + 1 else s for i, s in enumerate(split)]
    start = [g.int(0, 1) if i == axis + 1 else 0 for i in range(len(split))]
    y = g.op(OP.SLICE, [y, g.shape(start), g.shape(size)], size, y.dtype, "SliceAttribute")
    shape[axis] //= 2
    return reshape(g, y, shape)


def shortcuts(g):
    """Residual networks with channels outermost: strided and padded shortcuts, slices and additions after transposes, outputs in both
    layouts."""
    h, w = 2 * g.int(2, 12), 2 * g.int(2, 12)
    planes = g.input([1, g.choice([3, 8, 12, 16]), h, w], D.INT8)
    x = planes
    if g.chance(0.4):  # rows or columns that are not read
        size = [1, x.shape[1], h - g.int(0, 1), w - g.int(0, 3)]
        start = [0, 0, g.int(0, h - size[2]), g.int(0, w - size[3])]
        if g.chance(0.5):
            x = g.op(OP.SLICE, [x, g.shape(start), g.shape(size)], size, x.dtype, "SliceAttribute")
            y = conv_of(g, transpose(g, x, [0, 2, 3, 1]), 16, [3, 3], [1, 1], [1, 1])
        else:
            move = lambda v: [v[i] for i in (0, 2, 3, 1)]
            y = transpose(g, x, [0, 2, 3, 1])
            y = g.op(OP.SLICE, [y, g.shape(move(start)), g.shape(move(size))], move(size), y.dtype, "SliceAttribute")
            y = conv_of(g, y, 16, [3, 3], [2, 2] if g.chance(0.5) else [1, 1], [1, 1], padded=g.chance(0.5))
        return g.finish(transpose(g, y, [0, 3, 1, 2]) if g.chance(0.7) else y)
    if g.chance(0.7):
        x = transpose(
            g, g.clamp(conv_of(g, transpose(g, x, [0, 2, 3, 1]), x.shape[1], [3, 3], [1, 1], [1, 1])), [0, 3, 1, 2]
        )
    more = g.int(0, 4)
    y = conv_of(g, transpose(g, x, [0, 2, 3, 1]), x.shape[1] + 2 * more, [3, 3], [2, 2], [1, 1])
    short = every_second(g, every_second(g, x, 2), 3)
    if more:
        padding = [0, 0, more, more, 0, 0, 0, 0]
        shape = [1, short.shape[1] + 2 * more, *short.shape[2:]]
        short = g.op(
            OP.PAD, [short, g.shape(padding), g.const([g.int(-128, 127)], D.INT8)], shape, D.INT8, "PadAttribute"
        )
    y = transpose(g, y, [0, 3, 1, 2])
    if list(y.shape) != list(short.shape):
        raise Impossible
    z = g.requantized_add(y, short, g.choice([OP.ADD, OP.SUB]))
    return g.finish(
        *([z, conv_of(g, transpose(g, z, [0, 2, 3, 1]), 8, [1, 1], [1, 1], [1, 1])] if g.chance(0.5) else [z])
    )


def first_layers(g):
    """Convolutions with few channels or with strides that the NPU does not have: patches, pixels folded into channels. The input has either
    layout and may be sliced."""
    n = 1 if g.chance(0.8) else 2
    c, dtype = g.choice([1, 2, 3, 3, 4, 8]), D.INT8 if g.chance(0.85) else D.INT16
    stride = [g.choice([1, 2, 2, 3, 4, 5, 8]), g.choice([2, 2, 3, 4, 5, 8])]
    k = [max(1, s + g.choice([0, 0, 0, -1, 1, 3])) for s in stride]
    outputs = [g.int(1, 9), g.int(1, 9)]
    h, w = ((o - 1) * s + a + g.choice([0, 0, 1]) for o, s, a in zip(outputs, stride, k, strict=True))
    if g.chance(0.5):
        x = transpose(g, g.input([n, c, h + 1, w + 1], dtype), [0, 2, 3, 1])
    else:
        x = g.input([n, h + 1, w + 1, c], dtype)
    if g.chance(0.6):
        start = [0, g.int(0, 1), g.int(0, 1), 0]
        x = g.op(OP.SLICE, [x, g.shape(start), g.shape([n, h, w, c])], [n, h, w, c], dtype, "SliceAttribute")
    if g.chance(0.3) and dtype == D.INT8:
        x = g.clamp(x)
    return g.finish(conv_of(g, x, g.choice([3, 16, 24, 64]), k, stride, [1, 1], dtype, padded=g.chance(0.5)))


def long_rows(g):
    """The maximum over many channels, alone or in a softmax, with rows that are not adjacent in memory."""
    shape = [g.int(1, 3), g.int(1, 40), g.choice([12, 33, 64, 97, 200, g.int(8, 400)])]
    dtype = D.INT8 if g.chance(0.8) else D.INT16
    x = g.input(shape, dtype)
    if g.chance(0.3):
        x = slice_of(g, x)
    if g.chance(0.2):
        x = transpose(g, x, [0, 2, 1])
    if dtype == D.INT8 and g.chance(0.5):
        return g.finish(softmax(g, x))
    return g.finish(g.op(OP.REDUCE_MAX, [x], [*x.shape[:-1], 1], dtype, "ReduceMaxAttribute", 2, PROPAGATE))


def large(g):
    """Sizes that need many blocks or several operations."""
    kind = g.choice(["image", "vector", "planes", "deep", "row", "wide", "mean"])
    if kind == "image":
        x = g.input([1, g.int(80, 160), g.int(80, 160), g.choice([3, 8])], D.INT8)
        return g.finish(conv_of(g, x, g.choice([8, 16]), [3, 3], [2, 2], [1, 1]))
    if kind == "vector":
        a = g.input([1, g.choice([5000, 8192, 70000, 65536 + 16])], D.INT8)
        return g.finish(g.requantized_add(a, g.operand(a.shape, D.INT8)))
    if kind == "planes":
        x = g.input([1, g.choice([3, 20, 70]), g.int(20, 60), g.int(20, 60)], g.choice([D.INT8, D.INT16]))
        return g.finish(g.clamp(transpose(g, x, [0, 2, 3, 1])))
    if kind == "deep":
        x = g.input([1, 2, 3, g.int(500, 1500)], D.INT8)
        return g.finish(conv_of(g, x, g.int(130, 300), [1, 1], [1, 1], [1, 1]))
    if kind == "row":
        x = g.input([1, 1, g.int(2000, 9000), 2], D.INT8)
        return g.finish(conv_of(g, x, 4, [1, 9], [1, 2], [1, 1]))
    if kind == "wide":
        x = g.input([g.int(1, 3), g.int(2, 4), g.int(2, 5), g.int(2, 6), g.int(2, 40)], D.INT8)
        b = g.operand([1 if g.chance(0.5) else s for s in x.shape], D.INT8)
        return g.finish(transpose(g, g.requantized_add(x, b), [int(p) for p in g.random.permutation(5)]))
    x = g.input([1, g.int(30, 70), g.int(30, 70), g.int(1, 20)], D.INT8)
    return g.finish(mean(g, x))


def shared(g):
    """Values with several readers, so that later operators cannot reuse their memory."""
    x = g.input(g.image(8, 24), D.INT8)
    y = g.conv2d(x, g.int(1, 24), [1, 1], [1, 1], [1, 1])
    a = g.rescale(y, D.INT8, g.gain_of(x.shape[3], D.INT8))
    b = g.rescale(y, D.INT8, g.gain_of(x.shape[3], D.INT8), rounding=g.rounding())
    c = g.clamp(a)
    w = g.unit(c, 5)
    d = g.rescale(
        g.binary(OP.ADD, w, g.rescale(b, D.INT32, 1.0, False), None, "AddAttribute"), D.INT8, 0.5, False, input_zp=0
    )
    e = g.binary(OP.MAXIMUM, w, g.unit(d, 1), None, "MaximumAttribute", PROPAGATE)
    f = g.rescale(e, D.INT8, 0.9, False, input_zp=0)
    outputs = [v for v in (a, b, c, d, e, f) if g.chance(0.4)] or [f]
    return g.finish(*outputs)


def sixteen(g):
    """int16 activations: tables with interpolation, 40-bit sums, additions."""
    x = g.input(g.image(8, 24), D.INT16)
    for _ in range(g.int(1, 4)):
        layer = g.choice(["conv", "table", "add", "max", "avg", "depthwise"])
        n, h, w, c = x.shape
        k = [g.int(1, min(3, h)), g.int(1, min(3, w))]
        if layer == "conv":
            x = conv_of(g, x, g.int(1, 24), k, [1, 1], [1, 1], D.INT16)
        elif layer == "depthwise":
            x = g.rescale(g.depthwise(x, 1, k, [1, 1], [1, 1]), D.INT16, g.gain_of(9, D.INT16))
        elif layer == "table":
            x = g.rescale(g.table(x), D.INT16, 2.0**-7, False, input_zp=0)
        elif layer == "add":
            x = g.requantized_add(x, g.operand(x.shape, D.INT16))
        elif layer == "max":
            x = g.max_pool(x, k, [1, 1])
        else:
            x = g.avg_pool(x, k, [1, 1])
    return g.finish(x)


def gates(g):
    """The steps of a recurrent network: they share a few tables, of which the NPU holds only some at a time. The convolutions
    between the steps take time beside which tables are copied."""
    dtype = D.INT16 if g.chance(0.8) else D.INT8
    n, steps = g.int(1, 40), g.int(2, 6)
    x = g.input([1, steps, 1, n], dtype)
    state = g.input([1, 1, 1, n], dtype)
    tables = []
    for _ in range(g.int(2, 3)):
        values = np.clip(np.cumsum(g.random.integers(-3000, 3000, 513)), -32768, 32767)
        tables.append(g.const(values, D.INT16) if dtype == D.INT16 else g.const(g.values([256], D.INT8), D.INT8))
    channels = g.int(1, 24)

    def looked_up(y, table):
        wide = dtype == D.INT16
        z = g.op(OP.TABLE, [y, table], y.shape, D.INT32 if wide else D.INT8, "TableAttribute")
        return g.rescale(z, dtype, 2.0**-7, False, input_zp=0, output_zp=0) if wide else z

    for step in range(steps):
        size = [1, 1, 1, n]
        part = g.op(OP.SLICE, [x, g.shape([0, step, 0, 0]), g.shape(size)], size, dtype, "SliceAttribute")
        y = g.requantized_add(part, state)
        for table in tables:
            y = looked_up(y, table)
            if g.chance(0.3):
                y = g.requantized_add(y, state)
        if g.chance(0.5):
            y = conv_of(g, y, channels, [1, 1], [1, 1], [1, 1], dtype)
            y = conv_of(g, y, n, [1, 1], [1, 1], [1, 1], dtype)
        state = looked_up(y, g.choice(tables))
    return g.finish(state)


def line(g, x):
    """A TABLE that a scaling and limits, or a magnitude, give as well, like that of RELU: sometimes but for one entry."""
    values = np.arange(-128, 128) - g.int(-128, 127)
    if g.chance(0.3):
        values = np.abs(values)
    low, high = sorted([g.int(-128, 127), g.int(-128, 127)])
    scaled = np.floor(values * g.random.uniform(0.02, 3) + 0.5) + g.int(-128, 127)
    table = np.clip(scaled, *((low, high) if g.chance(0.5) else (-128, 127)))
    if g.chance(0.15):
        table[g.int(0, 255)] += 1
    return g.op(OP.TABLE, [x, g.const(np.clip(table, -128, 127), D.INT8)], x.shape, D.INT8, "TableAttribute")


def lines(g):
    """Lookups without a table, alone and behind operations, and comparisons of values that are widened only."""
    x = g.input(g.image(12, 24), D.INT8)
    if g.chance(0.3):
        x = g.max_pool(x, [1, 1], [1, 1])
    a, b = line(g, x), line(g, line(g, x) if g.chance(0.5) else x)
    outputs = [a, b, line(g, g.requantized_add(a, b))]
    zero = g.int(-128, 127)
    wide = [g.unit(v, zero if g.chance(0.8) else None) for v in (a, b)]
    op, attribute = g.choice(
        [(OP.EQUAL, "EqualAttribute"), (OP.GREATER, "GreaterAttribute"), (OP.GREATER_EQUAL, "GreaterEqualAttribute")]
    )
    truth = g.binary(op, *wide, D.BOOL, attribute)
    if g.chance(0.5):
        truth = g.op(OP.LOGICAL_NOT, [truth], truth.shape, D.BOOL, "LogicalNotAttribute")
    outputs.append(g.op(OP.SELECT, [truth, a, b], a.shape, D.INT8, "SelectAttribute") if g.chance(0.5) else truth)
    return g.finish(*outputs)


def attention(g):
    """Matrix products of two computed values, with a softmax between them."""
    heads, t, d = g.int(1, 3), g.int(1, 12), g.int(1, 16)
    q, k, v = (g.input([heads, t, d], D.INT8) for _ in range(3))
    kt = transpose(g, k, [0, 2, 1])
    y = g.op(OP.MATMUL, [q, kt, g.zero_point(D.INT8), g.zero_point(D.INT8)], [heads, t, t], D.INT32, "MatMulAttribute")
    y = softmax(g, g.rescale(y, D.INT8, g.gain_of(d, D.INT8), False))
    y = g.op(OP.MATMUL, [y, v, g.zero_point(D.INT8), g.zero_point(D.INT8)], [heads, t, d], D.INT32, "MatMulAttribute")
    y = transpose(g, g.rescale(y, D.INT8, g.gain_of(t, D.INT8), False), [1, 0, 2])
    return g.finish(reshape(g, y, [t, heads * d]))


def tokens(g):
    """Planes that become tokens, with channels before tokens: concatenated, added to constants, normalized along the channels, divided into
    heads and merged again."""
    c, h, w = 4 * g.int(1, 6), g.int(2, 6), g.int(2, 6)
    x = g.input([1, h, w, g.choice([3, 8])], D.INT8)
    planes = transpose(g, conv_of(g, x, c, [1, 1], [1, 1], [1, 1]), [0, 3, 1, 2])
    y = reshape(g, planes, [1, c, h * w])
    if g.chance(0.7):
        parts = [y, g.operand([1, c, g.int(1, 3)], D.INT8, const=0.7)]
        y = concat(g, parts if g.chance(0.5) else parts[::-1], 2)
    t = y.shape[2]
    y = g.requantized_add(y, g.operand(y.shape, D.INT8, const=0.7))
    if g.chance(0.6):
        wide = g.unit(y, g.int(-128, 127))
        mean = g.rescale(
            g.op(OP.REDUCE_SUM, [wide], [1, 1, t], D.INT32, "ReduceSumAttribute", 1), D.INT8, 1 / c, False, input_zp=0
        )
        y = g.requantized_add(y, mean, OP.SUB)
    if g.chance(0.3):
        return g.finish(g.op(OP.REDUCE_MAX, [y], [1, 1, t], D.INT8, "ReduceMaxAttribute", 1, PROPAGATE))
    y = reshape(g, transpose(g, y, [0, 2, 1]), [1, t, 1, c])
    y = conv_of(g, y, c, [1, 1], [1, 1], [1, 1])
    heads = transpose(g, reshape(g, y, [1, t, 4, c // 4]), [0, 2, 1, 3])
    merged = transpose(g, g.clamp(heads), [0, 2, 1, 3])
    return g.finish(reshape(g, merged, [1, t, c]))


def products(g):
    """One matrix product of two computed values: any zero points, sizes that need padding or several parts, results with and without a
    scale."""
    n, h, c, w = (
        g.int(1, 3),
        g.choice([1, 5, 16, 33, 60]),
        g.choice([1, 4, 6, 16, 40, 64, 77, 130]),
        g.choice([1, 3, 8, 21, 70, 130, 200]),
    )
    a, b = g.input([n, h, c], D.INT8), g.input([n, c, w], D.INT8)
    if g.chance(0.6):
        b = transpose(g, g.input([n, w, c], D.INT8), [0, 2, 1])
    if g.chance(0.3):
        a = transpose(g, g.input([h, n, c], D.INT8), [1, 0, 2])
    zero = g.zero_point(D.INT8, 127) if g.chance(0.1) else g.zero_point(D.INT8)
    y = g.op(OP.MATMUL, [a, b, g.zero_point(D.INT8), zero], [n, h, w], D.INT32, "MatMulAttribute")
    if g.chance(0.7):
        y = g.rescale(y, D.INT8, g.gain_of(c, D.INT8), g.chance(0.3))
        if g.chance(0.3):
            y = g.clamp(y)
        if g.chance(0.3):
            y = reshape(g, transpose(g, y, [1, 0, 2]), [h, n * w])
    return g.finish(y)


def transposed_parts(g):
    """Results that are concatenated with a transposed tensor, so that they may get its layout."""
    n, h, w, c = g.int(1, 3), g.int(2, 17), g.int(1, 6), g.choice([2, 8, 16, 17])
    x = transpose(g, g.input([n, c, h, w], D.INT8), [0, 2, 3, 1])
    kind = g.choice(["depthwise", "point", "max", "avg", "mul"])
    if kind == "depthwise":
        y = g.rescale(g.depthwise(x, 1, [1, 1], [1, 1], [1, 1]), D.INT8, g.gain_of(1, D.INT8))
    elif kind == "point":
        y = conv_of(g, x, c, [1, 1], [1, 1], [1, 1])
    elif kind == "mul":
        y = g.rescale(g.mul(g.unit(x, 3), g.unit(x, -5), D.INT32), D.INT8, 2.0**-7, False, input_zp=0)
    else:
        y = (g.max_pool if kind == "max" else g.avg_pool)(x, [1, 1], [1, 1])
    joined = concat(g, [y, x] if g.chance(0.7) else [x, y], g.choice([1, 2]))
    return g.finish(g.clamp(y), g.rescale(joined, D.INT8, 0.9, False) if g.chance(0.5) else g.clamp(joined))


def transposed_results(g):
    """Convolutions and pools whose results only a TRANSPOSE reads, in front of an output, a CONCAT or a RESHAPE, in every axis order."""
    dtype = g.choice([D.INT8, D.INT8, D.INT16])
    n, h, w, c = g.int(1, 2), g.int(1, 25), g.int(1, 25), g.choice([1, 3, 16, 24, 40])
    x = g.input([n, h, w, c], dtype)

    def result():
        kind = g.choice(["conv", "conv", "point", "depthwise", "max", "avg"])
        if kind in ("conv", "point"):
            k = 1 if kind == "point" else min(3, h, w)
            return conv_of(g, x, g.int(1, 50), [k, k], [g.int(1, 2)] * 2, [1, 1], dtype)
        if kind == "depthwise":
            k = min(3, h, w)
            return g.rescale(g.depthwise(x, 1, [k, k], [1, 1], [1, 1]), dtype, g.gain_of(k * k, dtype))
        return (g.max_pool if kind == "max" else g.avg_pool)(x, [1, min(2, w)], [1, g.int(1, 2)])

    def moved(y):
        perms = (
            [0] + [int(p) + 1 for p in g.random.permutation(3)]
            if g.chance(0.8)
            else [int(p) for p in g.random.permutation(4)]
        )
        return transpose(g, g.table(y) if g.chance(0.2) else y, perms)

    outputs = [moved(result()) for _ in range(g.int(1, 2))]
    y = moved(result())
    if g.chance(0.3):
        y = concat(g, [y, y], g.int(1, 3))
    if g.chance(0.3):
        y = reshape(g, y, [int(np.prod(y.shape[:2])), int(np.prod(y.shape[2:]))])
    return g.finish(y, *outputs)


def functions(g):
    """Chains of operators on one narrow value and constants, which one lookup may compute; parts of them have other readers."""
    dtype = g.choice([D.INT8, D.INT8, D.INT16])
    x = g.input(g.image(8, 24), dtype)
    if g.chance(0.4):
        x = g.requantized_add(x, g.input(x.shape, dtype), g.choice([OP.ADD, OP.SUB]))
    narrow_limit = 2**7 if dtype == D.INT8 else 2**15
    # With bounds of the magnitudes, so that no sum overflows.
    values = [(g.unit(x, g.int(-128, 127) if dtype == D.INT8 else 0), 2 * narrow_limit)]
    one = [1] * len(x.shape)

    def step():
        a, limit = g.choice(values)
        b, other = g.choice(values)
        if g.chance(0.5):
            other = g.choice([1, 5, 100, 2**10])
            b = g.const(np.full(one, g.int(-other, other)), D.INT32)
        kind = g.choice(["add", "sub", "mul", "max", "min", "right", "left", "abs", "table", "wrap", "scale"])
        if kind in ("add", "sub") and limit + other < 2**31:
            op = OP.ADD if kind == "add" else OP.SUB
            return g.binary(op, a, b, None, f"{kind.title()}Attribute"), limit + other
        if kind == "mul":
            shift = max(0, int(np.ceil(np.log2(limit * other))) - 29)
            return g.mul(a, b, D.INT32, shift), max(1, limit * other >> shift) + 1
        if kind in ("max", "min"):
            op = OP.MAXIMUM if kind == "max" else OP.MINIMUM
            return g.binary(op, a, b, None, f"{kind.title()}imumAttribute", PROPAGATE), max(limit, other)
        if kind == "right":
            by = g.const(np.full(one, g.int(0, 6)), D.INT32)
            return g.binary(OP.ARITHMETIC_RIGHT_SHIFT, a, by, None, "ArithmeticRightShiftAttribute", True), limit
        if kind == "left" and limit < 2**26:
            by = g.int(0, 4)
            amount = g.const(np.full(one, by), D.INT32)
            return g.binary(OP.LOGICAL_LEFT_SHIFT, a, amount, None, "LogicalLeftShiftAttribute"), limit << by
        if kind == "abs":
            return g.op(OP.ABS, [a], a.shape, D.INT32, "AbsAttribute"), limit
        if kind == "wrap" and g.u85:  # keeps the low bits
            small = g.choice([D.INT8, D.INT16])
            low = g.op(OP.CAST, [a], a.shape, small, "CastAttribute")
            return g.op(OP.CAST, [low], a.shape, D.INT32, "CastAttribute"), 2**15
        if kind == "table":
            small = g.choice([D.INT8, D.INT16])
            gain = min(1.0, (127 if small == D.INT8 else 32767) / limit)
            y = g.table(g.rescale(a, small, gain, False, input_zp=0))
            return (g.unit(y), 2**8) if small == D.INT8 else (y, 2**23)
        if kind == "scale":
            return g.rescale(a, D.INT32, 2.0 ** -g.int(1, 8), False), limit
        raise Impossible

    for _ in range(g.int(4, 16)):
        values.append(step())
    y, limit = values[-1]
    if g.chance(0.3):
        return g.finish(y, g.choice(values)[0])
    small = g.choice([D.INT8, D.INT16])
    return g.finish(g.rescale(y, small, min(1.0, (100 if small == D.INT8 else 30000) / limit), False, input_zp=0))


KINDS = [
    (branches, 9),
    (classifier, 4),
    (odd_windows, 6),
    (large, 2),
    (shortcuts, 3),
    (first_layers, 4),
    (long_rows, 2),
    (products, 3),
    (tokens, 3),
    (shared, 3),
    (sixteen, 3),
    (gates, 3),
    (functions, 4),
    (lines, 3),
    (attention, 2),
    (transposed_parts, 2),
    (transposed_results, 4),
]


def generate(seed, config, builder=vela_graphs.Builder):
    """A sample. A choice without a legal form is drawn again."""
    random = np.random.default_rng([seed, 55])
    weights = np.array([w for _, w in KINDS], float)
    while True:
        make = KINDS[int(random.choice(len(KINDS), p=weights / weights.sum()))][0]
        g = builder(random, config)
        try:
            tosa, inputs = make(g)
        except Impossible:
            continue
        return vela_graphs.Sample(make.__name__, config, tosa, inputs)
