"""Random graphs of 5 to 40 TOSA 1.0 operators, made from the rows of facts/tosa_rows.h (as `run_graphs --rows` prints them).

generate(rows, seed) -> Graph. The same seed gives the same graph. Every graph is legal by construction. About one in 25 is `careless`: its
elements may break a REQUIRE.
"""

import itertools

import numpy as np
import tosa_serializer as ts
from interpreter_cases import NAN, NUMPY, RANGE
from random_tosa_ir import D, INF, LARGEST, Graph, Node, full_range, is_float
from random_tosa_builders import BUILDERS, Impossible, hull, builder

TYPES = {
    "bool": D.BOOL,
    "i4": D.INT4,
    "i8": D.INT8,
    "i16": D.INT16,
    "i32": D.INT32,
    "i48": D.INT48,
    "fp32": D.FP32,
    "fp16": D.FP16,
    "bf16": D.BF16,
    "fp8e4m3": D.FP8E4M3,
    "fp8e5m2": D.FP8E5M2,
}
# Operators that random graphs omit, and why.
LEFT_OUT = {
    "CUSTOM": "has no meaning of its own",
    "VARIABLE": "state: checked against test_tosa_files.py and the unit tests; its order cannot be kept when a graph is cut into parts",
    "VARIABLE_READ": "as VARIABLE",
    "VARIABLE_WRITE": "as VARIABLE",
    "CONST": "stands in every graph: constants are not nodes here",
    "CONST_SHAPE": "as CONST",
    **dict.fromkeys(
        ("CAST_TO_BLOCK_SCALED", "CAST_FROM_BLOCK_SCALED", "MATMUL_T_BLOCK_SCALED", "CONV2D_BLOCK_SCALED"),
        "of TOSA 1.1: test_mxfp.py compares it with the reference model",
    ),
}
FAMILIES = {
    "INT": {D.BOOL, D.INT4, D.INT8, D.INT16, D.INT32, D.INT48},
    "FP": {D.BOOL, D.INT32, D.FP32, D.FP16, D.BF16, D.FP8E4M3, D.FP8E5M2},
    "mixed": set(TYPES.values()),
}
CARELESS = 0.04


