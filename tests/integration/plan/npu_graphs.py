"""The graphs of vela_graphs.py and plan_graphs.py, and more that Vela supports. Their Vela streams test the simulator.

generate(seed, config, kind) -> Sample. plan(config, count) -> the kinds to draw, so that every kind of a family occurs in it.
"""

import numpy as np
import plan_graphs
import vela_graphs
from vela_graphs import BOTH, D, LIMITS, OP, PROPAGATE, U85, Builder, Impossible, Sample, ts

vela_graphs.NUMPY[D.INT4] = np.int8
LIMITS[D.INT4] = (-7, 7)


def shape_of_rank(g, rank, max_elements=400):
    while True:
        shape = [g.choice([1, 2, 3, 5, 8, 16, 17]) for _ in range(rank)]
        if np.prod(shape) <= max_elements:
            return shape


# --- windows ---


def batched(g):
    """More than one image."""
    n, (_, h, w, c) = g.int(2, 4), g.image(9, 24)
    kernel, stride = [g.int(1, min(h, 3)), g.int(1, min(w, 3))], [g.int(1, 2), g.int(1, 2)]
    x = g.input([n, h, w, c], D.INT8)
    form = g.int(0, 2)
    if form == 0:
        y = g.rescale(
            g.conv2d(x, g.int(1, 24), kernel, stride, [1, 1]), D.INT8, g.gain_of(kernel[0] * kernel[1] * c, D.INT8)
        )
    elif form == 1:
        y = g.rescale(g.depthwise(x, 1, kernel, stride, [1, 1]), D.INT8, g.gain_of(kernel[0] * kernel[1], D.INT8))
    else:
        y = g.max_pool(x, kernel, stride)
    return g.finish(y)


def conv16(g):
    """16-bit activations with every width of result, and saturating results."""
    shape = g.image(10, 40)
    kernel = [g.int(1, min(shape[1], 3)), g.int(1, min(shape[2], 3))]
    x = g.input(shape, D.INT16)
    y = g.conv2d(x, g.int(1, 40), kernel, [g.int(1, 2), g.int(1, 2)], [1, 1])
    target = g.choice([D.INT8, D.INT16, D.INT32])
    gain = g.gain_of(kernel[0] * kernel[1] * shape[3], D.INT16)
    return g.finish(
        g.rescale(y, target, {D.INT8: gain / 256, D.INT16: gain * g.choice([1, 8]), D.INT32: gain * 4}[target])
    )


def dilated16(g):
    shape = [1, g.int(5, 14), g.int(5, 14), g.int(1, 24)]
    x = g.input(shape, D.INT16)
    if g.chance(0.5):
        y = g.conv2d(x, g.int(1, 24), [2, 3], [1, 1], [2, 2])
    else:
        y = g.depthwise(x, 1, [3, 2], [1, g.int(1, 2)], [2, g.int(1, 2)])
    return g.finish(g.rescale(y, D.INT16, g.gain_of(6, D.INT16)))


def int4_weights(g):
    shape = g.image(10, 40)
    channels, kernel = g.int(1, 24), [g.int(1, min(shape[1], 3)), g.int(1, min(shape[2], 3))]
    top, bottom, oh = g.window(shape[1], kernel[0], 1, 1)
    left, right, ow = g.window(shape[2], kernel[1], 1, 1)
    weights = g.const(g.random.integers(-7, 8, [channels, *kernel, shape[3]]), D.INT4)
    inputs = [g.input(shape, D.INT8), weights, g.bias(channels, False), g.zero_point(D.INT8), g.const([0], D.INT4)]
    attributes = ["Conv2dAttribute", [top, bottom, left, right], [1, 1], [1, 1], False, D.INT32]
    y = g.op(OP.CONV2D, inputs, [shape[0], oh, ow, channels], D.INT32, *attributes)
    return g.finish(g.rescale(y, D.INT8, g.gain_of(kernel[0] * kernel[1] * shape[3], D.INT8) * 16))


def dynamic_weights(g):
    """Weights that are an input of the graph."""
    shape = [1, g.int(1, 8), g.int(1, 8), g.int(1, 24)]
    channels = g.int(1, 20)
    x, weights = g.input(shape, D.INT8), g.input([channels, 1, 1, shape[3]], D.INT8, -127, 127)
    inputs = [x, weights, g.bias(channels, False), g.zero_point(D.INT8), g.zero_point(D.INT8, 0)]
    y = g.op(
        OP.CONV2D, inputs, [*shape[:3], channels], D.INT32, "Conv2dAttribute", [0] * 4, [1, 1], [1, 1], False, D.INT32
    )
    return g.finish(g.rescale(y, D.INT8, g.gain_of(shape[3], D.INT8), False))


