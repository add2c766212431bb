"""Random calls of the Cortex-M backend's operators: {name: draw(random) -> arguments of the operator}.

Shapes, windows, zero points, multipliers and limits are random. Codes include the ends of their types. Images are channels-last in memory,
as the backend lays them out, unless the operator's name says NHWC.
"""

import torch
from kernel_calls import OrderedTensor

LAST = (0, 2, 3, 1)
SCRATCH = torch.zeros(1, dtype=torch.int8)


def codes(r, *shape, dtype=torch.int8):
    info = torch.iinfo(dtype)
    x = torch.randint(info.min, info.max + 1, shape, generator=torch.Generator().manual_seed(r.getrandbits(40))).to(
        dtype
    )
    if x.numel() and r.random() < 0.5:
        flat = x.flatten()
        flat[r.randrange(flat.numel())] = r.choice((info.min, info.max, 0))
        x = flat.reshape(x.shape)
    return x


def whole(r, low, high, *shape):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(r.getrandbits(40))).to(torch.int32)


def multiplier(r):
    return r.randint(1 << 30, (1 << 31) - 1)


def zero(r):
    return r.choice((0, -128, 127, r.randint(-128, 127)))


def limits(r):
    return r.choice(((-128, 127), (r.randint(-128, -60), r.randint(60, 127))))


def image(r, layout, channels, min_size=3):
    n, h, w = r.randint(1, 2), r.randint(min_size, 9), r.randint(min_size, 9)
    return codes(r, n, h, w, channels) if layout == "nhwc" else OrderedTensor(codes(r, n, channels, h, w), LAST)


def requantized(r, channels):
    return whole(r, 1 << 30, (1 << 31) - 1, channels), whole(r, -11, -6, channels)


def bias_of(r, channels):
    return r.choice((None, whole(r, -3000, 3000, channels)))


def same_or_channels(r):
    """Two tensors of the same shape, or one that has channels only."""
    if r.random() < 0.5:
        shape = r.choice(((5,), (2, 3), (1, 4, 3, 5), (2, 0, 3)))
        return [codes(r, *shape), codes(r, *shape)]
    channels = r.randint(1, 6)
    return [image(r, "nchw", channels), OrderedTensor(codes(r, 1, channels, 1, 1), LAST)]


def add(r):
    a, b = same_or_channels(r)
    return [
        a,
        zero(r),
        multiplier(r),
        r.randint(-3, 0),
        b,
        zero(r),
        multiplier(r),
        r.randint(-3, 0),
        zero(r),
        multiplier(r),
        r.randint(-20, -17),
        *limits(r),
    ]


def mul(r):
    a, b = same_or_channels(r)
    return [a, zero(r), b, zero(r), zero(r), multiplier(r), r.randint(-9, -6)]


def div(r):
    dtype = r.choice((torch.int8, torch.int16))
    shape = r.choice(((7,), (2, 30), (1, 3, 4, 5)))
    return [
        codes(r, *shape, dtype=dtype),
        zero(r),
        codes(r, *shape, dtype=dtype),
        zero(r),
        zero(r),
        r.uniform(0.05, 40),
    ]


def quantize(r):
    dtype, (low, high) = r.choice(((torch.int8, (-128, 127)), (torch.int16, (-32768, 32767))))
    return [r.tensor(r.shape(), edges=False), r.uniform(0.01, 0.1), r.randint(-100, 100), low, high, dtype]


def dequantize(r):
    dtype, (low, high) = r.choice(((torch.int8, (-128, 127)), (torch.int16, (-32768, 32767))))
    return [codes(r, *r.shape(), dtype=dtype), r.uniform(0.01, 0.1), r.randint(-100, 100), low, high, dtype]


def batch_matmul(r):
    b, m, k, n = (r.randint(1, top) for top in (3, 6, 20, 7))
    return [codes(r, b, m, k), zero(r), codes(r, b, n, k), zero(r), zero(r), multiplier(r), r.randint(-10, -7), SCRATCH]


def linear(r):
    outputs, inputs = r.randint(1, 9), r.randint(1, 40)
    x, weight = codes(r, *r.choice(((), (3,), (2, 3))), r.randint(1, 3), inputs), codes(r, outputs, inputs)
    low, high = limits(r)
    with_sums = r.random() < 0.5
    sums = [None, whole(r, -3000, 3000, outputs)] if with_sums else [bias_of(r, outputs), None]
    return [
        x,
        weight,
        *sums,
        zero(r),
        0 if with_sums else zero(r),
        zero(r),
        [multiplier(r)],
        [r.randint(-11, -8)],
        high,
        low,
    ]


def window(r):
    return [r.randint(1, 3), r.randint(1, 3)], [r.randint(1, 2), r.randint(1, 2)]