class Gen:
    """A graph during construction."""

    def __init__(self, rng, rows, careless=False, top=7, depth=0, counter=None, name="main"):
        self.rng, self.rows, self.careless, self.top, self.depth = rng, rows, careless, top, depth
        self.counter = counter or itertools.count()
        self.max_elements = 6000 if top <= 7 else 1000 * top
        self.graph = Graph(name, careless=careless)
        self.mode = ""

    # --- choices ---
    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def uniform(self, low, high):
        return float(self.rng.uniform(low, high))

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def choice(self, options):
        return options[self.int(0, len(options) - 1)]

    def shape(self, rank=None):
        rank = self.int(0, 5) if rank is None else self.int(*rank)
        dims = [1 if self.chance(0.2) else self.int(1, self.top) for _ in range(rank)]
        if rank and self.top > 4 and self.chance(0.15):  # more than one vector, sometimes
            dims = [min(d, 3) for d in dims]
            dims[self.int(max(0, rank - 2), rank - 1)] = self.int(15, 70)
        while np.prod(dims, dtype=np.int64) > self.max_elements:
            dims[int(np.argmax(dims))] //= 2
        return dims

    def factors(self, size, rank):
        """`rank` sizes whose product is `size`."""
        if rank == 0 and size != 1:
            rank = 1
        dims = []
        for left in range(rank, 0, -1):
            options = [d for d in range(1, size + 1) if size % d == 0]
            dims.append(size if left == 1 else self.choice(options))
            size //= dims[-1]
        self.rng.shuffle(dims)
        return [int(d) for d in dims]

    def elements(self, dtype, shape, low=None, high=None):
        if dtype == D.BOOL:
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if dtype in RANGE:
            low, high = RANGE[dtype][0] if low is None else int(low), RANGE[dtype][1] if high is None else int(high)
            data = self.rng.integers(low, high + 1, shape, dtype=np.int64)
            if self.chance(0.4):  # most errors in rounding and saturation are at extremes
                data = np.where(
                    self.rng.random(shape) < 0.15, self.rng.choice([low, high, max(low, min(0, high))], shape), data
                )
            return data.astype(NUMPY[dtype])
        scale = min(self.choice([1.0, 4.0, 4.0, 300.0]), LARGEST[dtype])
        data = self.rng.uniform(-scale if low is None else low, scale if high is None else high, shape)
        if low is None and self.chance(0.25):
            special = self.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, LARGEST[dtype]], shape)
            data = np.where(self.rng.random(shape) < 0.1, special, data)
        elif self.chance(0.2) and (low is None or low <= 0 <= (high or 0)):
            data = np.where(self.rng.random(shape) < 0.1, self.rng.choice([0.0, -0.0], shape), data)
        with np.errstate(over="ignore"):
            return np.asarray(data).astype(NUMPY[dtype])

    # --- values ---
    @staticmethod
    def known(dtype, array):
        if not array.size:
            return {}
        wide = array.astype(np.float64 if is_float(dtype) else np.int64)
        finite = wide[np.isfinite(wide)] if is_float(dtype) else wide
        low, high = (finite.min(), finite.max()) if finite.size else (0, 0)
        number = float if is_float(dtype) else int
        return {"low": number(low), "high": number(high), "wild": finite.size < wide.size}

    def constant(self, dtype, elements):
        array = np.asarray(elements).astype(NUMPY[dtype])
        return self.graph.value(dtype, array.shape, constant=array, **self.known(dtype, array))

    def dimensions(self, numbers):
        return self.graph.value(D.SHAPE, [len(numbers)], constant=np.array(numbers, np.int64))

    def input(self, dtype, elements):
        if self.depth or dtype == D.INT4:  # the inputs of control-flow graphs are fixed, and files have no i4 inputs
            return self.constant(dtype, elements)
        array = np.asarray(elements).astype(NUMPY[dtype])
        value = self.graph.value(dtype, array.shape, data=array, **self.known(dtype, array))
        self.graph.inputs.append(value.id)
        return value

    def fresh(self, dtype, shape, low=None, high=None):
        elements = self.elements(dtype, shape, low, high)
        return self.constant(dtype, elements) if self.chance(0.2) else self.input(dtype, elements)

    def made(self, dtype):
        return [v for v in self.graph.values if v.dtype == dtype and v.constant is None]

    def take(self, dtype, rank=(0, 6), low=None, high=None):
        """A value of the type, usually an existing one. `rank`: the allowed ranks. Its elements are in [low, high]."""
        value = None
        if self.chance(0.85):
            options = self.made(dtype)[-10:]
            fitting = [v for v in options if rank[0] <= v.rank <= rank[1]]
            if fitting and self.chance(0.7):
                value = self.choice(fitting)
            elif options:
                value = self.choice(options)
            elif self.chance(0.7):
                value = self.converted(dtype)
        if value is None:
            value = self.fresh(dtype, self.shape((max(rank[0], 0), min(rank[1], 5))))
        if not rank[0] <= value.rank <= rank[1]:
            value = self.reshape(value, self.factors(value.size, self.int(max(rank[0], 1), min(rank[1], 5))))
        return self.limit(value, low, high)

    def converted(self, dtype):
        """A value of another type, cast to this one; or None."""
        legal = {TYPES[row["types"]["in_t"]] for row in self.rows["CAST"] if TYPES[row["types"]["out_t"]] == dtype}
        options = [
            v
            for source in legal
            for v in self.made(source)[-3:]
            if not (is_float(source) and not is_float(dtype) and v.wild)
        ]
        if not options:
            return None
        value = self.choice(sorted(options, key=lambda v: v.id))
        outputs = len(self.graph.nodes)
        self.keep_mode("", lambda: BUILDERS["CAST"](_Fixed(self, value), {"in_t": value.dtype, "out_t": dtype}, "CAST"))
        return self.graph.values[self.graph.nodes[outputs].outputs[0]]

    def operand(self, dtype, shape, low=None, high=None):
        shape = tuple(shape)
        options = [v for v in self.made(dtype) if v.shape == shape]
        if options and self.chance(0.6):
            return self.limit(self.choice(options), low, high)
        return self.fresh(dtype, shape, low, high)

    def broadcast_pair(self, dtype, low=None, high=None):
        a = self.take(dtype, low=low, high=high)
        options = [
            v
            for v in self.made(dtype)
            if v.rank == a.rank and all(x == y or 1 in (x, y) for x, y in zip(v.shape, a.shape))
        ]
        if options and self.chance(0.5):
            b = self.limit(self.choice(options), low, high)
        else:
            shape = [self.int(1, 5) if d == 1 and self.chance(0.4) else 1 if self.chance(0.25) else d for d in a.shape]
            b = self.fresh(dtype, shape, low, high)
        return (a, b) if self.chance(0.5) else (b, a)

    def broadcast_shape(self, *values):
        return [max(sizes) for sizes in zip(*(v.shape for v in values))]

    def index(self, n, k):
        """An index tensor [n, w] with values in [0, k) that the graph computes, or None."""
        options = [v for v in self.made(D.INT32) if 0 <= v.low and v.high < k and v.size % n == 0 and v.size <= 60]
        if not options or self.chance(0.3):
            return None
        value = self.choice(options)
        shape = [n, value.size // n]
        return value if list(value.shape) == shape else self.reshape(value, shape)

    # --- nodes ---
    def keep_mode(self, mode, function):
        before, self.mode = self.mode, mode
        try:
            return function()
        finally:
            self.mode = before

    def nodes(self, op, kind, attributes, inputs, outputs, compliance=None, graphs=()):
        for _, shape, _ in outputs:
            if min(shape, default=1) < 1 or np.prod(shape, dtype=np.int64) > self.max_elements:
                raise Impossible
        if compliance is not None and self.depth:
            raise Impossible  # control flow is compared bit for bit
        values = [self.graph.value(dtype, shape, **known) for dtype, shape, known in outputs]
        node = Node(
            op, self.mode, kind, attributes, [v.id for v in inputs], [v.id for v in values], compliance, list(graphs)
        )
        self.graph.nodes.append(node)
        return values

    def node(self, op, kind, attributes, inputs, dtype, shape, known, compliance=None):
        return self.nodes(op, kind, attributes, inputs, [(dtype, shape, known)], compliance)[0]

    def reshape(self, value, shape):
        if value.dtype in (D.INT4, D.INT48):
            raise Impossible
        return self.node("RESHAPE", "Reshape", (), [value, self.dimensions(shape)], value.dtype, shape, hull(value))

    def clamp(self, x, low, high, mode):
        ends = np.array([low, high], np.float64).astype(NUMPY[x.dtype])
        raw = [list(end.tobytes()) for end in ends]
        known = {"low": float(ends[0]), "high": float(ends[1]), "wild": x.wild and mode == NAN[0]}
        return self.node("CLAMP", "Clamp", (*raw, mode), [x], x.dtype, x.shape, known)

    def limit(self, value, low=None, high=None):
        """The value, clamped to [low, high] if its elements may be outside."""
        if low is None:
            low = -INF if is_float(value.dtype) or high is None else RANGE[value.dtype][0]
        if high is None:
            high = INF if is_float(value.dtype) or low == -INF else RANGE[value.dtype][1]
        if (low == -INF and high == INF) or (low <= value.low and value.high <= high and not value.wild):
            return value
        if value.dtype == D.INT32:
            return self.limit_i32(value, int(low), int(high))
        if value.dtype not in (D.INT8, D.INT16, D.FP32, D.FP16, D.BF16):
            raise Impossible
        top = RANGE[value.dtype][1] if value.dtype in RANGE else LARGEST[value.dtype]
        return self.clamp(value, max(low, -top), min(high, top), NAN[1] if value.wild else self.choice(NAN))

    def limit_i32(self, value, low, high):
        if low == 0 and (high & (high + 1)) == 0 and self.chance(0.5):
            mask = self.constant(D.INT32, np.full([1] * value.rank, high))
            return self.node(
                "BITWISE_AND", "BitwiseAnd", (), [value, mask], D.INT32, value.shape, {"low": 0, "high": high}
            )
        for op, bound in (("MAXIMUM", low), ("MINIMUM", high)):
            if value.low < bound if op == "MAXIMUM" else value.high > bound:
                end = self.constant(D.INT32, np.full([1] * value.rank, bound))
                choose = max if op == "MAXIMUM" else min
                known = {"low": choose(value.low, bound), "high": choose(value.high, bound)}
                value = self.node(op, op.capitalize(), (NAN[0],), [value, end], D.INT32, value.shape, known)
        return value

    # --- whole graphs ---
    def grow(self, ops, count):
        """Adds nodes until there are `count`."""
        for _ in range(40 * count if ops else 0):
            if len(self.graph.nodes) >= count:
                return
            if not self.depth and self.chance(0.1):
                self.idiom(ops)
                continue
            op = self.choice(ops)
            rows = self.rows[op] or [{"mode": "", "types": {}}]
            have = {v.dtype for v in self.graph.values if v.constant is None}
            likely = [r for r in rows if TYPES.get(next(iter(r["types"].values()), "")) in have]
            row = self.choice(likely if likely and self.chance(0.6) else rows)
            types = {name: TYPES[t] for name, t in row["types"].items()}
            before = len(self.graph.nodes)
            try:
                self.keep_mode(row["mode"], lambda: BUILDERS[op](self, types, op))
            except Impossible:
                pass
            for node in self.graph.nodes[before:]:  # nodes that were added for the operator have no row name
                node.mode = node.mode if node.op == op else ""

    def idiom(self, ops):
        """Sequences of operators that occur in networks and that an interpreter may fuse."""
        options = [(function, op) for function, names in IDIOMS for op in names if op in ops and "RESCALE" in ops]
        if not options:
            return
        function, op = self.choice(options)
        try:
            self.keep_mode("", lambda: function(self, op))
        except Impossible:
            pass

    def finish(self):
        """Removes unused inputs. Outputs are all values without a reader, and some others."""
        read = {v for node in self.graph.nodes for v in node.inputs}
        self.graph.inputs = [v for v in self.graph.inputs if v in read]
        made = [v for node in self.graph.nodes for v in node.outputs]
        self.graph.outputs = [v for v in made if v not in read or self.chance(0.12)]
        return self.graph


class _Fixed:
    """A Gen that returns a given value."""

    def __init__(self, gen, value):
        self._gen, self._value = gen, value

    def __getattr__(self, name):
        return getattr(self._gen, name)

    def take(self, *_, **__):
        return self._value


# --- operators in typical sequences -------------------------------------------------------------------------------------


def last(g):
    return g.graph.values[g.graph.nodes[-1].outputs[0]]


def maybe_clamped(g, value):
    if value.dtype != D.INT32 and g.chance(0.5):
        BUILDERS["CLAMP"](_Fixed(g, value), {"in_out_t": value.dtype}, "CLAMP")


def product_and_rescale(g, op):
    """A sum of products of i8 or fp32 with many channels, with or without its RESCALE, with or without its CLAMP."""
    rows = [r for r in g.rows[op] if r["types"]["in_t"] in ("i8", "fp32")]
    if not rows:
        raise Impossible
    types = {name: TYPES[t] for name, t in g.choice(rows)["types"].items()}
    channels = g.int(1, g.choice([8, 40, 140]))
    space = (
        [g.int(1, 2), channels]
        if op == "MATMUL"
        else [g.int(1, 8) for _ in range(3 if op == "CONV3D" else 2)] + [channels]
    )
    bounds = (-4.0, 4.0) if is_float(types["in_t"]) else ()
    BUILDERS[op](_Fixed(g, g.fresh(types["in_t"], [g.int(1, 2), *space], *bounds)), types, op)
    value = last(g)
    if not is_float(value.dtype):
        value = BUILDERS["RESCALE"](
            g, {"in_t": value.dtype, "out_t": g.choice([D.INT8, D.INT8, D.INT16, D.INT32])}, "RESCALE", value
        )
    maybe_clamped(g, value)


def scaled(g, value, shift):
    """The value as i32, times 2^(30 - shift)."""
    zero = g.int(-128, 127) if value.dtype == D.INT8 else 0
    operands = [
        value,
        g.constant(D.INT32, [g.int(2**30, 2**31 - 1)]),
        g.constant(D.INT8, [shift]),
        g.constant(value.dtype, [zero]),
        g.constant(D.INT32, [0]),
    ]
    mode = g.choice([ts.RoundingMode.SINGLE_ROUND, ts.RoundingMode.DOUBLE_ROUND])
    bound = (value.magnitude + 128) * 2 ** (31 - shift) + 1
    return g.node(
        "RESCALE",
        "Rescale",
        (True, mode, False, False, False),
        operands,
        D.INT32,
        value.shape,
        {"low": -bound, "high": bound},
    )


def rescaled_arithmetic(g, op):
    """Quantized arithmetic: both operands scaled to i32, the result scaled back."""
    if not any(r["types"].get("in_t") == "i8" for r in g.rows["RESCALE"]):
        raise Impossible
    dtype = g.choice([D.INT8, D.INT8, D.INT16])
    shape = g.shape()
    bits = 8 if dtype == D.INT8 else 16
    shift = g.int(bits + 11, 29) if op != "MUL" else g.int(bits + 18, 38)
    a, b = (scaled(g, g.operand(dtype, shape), shift + g.int(0, 2)) for _ in range(2))
    attributes = {"ADD": "Add", "SUB": "Sub", "MUL": "Mul"}
    bound = a.magnitude * b.magnitude if op == "MUL" else a.magnitude + b.magnitude
    if bound > 2**31 - 1:
        raise Impossible
    operands = [a, b, g.constant(D.INT8, [0])] if op == "MUL" else [a, b]
    value = g.node(op, attributes[op], (), operands, D.INT32, shape, {"low": -bound, "high": bound})
    maybe_clamped(
        g,
        BUILDERS["RESCALE"](
            g, {"in_t": D.INT32, "out_t": g.choice([D.INT8, D.INT8, D.INT16, D.INT32])}, "RESCALE", value
        ),
    )


IDIOMS = [
    (product_and_rescale, ("CONV2D", "CONV2D", "DEPTHWISE_CONV2D", "CONV3D", "TRANSPOSE_CONV2D", "MATMUL")),
    (rescaled_arithmetic, ("ADD", "SUB", "MUL")),
]


# --- control flow -----------------------------------------------------------------------------------------------------


def inner(g, name, operands):
    """A graph for control flow with these inputs."""
    rows = {
        op: [r for r in rows if all(TYPES[t] != D.INT48 for t in r["types"].values())] or rows
        for op, rows in g.rows.items()
    }
    sub = Gen(g.rng, rows, False, g.top, g.depth + 1, g.counter, f"{name}_{next(g.counter)}")
    for v in operands:
        value = sub.graph.value(v.dtype, v.shape, low=v.low, high=v.high, wild=v.wild)
        sub.graph.inputs.append(value.id)
    return sub


def some_operands(g, count):
    options = [v for v in g.graph.values if v.constant is None and v.dtype not in (D.INT4, D.INT48)]
    if not options:
        raise Impossible
    picked = {g.choice(options[-12:]).id for _ in range(count)}
    return [g.graph.values[i] for i in sorted(picked)]


@builder("COND_IF")
def cond_if(g, t, op):
    if g.depth > 1:
        raise Impossible
    operands = some_operands(g, g.int(1, 3))
    scalars = [v for v in g.made(D.BOOL) if v.size == 1]
    condition = g.choice(scalars) if scalars and g.chance(0.6) else g.fresh(D.BOOL, [])
    then = inner(g, "then", operands)
    then.grow(exact_ops(g.rows), g.int(1, 5))
    made = [then.graph.values[v] for node in then.graph.nodes for v in node.outputs]
    if not made:
        raise Impossible
    results = [made[-1]] + ([g.choice(made)] if g.chance(0.3) else [])
    then.graph.outputs = [v.id for v in dict((v.id, v) for v in results).values()]
    results = [then.graph.values[v] for v in then.graph.outputs]
    other = inner(g, "else", operands)
    for wanted in results:
        same = [
            other.graph.values[i]
            for i in other.graph.inputs
            if (other.graph.values[i].dtype, other.graph.values[i].shape) == (wanted.dtype, wanted.shape)
        ]
        if same:
            value = g.choice(same)
        else:
            value = other.constant(wanted.dtype, other.elements(wanted.dtype, wanted.shape))
        out = other.node("IDENTITY", "Identity", (), [value], wanted.dtype, wanted.shape, hull(value))
        other.graph.outputs.append(out.id)
    outs = [(a.dtype, a.shape, hull(a, other.graph.values[b])) for a, b in zip(results, other.graph.outputs)]
    g.nodes(
        op, "CondIf", (then.graph.name, other.graph.name), [condition, *operands], outs, None, [then.graph, other.graph]
    )


STEPS = {  # operators that keep type and shape, and their effect on a value of a supported type
    "REVERSE": ("Reverse", lambda s, v: (s.int(0, v.rank - 1),), lambda s, v: [v]),
    "BITWISE_XOR": (
        "BitwiseXor",
        lambda s, v: (),
        lambda s, v: [v, s.constant(v.dtype, s.elements(v.dtype, [1] * v.rank))],
    ),
    "MAXIMUM": (
        "Maximum",
        lambda s, v: (s.choice(NAN),),
        lambda s, v: [v, s.constant(v.dtype, s.elements(v.dtype, v.shape))],
    ),
    "LOGICAL_NOT": ("LogicalNot", lambda s, v: (), lambda s, v: [v]),
    "IDENTITY": ("Identity", lambda s, v: (), lambda s, v: [v]),
}


@builder("WHILE_LOOP")
def while_loop(g, t, op):
    if g.depth > 1:
        raise Impossible
    state = some_operands(g, g.int(1, 2))
    rounds = g.int(0, 4)
    start = g.fresh(D.INT32, [], 0, 2)
    operands = [start, *state]
    condition = inner(g, "cond", operands)
    limit = condition.constant(D.INT32, np.array(rounds))
    test = condition.node("GREATER", "Greater", (), [limit, condition.graph.values[0]], D.BOOL, [], full_range(D.BOOL))
    condition.graph.outputs = [test.id]
    body = inner(g, "body", operands)
    one = body.constant(D.INT32, np.array(1))
    count = body.node("ADD", "Add", (), [body.graph.values[0], one], D.INT32, [], {"low": 0, "high": 8})
    body.graph.outputs = [count.id]
    for value in body.graph.inputs[1:]:
        value = body.graph.values[value]
        for _ in range(body.int(1, 3)):
            value = step(body, value)
        body.graph.outputs.append(value.id)
    outs = [(D.INT32, [], {"low": 0, "high": 8})] + [(v.dtype, v.shape, full_range(v.dtype)) for v in state]
    g.nodes(
        op, "WhileLoop", (condition.graph.name, body.graph.name), operands, outs, None, [condition.graph, body.graph]
    )


def step(body, value):
    legal = [
        op
        for op in STEPS
        if any(TYPES[next(iter(r["types"].values()))] == value.dtype for r in body.rows[op])
        and (value.rank or op != "REVERSE")
    ]
    op = body.choice(legal)
    kind, attributes, operands = STEPS[op]
    return body.node(
        op, kind, attributes(body, value), operands(body, value), value.dtype, value.shape, full_range(value.dtype)
    )


CONTROL_FLOW = {"COND_IF", "WHILE_LOOP"}  # for any types
INEXACT = {
    "POW",
    "ERF",
    "SIGMOID",
    "TANH",
    "COS",
    "SIN",
    "EXP",
    "LOG",
    "RECIPROCAL",
    "RSQRT",
    "REDUCE_PRODUCT",
    "FFT2D",
    "RFFT2D",
}


def exact_ops(rows):
    return sorted(op for op in BUILDERS if (rows[op] or op in CONTROL_FLOW) and op not in INEXACT)


def generate(rows, seed, top=None, count=None, ops=None):
    """The graph of this seed: at most `count` operators of `ops`. Sizes are mostly up to `top` (7; 20 in every tenth graph)."""
    top = top or (20 if seed % 10 == 9 else 7)
    rng = np.random.default_rng([seed, top, count or 0])
    types = FAMILIES[("INT", "FP", "mixed")[seed % 3]]
    legal = {
        op: [r for r in all_rows if all(TYPES.get(t) in types for t in r["types"].values())]
        for op, all_rows in rows.items()
    }
    names = [op for op in sorted(BUILDERS) if (legal[op] or op in CONTROL_FLOW) and (ops is None or op in ops)]
    g = Gen(rng, legal, bool(rng.random() < CARELESS), top)
    for _ in range(g.int(1, 3)):
        dtype = g.choice(sorted(types - {D.INT4, D.INT48}, key=int))
        g.input(dtype, g.elements(dtype, g.shape()))
    g.grow(names, count or g.int(5, 40))
    return g.finish()
