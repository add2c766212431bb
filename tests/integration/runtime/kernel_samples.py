"""Random arguments for every ATen kernel of the runtime: {name: draw(random) -> arguments of the operator in its schema's order}.

Shapes include empty axes, axes of size one, broadcast axes and rank 0. Numbers include NaN, infinities, signed zeros and the ends of their
types. Dimensions are counted from both ends. If PyTorch rejects a draw, it is drawn again.
"""

import math
import random as python_random

import torch

FLOATS = (torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16)
WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
REAL_TYPES = FLOATS + WHOLE + (torch.bool,)
SHAPES = ((), (1,), (5,), (0,), (3, 4), (1, 4), (2, 0, 3), (2, 3, 4), (2, 3, 4, 5), (1, 3, 1, 5), (1, 1))


class Random(python_random.Random):
    def shape(self, min_rank=0, max_rank=4):
        return self.choice([s for s in SHAPES if min_rank <= len(s) <= max_rank])

    def full_shape(self, min_rank=1, max_rank=4):
        return tuple(self.randint(1, 5) for _ in range(self.randint(min_rank, max_rank)))

    def dtype(self, kinds=REAL_TYPES):
        return self.choice(kinds)

    def dim(self, rank):
        return self.randint(-rank, rank - 1) if rank else self.choice((0, -1))

    def dims(self, rank, min_rank=0):
        axes = self.sample(range(rank), self.randint(min(min_rank, rank), rank))
        return [axis - rank if self.random() < 0.3 else axis for axis in axes]

    def tensor(self, shape, dtype=torch.float32, edges=True, scale=4.0):
        generator = torch.Generator().manual_seed(self.getrandbits(40))
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=generator).bool()
        if dtype.is_complex:
            return torch.complex(torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)).to(
                dtype
            )
        if dtype.is_floating_point:
            x = (torch.randn(shape, generator=generator) * scale).to(dtype)
            specials = (math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, -1.0)
        else:
            info = torch.iinfo(dtype)
            x = torch.randint(max(info.min, -20), 21, shape, generator=generator).to(dtype)
            specials = (info.min, info.max, 0, 1)
        if edges and x.numel() and self.random() < 0.5:
            flat = x.flatten()
            for _ in range(self.randint(1, 3)):
                flat[self.randrange(flat.numel())] = self.choice(specials)
            x = flat.reshape(x.shape)
        return x

    def broadcast_pair(self):
        """Two shapes that broadcast with each other."""
        whole = self.shape()
        part = [1 if self.random() < 0.3 else n for n in whole][self.randint(0, len(whole)) :]
        pair = [tuple(part), whole]
        self.shuffle(pair)
        return pair

    def scalar(self, whole=None):
        kinds = [self.randint(-4, 4), self.uniform(-4, 4)] + ([bool(self.randint(0, 1))] if whole is None else [])
        return kinds[0] if whole or (whole is None and self.random() < 0.3) else self.choice(kinds[1:])


def unary(kinds=REAL_TYPES, **options):
    return lambda r: [r.tensor(r.shape(), r.dtype(kinds), **options)]


def binary(kinds=REAL_TYPES, same=False, edges=True):
    def draw(r):
        a, b = r.broadcast_pair()
        kind = r.dtype(kinds)
        x, y = r.tensor(a, kind, edges), r.tensor(b, kind if same or r.random() < 0.6 else r.dtype(kinds), edges)
        # PyTorch converts a tensor of rank 0 to the other tensor's type, where -1 becomes 255. ExecuTorch does not.
        if torch.uint8 in (x.dtype, y.dtype) and x.dtype != y.dtype:
            x, y = (v if v.dtype == torch.bool else v.abs() for v in (x, y))
            x, y = (v.clamp(min=0) if v.dtype == torch.int8 else v for v in (x, y))  # |-128| is -128
        if x.dtype in WHOLE and y.dtype in WHOLE:
            narrow = min((x.dtype, y.dtype), key=lambda kind: torch.iinfo(kind).max)
            x, y = (v.clamp(torch.iinfo(narrow).min, torch.iinfo(narrow).max) if v.dim() == 0 else v for v in (x, y))
        return [x, y]

    return draw


def with_scalar(kinds=REAL_TYPES, whole=None, edges=True):
    return lambda r: [r.tensor(r.shape(), r.dtype(kinds), edges), r.scalar(whole)]