def convolution(layout):
    def draw(r):
        groups, inputs = r.choice((1, 1, 2)), r.randint(1, 4)
        outputs, (kernel, padding) = groups * r.randint(1, 5), window(r)
        weight = codes(r, outputs, *kernel, inputs)
        scratch = torch.zeros(r.choice([1, 30, 100, 400]), dtype=torch.int8)  # for no window, or for some
        return [
            image(r, layout, groups * inputs),
            weight,
            bias_of(r, outputs),
            [r.randint(1, 3), r.randint(1, 3)],
            [p - 1 for p in padding],
            [1, 1],
            zero(r),
            zero(r),
            *requantized(r, outputs),
            *limits(r),
            scratch,
        ]

    return draw


def depthwise(layout):
    def draw(r):
        channels, times, (kernel, padding) = r.randint(1, 9), r.choice((1, 1, 2)), window(r)
        weight = codes(r, 1, *kernel, channels * times)
        rest = [[1, 1], times, zero(r), zero(r), *requantized(r, channels * times), *limits(r), SCRATCH]
        return [
            image(r, layout, channels),
            weight,
            bias_of(r, channels * times),
            [r.randint(1, 2), r.randint(1, 2)],
            [p - 1 for p in padding],
            *rest,
        ]

    return draw


def transposed(layout):
    def draw(r):
        inputs, outputs, (kernel, padding) = r.randint(1, 4), r.randint(1, 4), window(r)
        stride = [r.randint(1, 3), r.randint(1, 3)]
        more = [r.randint(0, s - 1) for s in stride]
        rest = [more, [1, 1], zero(r), zero(r), *requantized(r, outputs), *limits(r), SCRATCH, SCRATCH]
        return [
            image(r, layout, inputs),
            codes(r, outputs, *kernel, inputs),
            bias_of(r, outputs),
            stride,
            [p - 1 for p in padding],
            *rest,
        ]

    return draw


def average(layout):
    return lambda r: [
        image(r, layout, r.randint(1, 5)),
        [3, 2],
        [r.randint(1, 2), r.randint(1, 3)],
        [r.randint(0, 1), 0],
        bool(r.randint(0, 1)),
        zero(r),
        multiplier(r),
        r.randint(-6, -3),
        SCRATCH,
    ]


def greatest(layout):
    def draw(r):
        own = zero(r)
        return [
            image(r, layout, r.randint(1, 5)),
            [3, 2],
            [r.randint(1, 2), r.randint(1, 3)],
            [r.randint(0, 1), r.randint(0, 1)],
            [1, 1],
            False,
            own,
            own,
            *limits(r),
        ]

    return draw


def two(r):
    a, b = r.broadcast_pair()
    return [codes(r, *a), codes(r, *b)]


def moved(r):
    x = codes(r, *r.full_shape(1, 4))
    order = list(range(x.dim()))
    r.shuffle(order)
    return [x, order]


def padded(r):
    x = codes(r, *r.full_shape(1, 4))
    rank = x.dim()
    before, after = ([0] * (4 - rank) + [r.randint(0, 2) for _ in range(rank)] for _ in range(2))
    return [x, before, after, zero(r)]


def softmax(r):
    x = codes(r, *r.full_shape(1, 4))
    return [x, r.dim(x.dim()), zero(r), -128, multiplier(r), r.randint(20, 23), -248]


# Operators that support int16 beside int8, as in the backend's C++ kernels.
INT16_TOO = ("dequantize_per_tensor", "quantize_per_tensor", "quantized_div")

NAMES = {
    "dequantize_per_tensor": dequantize, "maximum": two, "minimum": two, "pad": padded, "quantize_per_tensor": quantize,
    "quantized_activation": lambda r: [codes(r, *r.shape()), codes(r, 256)],
    "quantized_add": add, "quantized_avg_pool2d": average("nchw"), "quantized_avg_pool2d_nhwc": average("nhwc"),
    "quantized_batch_matmul": batch_matmul, "quantized_conv2d": convolution("nchw"), "quantized_conv2d_nhwc": convolution("nhwc"),
    "quantized_depthwise_conv2d": depthwise("nchw"), "quantized_depthwise_conv2d_nhwc": depthwise("nhwc"),
    "quantized_div": div, "quantized_linear": linear, "quantized_max_pool2d": greatest("nchw"), "quantized_max_pool2d_nhwc": greatest("nhwc"),
    "quantized_mul": mul, "quantized_transpose_conv2d": transposed("nchw"), "quantized_transpose_conv2d_nhwc": transposed("nhwc"),
    "softmax": softmax, "transpose": moved,
}  # fmt: skip