def padded_conv(g):
    """An explicit PAD in front of a window."""
    shape = g.image(10, 24)
    padding = [0, 0, g.int(0, 2), g.int(0, 2), g.int(0, 2), g.int(0, 2), 0, 0]
    out = [s + padding[2 * i] + padding[2 * i + 1] for i, s in enumerate(shape)]
    zero = g.int(-128, 127)
    value = g.const([zero if g.chance(0.7) else g.int(-128, 127)], D.INT8)
    y = g.op(OP.PAD, [g.input(shape, D.INT8), g.shape(padding), value], out, D.INT8, "PadAttribute")
    kernel = [g.int(1, min(out[1], 3)), g.int(1, min(out[2], 3))]
    weights = g.const(g.weights([8, *kernel, out[3]]), D.INT8)
    inputs = [y, weights, g.bias(8, False), g.zero_point(D.INT8, zero), g.zero_point(D.INT8, 0)]
    result = [1, out[1] - kernel[0] + 1, out[2] - kernel[1] + 1, 8]
    y = g.op(OP.CONV2D, inputs, result, D.INT32, "Conv2dAttribute", [0] * 4, [1, 1], [1, 1], False, D.INT32)
    return g.finish(g.rescale(y, D.INT8, g.gain_of(kernel[0] * kernel[1] * out[3], D.INT8)))