def then(draw, *more):
    """Further arguments: constants, or functions of (random, arguments so far)."""

    def drawn(r):
        arguments = draw(r)
        for value in more:
            arguments.append(value(r, arguments) if callable(value) else value)
        return arguments

    return drawn


def dim_of(position=0):
    return lambda r, a: r.dim(a[position].dim())


def dims_of(min_rank=0):
    return lambda r, a: r.dims(a[0].dim(), min_rank)


def flip_coin(r, _):
    return bool(r.randint(0, 1))


def alpha(r, a):
    return (
        r.randint(-2, 3)
        if not any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in a)
        else r.uniform(-2, 2)
    )


def places(r, shape, size, negative=False):
    generator = torch.Generator().manual_seed(r.getrandbits(40))
    return torch.randint(-size if negative else 0, max(size, 1), shape, generator=generator)


# --- moving data ---------------------------------------------------------------------------------------------------


def permutation(r, a):
    order = list(range(a[0].dim()))
    r.shuffle(order)
    return [axis - a[0].dim() if r.random() < 0.3 else axis for axis in order]


def new_view(r, a):
    count, sizes = a[0].numel(), []
    if count == 0:
        return list(a[0].shape)
    while count > 1 and len(sizes) < 4:
        factor = r.choice([n for n in range(1, count + 1) if count % n == 0])
        sizes.append(factor)
        count //= factor
    return sizes + [count]


def copied(r):
    pair = r.broadcast_pair()
    to, source = r.tensor(max(pair, key=len), r.dtype()), r.tensor(min(pair, key=len), r.dtype(), edges=False)
    # PyTorch does not define the conversion of negative floats to bytes.
    return [to, source.abs() if to.dtype == torch.uint8 and source.is_floating_point() else source, False]


def expand_size(r, a):
    return [r.randint(0, 3) for _ in range(r.randint(0, 2))] + [n if n != 1 else r.choice((1, 3)) for n in a[0].shape]


def slice_ends(r, a):
    size = a[0].shape[a[1]]
    return r.choice((None, r.randint(-size - 2, size + 2)))


def concatenation(r):
    shape, kind = list(r.full_shape()), r.dtype()
    axis = r.randrange(len(shape))
    parts = [
        r.tensor(tuple(r.randint(0, 3) if i == axis else n for i, n in enumerate(shape)), kind)
        for _ in range(r.randint(1, 4))
    ]
    return [parts, r.choice((axis, axis - len(shape)))]


def split_sizes(r, a):
    left, sizes = a[0].shape[a[-1]], []
    while left > 0:
        sizes.append(r.randint(1, left))
        left -= sizes[-1]
    return sizes


def split_with_sizes(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dim = r.dim(x.dim())
    return [x, split_sizes(r, [x, dim]), dim]


def strided(r):
    x = r.tensor((24,), r.dtype())
    return [
        x,
        [r.randint(1, 3), r.randint(1, 3)],
        [r.randint(0, 4), r.randint(0, 3)],
        r.choice((None, r.randint(0, 9))),
    ]


def narrow(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dim = r.dim(x.dim())
    start = r.randint(0, x.shape[dim])
    return [
        x,
        dim,
        start - r.choice((0, x.shape[dim])) if start < x.shape[dim] else start,
        r.randint(0, x.shape[dim] - start),
    ]


def selected(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dim = r.dim(x.dim())
    return [x, dim, r.randint(-x.shape[dim], x.shape[dim] - 1)]


def select_scattered(r):
    x, dim, index = selected(r)
    return [x, r.tensor(tuple(x.select(dim, 0).shape), x.dtype), dim, index]


def slice_scattered(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dim = r.dim(x.dim())
    start, end, step = r.randint(-6, 6), r.randint(-6, 6), r.randint(1, 3)
    part = torch.ops.aten.slice_copy.Tensor(x, dim, start, end, step)
    return [x, r.tensor(tuple(part.shape), x.dtype), dim, start, end, step]


def gathered(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dim = r.dim(x.dim())
    shape = tuple(r.randint(0, n) if i != dim % x.dim() else r.randint(0, 6) for i, n in enumerate(x.shape))
    return [x, dim, places(r, shape, x.shape[dim]), False]


def scattered(value):
    def draw(r):
        x = r.tensor(r.full_shape(), r.dtype(), edges=False)
        dim = r.dim(x.dim()) % x.dim()
        limit = x.shape[dim]
        # No index occurs twice along the dimension, since PyTorch does not define which value wins.
        shape = [r.randint(0, n) for n in x.shape]
        index = torch.argsort(
            torch.rand(
                shape[:dim] + [limit] + shape[dim + 1 :], generator=torch.Generator().manual_seed(r.getrandbits(40))
            ),
            dim=dim,
        )
        index = index.narrow(dim, 0, shape[dim]).contiguous()
        dim = r.choice((dim, dim - x.dim()))
        if value == "value":
            return [x, dim, index, r.scalar(whole=not x.is_floating_point())]
        if value == "add":
            index = places(r, tuple(index.shape), limit)
        return [x, dim, index, r.tensor(tuple(n + r.randint(0, 1) for n in index.shape), x.dtype, edges=False)]

    return draw


def index_lists(r, x, masks=True):
    entries, axis = [], 0
    common = r.choice(((), (3,), (2, 2), (1,)))
    while axis < x.dim():
        kind = r.random()
        if kind < 0.3 and (entries or axis + 1 < x.dim()):
            entries.append(None)
        elif masks and kind < 0.45 and not any(e is not None for e in entries):
            axes = r.randint(1, x.dim() - axis)
            entries.append(r.tensor(tuple(x.shape[axis : axis + axes]), torch.bool))
            return entries
        else:
            shape = tuple(1 if r.random() < 0.2 else n for n in common)
            entries.append(
                places(r, shape, x.shape[axis], negative=True).to(r.choice((torch.int64, torch.int64, torch.int32)))
            )
        axis += 1
        if r.random() < 0.2 and any(e is not None for e in entries):
            break
    return entries if any(e is not None for e in entries) else [places(r, (2,), x.shape[0])]


def indexed(r):
    x = r.tensor(r.full_shape(), r.dtype())
    return [x, index_lists(r, x)]


def index_put(r):
    x = r.tensor(r.full_shape(), r.dtype(), edges=False)
    accumulate = bool(r.randint(0, 1))
    entries = index_lists(r, x)
    # Each index occurs once, unless values are accumulated.
    if not accumulate:
        first = next(i for i, e in enumerate(entries) if e is not None)
        if entries[first].dtype != torch.bool:
            entries = [None] * first + [
                torch.randperm(x.shape[first], generator=torch.Generator().manual_seed(r.getrandbits(40)))[
                    : r.randint(1, 5)
                ]
            ]
    entries = [e.long() if e is not None and e.dtype == torch.int32 else e for e in entries]
    shape = torch.ops.aten.index.Tensor(x, entries).shape
    shape = [1 if r.random() < 0.2 else n for n in shape][r.choice((0, 0, 1)) if shape else 0 :]
    return [x, entries, r.tensor(tuple(shape), x.dtype, edges=False), accumulate]


def padding(r, a):
    return [r.randint(-1, 2) for _ in range(2 * r.randint(0, a[0].dim()))]


def edge_padding(axes, reflect):
    def draw(r):
        x = r.tensor(tuple(r.randint(3, 5) for _ in range(axes + r.randint(1, 2))), r.dtype(FLOATS[:3]))
        return [x, [r.randint(0, 2) for _ in range(2 * axes)]]

    return draw


def repeats(r, a):
    return [r.randint(0, 3) for _ in range(a[0].dim() + r.randint(0, 1))]


def shuffled_pixels(unshuffle):
    def draw(r):
        f, c, h, w = r.randint(1, 3), r.randint(1, 2), r.randint(1, 3), r.randint(1, 3)
        lead = (2,) * r.randint(0, 2)
        return [r.tensor(lead + ((c, h * f, w * f) if unshuffle else (c * f * f, h, w)), r.dtype()), f]

    return draw


def rolled(r):
    x = r.tensor(r.full_shape(), r.dtype())
    dims = r.dims(x.dim())
    return [x, [r.randint(-7, 7) for _ in range(max(len(dims), 1))], dims]


# --- windows -------------------------------------------------------------------------------------------------------


def image(r, kinds, channels=None, batch=True):
    lead = (r.randint(1, 2),) if batch or r.random() < 0.6 else ()
    return r.tensor(
        lead + (channels or r.randint(1, 4), r.randint(4, 8), r.randint(4, 8)), r.dtype(kinds), edges=False, scale=1.0
    )


def convolution(transposed):
    def draw(r):
        groups = r.choice((1, 1, 2, 3))
        ic, oc, axes = groups * r.randint(1, 3), groups * r.randint(1, 3), r.choice((1, 2, 2))
        kind = r.dtype(FLOATS)
        x = r.tensor((r.randint(1, 2), ic) + tuple(r.randint(4, 8) for _ in range(axes)), kind, edges=False, scale=1.0)
        kernel = tuple(r.randint(1, 3) for _ in range(axes))
        weight = r.tensor(
            ((ic, oc // groups) if transposed else (oc, ic // groups)) + kernel, kind, edges=False, scale=1.0
        )
        bias = r.choice((None, r.tensor((oc,), kind, edges=False)))
        stride = [r.randint(1, 3) for _ in range(axes)]
        more = [r.randint(0, s - 1) for s in stride] if transposed else [0] * axes
        return [
            x,
            weight,
            bias,
            stride,
            [r.randint(0, 2) for _ in range(axes)],
            [r.randint(1, 2) for _ in range(axes)],
            transposed,
            more,
            groups,
        ]

    return draw


def convolutions(r):
    return convolution(bool(r.random() < 0.3))(r)


def convolution_backward(r):
    x, weight, bias, stride, padding_, dilation, transposed, more, groups = convolution(bool(r.random() < 0.3))(r)
    x, weight = x.float(), weight.float()
    y = torch.ops.aten.convolution.default(x, weight, None, stride, padding_, dilation, transposed, more, groups)
    return [
        r.tensor(tuple(y.shape), edges=False),
        x,
        weight,
        [y.shape[1]],
        stride,
        padding_,
        dilation,
        transposed,
        more,
        groups,
        [True, True, True],
    ]


def pool_window(r, dilated):
    kernel = [r.randint(1, 3), r.randint(1, 3)]
    window = [kernel, r.choice(([], [r.randint(1, 3), r.randint(1, 3)])), [r.randint(0, k // 2) for k in kernel]]
    return window + ([[r.randint(1, 2), r.randint(1, 2)]] if dilated else [])


def average_pool(r):
    return [
        image(r, FLOATS[:3], batch=False),
        *pool_window(r, False),
        flip_coin(r, 0),
        flip_coin(r, 0),
        r.choice((None, 3)),
    ]


def max_pool(r):
    return [image(r, FLOATS[:3] + (torch.int32, torch.int8), batch=False), *pool_window(r, True), flip_coin(r, 0)]


def max_pool_backward(r):
    x = image(r, (torch.float32,))
    window = [*pool_window(r, True), flip_coin(r, 0)]
    y, indices = torch.ops.aten.max_pool2d_with_indices.default(x, *window)
    return [r.tensor(tuple(y.shape), edges=False), x, *window, indices]


def grid(r):
    x = image(r, (torch.float32, torch.float64))
    places_ = r.tensor((x.shape[0], r.randint(1, 5), r.randint(1, 5), 2), x.dtype, edges=False, scale=0.8)
    return [x, places_, r.randint(0, 2), r.randint(0, 2), flip_coin(r, 0)]


def upsampled(corners, vector=True):
    def draw(r):
        x = image(r, (torch.float32, torch.float64) + ((torch.uint8,) if corners else ()))
        x = x * 12 if x.dtype == torch.uint8 else x  # bytes up to 240
        size, factors = [r.randint(2, 12), r.randint(2, 12)], [r.uniform(0.4, 2.5), r.uniform(0.4, 2.5)]
        if not vector:
            return [x, size, flip_coin(r, 0), None, None]
        chosen = (None, factors) if r.random() < 0.5 else (size, None)
        return [x, chosen[0], *([flip_coin(r, 0)] if corners else []), chosen[1]]

    return draw


# --- matrix products, norms ----------------------------------------------------------------------------------------


def matrices(batch=0, transposed=False):
    def draw(r):
        m, k, n = r.randint(1, 7), r.randint(0, 9), r.randint(1, 7)
        kind, lead = r.dtype(FLOATS[:3] + (torch.int32, torch.int64)), (r.randint(1, 3),) * batch
        return [
            r.tensor(lead + (m, k), kind, edges=False),
            r.tensor(lead + ((n, k) if transposed else (k, n)), kind, edges=False),
        ]

    return draw


def addmm(r):
    a, b = matrices()(r)
    bias = r.tensor(r.choice(((), (b.shape[1],), (a.shape[0], 1), (a.shape[0], b.shape[1]))), a.dtype, edges=False)
    return [bias, a, b, alpha(r, [a]), alpha(r, [a])]


def linear(r):
    a, b = matrices(transposed=True)(r)
    a, b = a.float(), b.float()
    lead = r.choice(((), (2,), (2, 3)))
    return [a.expand(lead + tuple(a.shape)).contiguous(), b, r.choice((None, r.tensor((b.shape[0],), edges=False)))]


def layer_norm(r):
    x = r.tensor(r.full_shape(), r.dtype(FLOATS[:3]), edges=False)
    shape = tuple(x.shape[r.randrange(x.dim()) :])
    weight, bias = (r.choice((None, r.tensor(shape, x.dtype, edges=False))) for _ in range(2))
    return [x, list(shape), weight, bias, 1e-5]


def group_norm(r):
    groups, each, n, size = r.randint(1, 3), r.randint(1, 3), r.randint(1, 2), r.randint(2, 9)
    c = groups * each
    x = r.tensor((n, c, size), r.dtype(FLOATS[:3]), edges=False)
    return [
        x,
        r.choice((None, r.tensor((c,), x.dtype, edges=False))),
        r.choice((None, r.tensor((c,), x.dtype, edges=False))),
        n,
        c,
        size,
        groups,
        1e-5,
    ]


def batch_norm(kind):
    def draw(r):
        x = r.tensor(
            (r.randint(2, 3), r.randint(1, 4)) + tuple(r.randint(2, 4) for _ in range(r.randint(1, 2))), edges=False
        )
        c = x.shape[1]
        affine = [r.choice((None, r.tensor((c,), edges=False))) for _ in range(2)]
        running = [r.tensor((c,), edges=False), r.tensor((c,), edges=False).abs() + 0.1]
        if kind == "no_training":
            return [x, *affine, *running, 0.1, 1e-5]
        return [
            x,
            *affine,
            *(running if kind == "stats" else []),
            True if kind == "none" else flip_coin(r, 0),
            0.1,
            1e-5,
        ]

    return draw


def embedding(r):
    weight = r.tensor((r.randint(1, 6), r.randint(1, 5)), r.dtype())
    return [weight, places(r, r.shape(0, 2), weight.shape[0]), -1, False, False]


def distances(r):
    kind = r.choice((torch.float32, torch.float64))
    lead, m = r.choice(((), (2,), (2, 3))), r.randint(1, 5)
    return [
        r.tensor(lead + (r.randint(1, 4), m), kind, edges=False),
        r.tensor(lead + (r.randint(1, 4), m), kind, edges=False),
        r.choice((0.0, 1.0, 2.0, 3.0, math.inf, 1.5)),
        None,
    ]


def real_transform(r):
    x = r.tensor(
        tuple(r.randint(1, 9) for _ in range(r.randint(1, 3))), r.choice((torch.float32, torch.float64)), edges=False
    )
    return [x, r.sample(range(x.dim()), r.randint(1, x.dim())), r.randint(0, 2), flip_coin(r, 0)]


def complex_transform(r):
    x, dims, normalization, _ = real_transform(r)
    last = x.shape[dims[-1]]
    spectrum = torch.ops.aten._fft_r2c.default(x, dims, 0, True)
    return [spectrum, dims, normalization, last]


# --- the table -----------------------------------------------------------------------------------------------------

ANY = unary()
NAMED = {
    "_adaptive_avg_pool2d.out": lambda r: [image(r, FLOATS[:3], batch=False), [r.randint(1, 6), r.randint(1, 6)]],
    "_log_softmax.out": then(unary(FLOATS), dim_of(), False),
    "_softmax.out": then(unary(FLOATS), dim_of(), False),
    "_cdist_forward.out": distances,
    "_conj_physical.out": unary((torch.complex64, torch.complex128)),
    "_fft_c2r.out": complex_transform,
    "_fft_r2c.out": real_transform,
    "_native_batch_norm_legit_no_training.out": batch_norm("no_training"),
    "_native_batch_norm_legit.no_stats_out": batch_norm("none"),
    "_native_batch_norm_legit.out": batch_norm("stats"),
    "_pdist_forward.out": lambda r: [r.tensor((r.randint(1, 5), r.randint(1, 4)), edges=False), r.choice((0.0, 1.0, 2.0, 2.5, math.inf))],
    "_to_copy.out": None,
    "_upsample_bilinear2d_aa.out": upsampled(True, vector=False),
    "add.out": then(binary(), alpha),
    "add.Scalar_out": then(with_scalar(), alpha),
    "addmm.out": addmm,
    "alias_copy.out": ANY,
    "amax.out": then(unary(), dims_of(1), flip_coin),
    "amin.out": then(unary(), dims_of(1), flip_coin),
    "any.all_out": ANY,
    "any.dims_out": then(unary(), dims_of(1), flip_coin),
    "any.out": then(unary(), dim_of(), flip_coin),
    "arange.out": lambda r: [r.randint(0, 9)],
    "arange.start_out": lambda r: [r.randint(-5, 0), r.randint(1, 9), r.randint(1, 3)],
    "argmax.out": then(unary(REAL_TYPES[:-1]), lambda r, a: r.choice((None, r.dim(a[0].dim()))), flip_coin),
    "argmin.out": then(unary(REAL_TYPES[:-1]), lambda r, a: r.choice((None, r.dim(a[0].dim()))), flip_coin),
    "as_strided_copy.out": strided,
    "atan2.out": binary(),
    "avg_pool2d.out": average_pool,
    "bitwise_not.out": unary(WHOLE + (torch.bool,)),
    "bmm.out": matrices(1),
    "cat.out": concatenation,
    "clamp.Tensor_out": lambda r: [*binary(REAL_TYPES[:-1], same=True)(r), None],
    "clamp.out": then(unary(REAL_TYPES[:-1]), lambda r, a: r.choice((None, r.scalar(True))), lambda r, a: r.scalar(True)),
    "clone.out": then(unary(), None),
    "constant_pad_nd.out": then(unary(), padding, lambda r, a: r.scalar(not a[0].is_floating_point())),
    "convolution.out": convolutions,
    "convolution_backward.out": convolution_backward,
    "copy.out": copied,
    "cumsum.out": then(unary(), dim_of(), None),
    "detach_copy.out": ANY,
    "diagonal_copy.out": lambda r: (lambda x, d: [x, r.randint(-3, 3), d[0], d[1]])(r.tensor(r.full_shape(2, 4), r.dtype()), r.sample(range(2), 2)),
    "div.Scalar_mode_out": then(with_scalar(), lambda r, a: r.choice((None, "floor", "trunc"))),
    "div.out_mode": then(binary(), lambda r, a: r.choice((None, "floor", "trunc"))),
    "elu.out": then(unary(FLOATS), lambda r, a: r.uniform(0.1, 2), lambda r, a: r.uniform(0.5, 2), lambda r, a: r.uniform(0.5, 2)),
    "embedding.out": embedding,
    "empty.out": None,
    "expand_copy.out": then(unary(), expand_size, False),
    "fill.Scalar_out": with_scalar(),
    "fill.Tensor_out": then(unary(), lambda r, a: r.tensor((), r.choice((a[0].dtype, torch.bool)), edges=False)),
    "flip.out": then(unary(), dims_of()),
    "full.out": lambda r: [list(r.shape()), r.scalar()],
    "full_like.out": then(with_scalar(), None),
    "gather.out": gathered,
    "gelu.out": then(unary(FLOATS[:3], edges=False), lambda r, a: r.choice(("none", "tanh"))),
    "glu.out": lambda r: (lambda x, d: [torch.cat([x, x.flip(0)], d), d])(r.tensor(r.full_shape(), r.dtype(FLOATS[:3])), -1),
    "grid_sampler_2d.out": grid,
    "hardtanh.out": then(unary(REAL_TYPES[:-1]), -1, 2),
    "index.Tensor_out": indexed,
    "index_put.out": index_put,
    "index_put_": index_put,
    "index_select.out": lambda r: (lambda x, d: [x, d, places(r, (r.randint(0, 5),), x.shape[d])])(r.tensor(r.full_shape(2, 2), r.dtype()), r.choice((0, -1, 1))),
    "leaky_relu.out": then(unary(FLOATS), lambda r, a: r.uniform(-1, 1)),
    "lift_fresh_copy.out": ANY,
    "linear.out": linear,
    "logit.out": then(unary(FLOATS[:3], scale=0.4), lambda r, a: r.choice((None, 0.1))),
    "masked_fill.Scalar_out": lambda r: (lambda pair: [r.tensor(max(pair, key=len), torch.float32), r.tensor(min(pair, key=len), torch.bool), r.scalar()])(r.broadcast_pair()),
    "masked_scatter.out": lambda r: (lambda x: [x, r.tensor(tuple(x.shape), torch.bool), r.tensor((x.numel() + 2,), x.dtype)])(r.tensor(r.full_shape(), r.dtype())),
    "masked_select.out": lambda r: (lambda pair: [r.tensor(pair[0], r.dtype()), r.tensor(pair[1], torch.bool)])(r.broadcast_pair()),
    "max.dim_max": then(unary(), dim_of(), flip_coin),
    "max.unary_out": ANY,
    "max_pool2d_with_indices.out": max_pool,
    "max_pool2d_with_indices_backward.grad_input": max_pool_backward,
    "mean.dtype_out": then(unary(FLOATS), None),
    "mean.out": then(unary(FLOATS), dims_of(1), flip_coin, None),
    "min.dim_min": then(unary(), dim_of(), flip_coin),
    "min.unary_out": ANY,
    "mm.out": matrices(),
    "narrow_copy.out": narrow,
    "native_dropout.out": None,
    "native_group_norm.out": group_norm,
    "native_layer_norm.out": layer_norm,
    "nonzero.out": ANY,
    "ones.out": lambda r: [list(r.shape())],
    "permute_copy.out": then(unary(), permutation),
    "pixel_shuffle.out": shuffled_pixels(False),
    "pixel_unshuffle.out": shuffled_pixels(True),
    "pow.Scalar_out": lambda r: [r.scalar(), r.tensor(r.shape(), r.dtype(FLOATS[:3]))],
    "pow.Tensor_Scalar_out": lambda r: [r.tensor(r.shape(), r.dtype(REAL_TYPES[:-1])), r.choice((2, 3, 0.5, -0.5, 2.0, 1, 0))],
    "pow.Tensor_Tensor_out": lambda r: [x.abs() if x.is_floating_point() else (x % 5).abs() for x in binary(REAL_TYPES[:-1], same=True, edges=False)(r)],
    "prod.int_out": then(unary(), dim_of(), flip_coin, None),
    "prod.out": then(unary(), None),
    "rand.out": None,
    "randn.out": None,
    "reflection_pad1d.out": edge_padding(1, True),
    "reflection_pad2d.out": edge_padding(2, True),
    "reflection_pad3d.out": edge_padding(3, True),
    "replication_pad1d.out": edge_padding(1, False),
    "replication_pad2d.out": edge_padding(2, False),
    "replication_pad3d.out": edge_padding(3, False),
    "repeat.out": then(unary(), repeats),
    "repeat_interleave.Tensor_out": lambda r: [places(r, (r.randint(0, 5),), 4).to(r.choice((torch.int32, torch.int64))), None],
    "roll.out": rolled,
    "rsub.Scalar_out": then(with_scalar(REAL_TYPES[:-1]), alpha),
    "scalar_tensor.out": lambda r: [r.scalar()],
    "scatter.src_out": scattered("source"),
    "scatter.value_out": scattered("value"),
    "scatter_add.out": scattered("add"),
    "select_copy.int_out": selected,
    "select_scatter.out": select_scattered,
    "slice_copy.Tensor_out": then(lambda r: [r.tensor(r.full_shape(), r.dtype())], dim_of(), slice_ends, slice_ends, lambda r, a: r.randint(1, 3)),
    "slice_scatter.out": slice_scattered,
    "split_copy.Tensor_out": lambda r: (lambda x: [x, r.randint(1, 3), r.dim(x.dim())])(r.tensor(r.full_shape(), r.dtype())),
    "split_with_sizes_copy.out": split_with_sizes,
    "squeeze_copy.dim_out": then(unary(), dim_of()),
    "squeeze_copy.dims_out": then(unary(), dims_of()),
    "stack.out": lambda r: (lambda shape, kind: [[r.tensor(shape, kind) for _ in range(r.randint(1, 3))], r.dim(len(shape) + 1)])(r.shape(), r.dtype()),
    "sub.out": then(binary(REAL_TYPES[:-1]), alpha),
    "sub.Scalar_out": then(with_scalar(REAL_TYPES[:-1]), alpha),
    "sum.IntList_out": then(unary(), dims_of(), flip_coin, None),
    "t_copy.out": lambda r: [r.tensor(r.shape(0, 2), r.dtype())],
    "topk.values": lambda r: (lambda x, d: [x, r.randint(0, x.shape[d]), d, flip_coin(r, 0), True])(r.tensor(r.full_shape(), r.dtype((torch.float32, torch.float64)), edges=False), -1),
    "transpose_copy.int_out": then(unary(), dim_of(), dim_of()),
    "tril.out": lambda r: [r.tensor(r.full_shape(2, 4), r.dtype()), r.randint(-3, 3)],
    "unbind_copy.int_out": lambda r: (lambda x: [x, r.dim(x.dim())])(r.tensor(r.full_shape(), r.dtype())),
    "unfold_copy.out": lambda r: (lambda x: [x, -1, r.randint(1, x.shape[-1]), r.randint(1, 3)])(r.tensor(r.full_shape(), r.dtype())),
    "unsqueeze_copy.out": then(unary(), lambda r, a: r.randint(-a[0].dim() - 1, a[0].dim())),
    "upsample_bilinear2d.vec_out": upsampled(True),
    "upsample_nearest2d.vec_out": upsampled(False),
    "var.correction_out": then(unary(FLOATS), dims_of(1), lambda r, a: r.choice((None, 0, 1, 2)), flip_coin),
    "var.out": then(unary(FLOATS), dims_of(1), flip_coin, flip_coin),
    "var_mean.correction_out": then(unary(FLOATS), dims_of(1), lambda r, a: r.choice((None, 0, 1, 2)), flip_coin),
    "view_as_real_copy.out": unary((torch.complex64, torch.complex128)),
    "view_copy.out": then(unary(), new_view),
    "where.self_out": lambda r: (lambda pair: [r.tensor(pair[0], torch.bool), r.tensor(pair[1], r.dtype()), r.tensor(pair[0], r.dtype())])(r.broadcast_pair()),
    "zeros.out": lambda r: [list(r.shape())],
}  # fmt: skip

# Elementwise operators on one tensor, on two tensors, and on a tensor and a number.
for word in """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor isinf isnan log log10 log1p log2 logical_not neg
    reciprocal relu round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc""".split():
    NAMED[f"{word}.out"] = unary()
# Beyond 2^24, the result depends on how an integer is rounded to float, and PyTorch rounds in several ways.
for word in "sin cos tan".split():
    NAMED[f"{word}.out"] = unary(FLOATS + (torch.int8, torch.int16))
for word in "div floor_divide maximum minimum mul logical_and logical_or logical_xor".split():
    NAMED[f"{word}.out"] = binary()
for word in "eq ge gt le lt ne fmod remainder".split():
    NAMED[f"{word}.Tensor_out"] = binary()
for word in "eq ge gt le lt ne fmod remainder".split():
    NAMED[f"{word}.Scalar_out"] = with_scalar()
for word in "div mul".split():
    NAMED[f"{word}.Scalar_out"] = with_scalar()
for word in "and or xor".split():
    NAMED[f"bitwise_{word}.Tensor_out"] = binary(WHOLE + (torch.bool,))
    NAMED[f"bitwise_{word}.Scalar_out"] = with_scalar(WHOLE, whole=True)
for word in "left right".split():
    NAMED[f"bitwise_{word}_shift.Tensor_out"] = lambda r: (
        lambda pair, kind: [r.tensor(pair[0], kind), r.tensor(pair[1], kind, edges=False) % 8]
    )(r.broadcast_pair(), r.dtype(WHOLE))
    NAMED[f"bitwise_{word}_shift.Tensor_Scalar_out"] = lambda r: [r.tensor(r.shape(), r.dtype(WHOLE)), r.randint(0, 7)]