def long_rows(g):
    """Maps that are far from square."""
    long, other = g.int(200, 1500), g.int(1, 3)
    shape = g.choice([[1, 1, long, other], [1, long, 1, other], [1, 1, other, long], [1, other, 2, long // 4]])
    form = g.int(0, 2)
    x = g.input(shape, D.INT8)
    if form == 0:
        kernel = [1, g.int(1, min(5, shape[2]))]
        y = g.rescale(
            g.conv2d(x, g.int(1, 12), kernel, [1, g.int(1, 3)], [1, 1]), D.INT8, g.gain_of(kernel[1] * shape[3], D.INT8)
        )
    elif form == 1:
        y = g.max_pool(x, [1, min(3, shape[2])], [1, 1])
    else:
        y = g.requantized_add(x, g.input([1, 1, 1, shape[3]], D.INT8))
    return g.finish(y)


# --- elementwise ---


def scalars(g):
    """An operand of one element, constant or not, on either side."""
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    small = 2**20
    limits = (-small, small) if dtype == D.INT32 else (None, None)
    shape = g.image(10, 40)
    x, one = g.input(shape, dtype, *limits), g.operand([1, 1, 1, 1], dtype, *limits, const=0.7)
    a, b = (x, one) if g.chance(0.5) else (one, x)
    form = g.int(0, 3)
    if form == 0 and dtype != D.INT32:
        return g.finish(g.requantized_add(a, b, g.choice([OP.ADD, OP.SUB])))
    if form == 1:
        y = g.mul(a, b, D.INT32, 12 if dtype == D.INT32 else 0)
        return g.finish(
            y if dtype == D.INT32 else g.rescale(y, dtype, 2.0**-8 if dtype == D.INT8 else 2.0**-16, False, input_zp=0)
        )
    if dtype != D.INT32:
        a, b = g.rescale(a, D.INT32, 1.0, False), g.rescale(b, D.INT32, 1.0, False)
    if form == 2:
        return g.finish(g.binary(OP.MAXIMUM, a, b, None, "MaximumAttribute", PROPAGATE))
    return g.finish(g.binary(OP.SUB, a, b, None, "SubAttribute"))


def ranks(g):
    """Elementwise operators on tensors of rank 1 to 6."""
    shape = shape_of_rank(g, g.int(1, 6))
    dtype = g.choice([D.INT8, D.INT16, D.INT32])
    x = g.input(shape, dtype, *((-(2**24), 2**24) if dtype == D.INT32 else ()))
    other = [1 if g.chance(0.3) else s for s in shape]
    y = g.operand(other, dtype, *((-(2**24), 2**24) if dtype == D.INT32 else ()))
    if dtype == D.INT32:
        return g.finish(g.binary(OP.ADD, x, y, None, "AddAttribute"))
    if g.chance(0.5):
        return g.finish(g.requantized_add(x, y))
    return g.finish(g.rescale(g.mul(x, y, D.INT32), dtype, 2.0**-8 if dtype == D.INT8 else 2.0**-16, False, input_zp=0))


def lookups(g):
    """More tables than the LUT memory can hold at a time."""
    x = g.input(g.image(8, 24), D.INT8)
    tables = [g.const(g.values([256], D.INT8), D.INT8) for _ in range(g.int(2, 12))]
    for _ in range(g.int(3, 14)):
        x = g.op(OP.TABLE, [x, g.choice(tables)], x.shape, D.INT8, "TableAttribute")
        if g.chance(0.3):
            x = g.max_pool(x, [1, 1], [1, 1]) if g.chance(0.3) else g.rescale(x, D.INT8, 0.9, False)
    return g.finish(x)


def lookups16(g):
    """16-bit tables with other operators between them."""
    x = g.input(g.image(8, 24), D.INT16)
    for _ in range(g.int(1, 3)):
        x = g.rescale(g.table(x), D.INT16, 2.0 ** -g.int(7, 9), False, input_zp=0)
    return g.finish(x)


def softmax(g):
    """The exponential of a softmax: maximum, difference, 16-bit table, sum, leading zeros, shifts."""
    shape = [1, g.int(1, 6), g.int(1, 6), g.int(2, 24)]
    x = g.input(shape, D.INT8)
    top = g.op(OP.REDUCE_MAX, [x], [*shape[:3], 1], D.INT8, "ReduceMaxAttribute", 3, PROPAGATE)
    difference = g.binary(
        OP.SUB,
        g.rescale(x, D.INT32, 1.0, False, input_zp=0),
        g.rescale(top, D.INT32, 1.0, False, input_zp=0),
        None,
        "SubAttribute",
    )
    wide = g.table(g.rescale(difference, D.INT16, 2.0**5, False, input_zp=0))
    total = g.op(
        OP.REDUCE_SUM, [g.rescale(wide, D.INT32, 2.0**-6, False)], [*shape[:3], 1], D.INT32, "ReduceSumAttribute", 3
    )
    zeros = g.op(OP.CLZ, [total], total.shape, D.INT32, "ClzAttribute")
    shifted = (
        g.binary(OP.LOGICAL_LEFT_SHIFT, total, zeros, None, "LogicalLeftShiftAttribute") if g.chance(0.5) else total
    )
    y = g.mul(g.rescale(shifted, D.INT32, 2.0**-4, False), g.rescale(wide, D.INT32, 2.0**-8, False), D.INT32, 20)
    return g.finish(g.rescale(y, D.INT8, 2.0**-10, False, input_zp=0))


def unsigned(g):
    """Results and operands that a RESCALE reads as unsigned."""
    source, target = g.choice([(D.INT8, D.INT8), (D.INT16, D.INT16), (D.INT8, D.INT16), (D.INT16, D.INT8)])
    unsigned_input = g.chance(0.5)
    zero = {D.INT8: [g.int(-128, 127)], D.INT16: [-32768] if g.chance(0.5) else [0]}
    inputs = [
        g.input(g.image(), source),
        g.const([g.int(2**30, 2**31 - 1)], D.INT32),
        g.const([30 + g.int(0, 9)], D.INT8),
        g.const(zero[source] if unsigned_input or source == D.INT8 else [0], source),
        g.const(zero[target] if not unsigned_input or target == D.INT8 else [0], target),
    ]
    flags = [True, g.rounding(), False, unsigned_input, not unsigned_input]
    return g.finish(g.op(OP.RESCALE, inputs, inputs[0].shape, target, "RescaleAttribute", *flags))


def rescale48(g):
    """A 48-bit result with two readers, so that it must be stored."""
    shape = g.image(8, 24)
    y = g.conv2d(g.input(shape, D.INT16), g.int(1, 20), [1, 1], [1, 1], [1, 1])
    gain = g.gain_of(shape[3], D.INT16)
    return g.finish(
        g.rescale(y, D.INT16, gain), g.rescale(y, D.INT32, gain * 4, False), g.rescale(y, D.INT8, gain / 256, False)
    )


def wide_products(g):
    """32-bit products with every shift, operands at their limits."""
    limit = 2 ** g.int(15, 30)
    shift = max(0, 2 * int(np.log2(limit)) - 30)
    if shift > 62:
        raise Impossible
    a, b = vela_graphs.broadcast_pair(g, D.INT32, -limit, limit)
    return g.finish(g.mul(a, b, D.INT32, shift))


# --- data layout ---


def layout(g):
    """Layout operators on every rank, in a row."""
    dtype = g.choice([D.INT8, D.INT16] + ([D.INT32, D.BOOL] if g.u85 else [D.INT32]))
    x = g.input(shape_of_rank(g, g.int(2, 5)), dtype)
    for _ in range(g.int(1, 3)):
        x = layout_step(g, x, dtype)
    return g.finish(x)


def layout_step(g, x, dtype):
    shape, rank = list(x.shape), len(x.shape)
    form = g.int(0, 5)
    if form == 0:
        perms = [int(p) for p in g.random.permutation(rank)]
        return g.op(OP.TRANSPOSE, [x], [shape[p] for p in perms], dtype, "TransposeAttribute", perms)
    if form == 1:
        return g.op(OP.REVERSE, [x], shape, dtype, "ReverseAttribute", g.int(0, rank - 1))
    if form == 2:
        start = [g.int(0, s - 1) for s in shape]
        size = [g.int(1, s - b) for s, b in zip(shape, start, strict=True)]
        return g.op(OP.SLICE, [x, g.shape(start), g.shape(size)], size, dtype, "SliceAttribute")
    if form == 3:
        axis = g.int(0, rank - 1)
        out = [2 * s if i == axis else s for i, s in enumerate(shape)]
        return g.op(OP.CONCAT, [x, x], out, dtype, "ConcatAttribute", axis)
    if form == 4:
        multiples = [g.int(1, 2) for _ in shape]
        out = [s * m for s, m in zip(shape, multiples, strict=True)]
        return g.op(OP.TILE, [x, g.shape(multiples)], out, dtype, "TileAttribute")
    out = [int(np.prod(shape[:-1])), shape[-1]] if rank > 2 else [1, *shape]
    return g.op(OP.RESHAPE, [x, g.shape(out)], out, dtype, "ReshapeAttribute")


def reduce_rank(g):
    shape = shape_of_rank(g, g.int(1, 5))
    axis = g.int(0, len(shape) - 1)
    out = [1 if i == axis else s for i, s in enumerate(shape)]
    op, name = g.choice(
        [
            (OP.REDUCE_SUM, "ReduceSumAttribute"),
            (OP.REDUCE_MAX, "ReduceMaxAttribute"),
            (OP.REDUCE_MIN, "ReduceMinAttribute"),
        ]
    )
    if op == OP.REDUCE_SUM:
        return g.finish(g.op(op, [g.input(shape, D.INT32, -(2**22), 2**22)], out, D.INT32, name, axis))
    dtype = g.choice([D.INT8, D.INT16])
    return g.finish(g.op(op, [g.input(shape, dtype)], out, dtype, name, axis, PROPAGATE))


def several_outputs(g):
    """Results with several readers, concatenated and sliced."""
    shape = [1, g.int(2, 12), g.int(2, 12), g.choice([8, 16, 20, 32])]
    x = g.input(shape, D.INT8)
    a = g.rescale(g.conv2d(x, shape[3], [1, 1], [1, 1], [1, 1]), D.INT8, g.gain_of(shape[3], D.INT8))
    b = g.max_pool(a, [1, 1], [1, 1]) if g.chance(0.3) else g.table(a)
    joined = [*shape[:3], 2 * shape[3]]
    c = g.op(OP.CONCAT, [a, b], joined, D.INT8, "ConcatAttribute", 3)
    start, size = [0, 0, 0, g.int(0, shape[3])], [*shape[:3], g.int(1, shape[3])]
    d = g.op(OP.SLICE, [c, g.shape(start), g.shape(size)], size, D.INT8, "SliceAttribute")
    return g.finish(g.requantized_add(a, b), d) if g.chance(0.5) else g.finish(g.requantized_add(b, a), c, d)


# --- control flow (U85) ---


def subgraph(g, name, tensors, body):
    """A region that computes body(names of `tensors` inside the region)."""
    g.file.startRegion(name, "")
    g.file.addBasicBlock(name)
    own = [g.file.addIntermediate(list(t.shape), t.dtype) for t in tensors]
    for tensor in own:
        g.file.currRegion.currBasicBlock.addInput(tensor.name)
    for result in body(*own):
        g.file.addOutputTensor(result)


def control(g, op, inputs, outputs, attribute, names):
    attributes = ts.TosaSerializerAttribute()
    getattr(attributes, attribute)(*names)
    results = [g.file.addIntermediate(list(t.shape), t.dtype) for t in outputs]
    g.file.addOperator(op, [t.name for t in inputs], [r.name for r in results], attributes)
    return results


def cond_if(g):
    shape = g.image(8, 24)
    dtype = g.choice([D.INT8, D.INT32])
    flag = g.input([1] if g.chance(0.7) else [], D.BOOL)
    a, b = (g.input(shape, dtype, *((-(2**20), 2**20) if dtype == D.INT32 else ())) for _ in range(2))
    result = control(g, OP.COND_IF, [flag, a, b], [a], "CondIfAttribute", ("then_block", "else_block"))[0]
    g.file.addOutputTensor(result)
    main = g.file.currRegion

    def branch(op):
        def body(p, q):
            if dtype == D.INT8:
                return [g.requantized_add(p, q, op)]
            return [g.binary(op, p, q, None, "AddAttribute" if op == OP.ADD else "SubAttribute")]

        return body

    subgraph(g, "then_block", [a, b], branch(OP.ADD))
    subgraph(g, "else_block", [a, b], branch(OP.SUB))
    g.file.currRegion = main
    return bytes(g.file.serialize()), g.inputs


def while_loop(g):
    shape = g.image(6, 24)
    count = g.input([1], D.INT32, 0, 5)
    x, step = g.input(shape, D.INT32, -(2**20), 2**20), g.input(shape, D.INT32, -(2**20), 2**20)
    state = [count, x, step]
    results = control(g, OP.WHILE_LOOP, state, state, "WhileLoopAttribute", ("cond_block", "body_block"))
    g.file.addOutputTensor(results[1])
    main = g.file.currRegion

    def condition(i, _x, _step):
        return [g.binary(OP.GREATER, i, g.const([0], D.INT32), D.BOOL, "GreaterAttribute")]

    def body(i, y, s):
        less = g.binary(OP.SUB, i, g.const([1], D.INT32), None, "SubAttribute")
        return [
            less,
            g.binary(OP.ADD, y, s, None, "AddAttribute"),
            g.op(OP.IDENTITY, [s], s.shape, D.INT32, "IdentityAttribute"),
        ]

    subgraph(g, "cond_block", state, condition)
    subgraph(g, "body_block", state, body)
    g.file.currRegion = main
    return bytes(g.file.serialize()), g.inputs


# (weight, kind, families)
MORE = [
    (2, batched, BOTH), (3, conv16, BOTH), (2, dilated16, BOTH), (1, int4_weights, BOTH), (1, dynamic_weights, U85), (1, padded_conv, BOTH),
    (2, long_rows, BOTH), (2, scalars, BOTH), (2, ranks, BOTH), (2, lookups, BOTH), (1, lookups16, BOTH), (1, softmax, BOTH), (1, unsigned, BOTH),
    (1, rescale48, U85), (1, wide_products, BOTH), (3, layout, BOTH), (1, reduce_rank, BOTH), (2, several_outputs, BOTH), (1, cond_if, U85),
    (1, while_loop, U85),
]  # fmt: skip
NETWORKS = [plan_graphs.classifier, plan_graphs.large, plan_graphs.shared, plan_graphs.sixteen, plan_graphs.attention]
KINDS = [*vela_graphs.KINDS, *MORE, *((1, kind, BOTH) for kind in NETWORKS)]


def kinds_of(config):
    return [kind for _, kind, families in KINDS if config[:9] in families]


def plan(config, count, first):
    """`count` kinds, starting at index `first` of an endless shuffled sequence. Each kind occurs in it in proportion to its weight."""
    sequence = [kind for weight, kind, families in KINDS for _ in range(weight) if config[:9] in families]
    order = np.random.default_rng(sum(map(ord, config[:9]))).permutation(len(sequence))
    return [sequence[order[i % len(sequence)]] for i in range(first, first + count)]


def generate(seed, config, kind):
    """A sample of this kind. A choice without a legal form is drawn again."""
    random = np.random.default_rng([seed, sum(map(ord, config))])
    while True:
        try:
            tosa, inputs = kind(Builder(random, config))
        except (Impossible, plan_graphs.Impossible):
            continue
        return Sample(kind.__name__, config, tosa, inputs)
