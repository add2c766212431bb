"""Models of one operator each, which test_single_operators.py quantizes, compiles and runs."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from function_as_module import Fn

INT8 = 30  # dB: the NPU's integers against eager torch
EXACT = 110  # dB: CPU kernels, in float


@dataclass
class Model:
    name: str
    make: object  # () -> nn.Module
    inputs: tuple  # a shape (normal floats), or a function of a generator
    min_db: float = INT8
    decomposed: bool = False  # run_decompositions() before saving
    rejected: str = ""  # the expected error message; empty: it compiles


def fn(function):
    return lambda: Fn(function)


def normal(*shape):
    return lambda g: torch.randn(shape, generator=g)


def positive(*shape):
    return lambda g: torch.rand(shape, generator=g) * 1.9 + 0.1


def inside(*shape):  # values in (-1, 1)
    return lambda g: torch.rand(shape, generator=g) * 1.8 - 0.9


def integers(high, *shape, dtype=torch.int64):
    return lambda g: torch.randint(0, high, shape, generator=g, dtype=dtype)


def unary(name, function, draw=normal(1, 3, 8, 8), **more):
    return Model(name, fn(function), (draw,), **more)


IMAGE = normal(1, 4, 8, 8)
PAIR = (normal(1, 4, 8), normal(1, 4, 8))
VECTOR = normal(1, 24)


class AfterConvolution(nn.Module):
    """A CPU operator between two NPU operators."""

    def __init__(self, function, channels=4, out=4):
        super().__init__()
        self.first, self.function, self.last = (
            nn.Conv2d(channels, channels, 3, padding=1),
            function,
            nn.Conv2d(out, 2, 1),
        )

    def forward(self, x):
        return self.last(self.function(self.first(x)))


class Buffered(nn.Module):
    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer)

    def forward(self, x):
        return self.function(self, x)


class Trained(nn.Module):
    """A function of batch norms with different statistics and factors per channel."""

    def __init__(self, function, norm):
        super().__init__()
        self.function, self.norm = function, norm
        channels = norm.num_features
        norm.running_mean.data = torch.linspace(-0.5, 0.8, channels)
        norm.running_var.data = torch.linspace(0.3, 4.0, channels)
        norm.weight.data = torch.linspace(0.2, 1.5, channels)
        norm.bias.data = torch.linspace(1.0, -0.7, channels)

    def forward(self, x):
        return self.function(self, x)


def convolutions():
    yield Model("conv1d", lambda: nn.Conv1d(4, 6, 3, stride=2), (normal(1, 4, 20),))
    yield Model("conv2d", lambda: nn.Conv2d(4, 6, 3, dilation=2), (IMAGE,))
    yield Model("conv2d_depthwise", lambda: nn.Conv2d(4, 4, 3, groups=4), (IMAGE,))
    yield Model("conv2d_grouped", lambda: nn.Conv2d(4, 6, 3, groups=2), (IMAGE,), 20)
    yield Model("conv2d_same", lambda: nn.Conv2d(4, 6, 3, padding="same"), (IMAGE,))
    yield Model("conv3d", lambda: nn.Conv3d(2, 3, 3), (normal(1, 2, 5, 6, 6),))
    yield Model("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 3, 2, stride=2), (IMAGE,))
    yield Model("conv_transpose2d_inside", lambda: AfterConvolution(nn.ConvTranspose2d(4, 4, 2, stride=2)), (IMAGE,))
    yield Model("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 3, 2, stride=2), (normal(1, 4, 9),))
    yield Model("linear", lambda: nn.Linear(24, 10), (VECTOR,))
    yield Model("matmul", fn(torch.matmul), (normal(1, 4, 6), normal(1, 6, 5)))
    yield Model(
        "bilinear_einsum",
        fn(lambda a, b: torch.einsum("bij,bjk->bik", a, b)),
        (normal(1, 4, 6), normal(1, 6, 5)),
        decomposed=True,
    )
    yield Model("baddbmm", fn(torch.baddbmm), (normal(1, 4, 5), normal(1, 4, 6), normal(1, 6, 5)))


def pools():
    yield Model("max_pool2d", lambda: nn.MaxPool2d(2), (IMAGE,))
    yield Model("max_pool2d_dilated", lambda: nn.MaxPool2d(2, dilation=2, stride=1), (IMAGE,))
    yield Model("max_pool1d", lambda: nn.MaxPool1d(2), (normal(1, 4, 20),))
    yield Model("avg_pool2d", lambda: nn.AvgPool2d(2), (IMAGE,))
    yield Model("avg_pool2d_padded", lambda: nn.AvgPool2d(3, padding=1, count_include_pad=False), (IMAGE,))
    yield Model(
        "adaptive_avg_pool2d_1", lambda: nn.AdaptiveAvgPool2d(1), (IMAGE,), 15
    )  # means of 64 numbers: small beside the input's step
    yield Model("adaptive_avg_pool2d_5", lambda: nn.AdaptiveAvgPool2d(5), (IMAGE,))
    yield Model("adaptive_avg_pool2d_5_inside", lambda: AfterConvolution(nn.AdaptiveAvgPool2d(5)), (IMAGE,))
    yield Model("lp_pool2d", lambda: nn.LPPool2d(2, 2), (IMAGE,))


def norms():
    yield Model("batch_norm", lambda: nn.BatchNorm2d(4), (IMAGE,))
    yield Model(
        "batch_norm_of_two",
        lambda: Trained(lambda m, x: m.norm(torch.cat((x, torch.relu(x)), 1)), norm=nn.BatchNorm2d(8)),
        (IMAGE,),
    )
    yield Model(
        "batch_norm_of_rows",
        lambda: Trained(lambda m, x: m.norm(torch.relu(x)), norm=nn.BatchNorm1d(4)),
        (normal(1, 4, 20),),
    )
    yield Model(
        "normalized_channels",
        lambda: Buffered(
            lambda m, x: (x - m.mean) * m.factor,
            mean=torch.tensor([0.2, -0.4, 0.1, 0.9]).view(4, 1, 1),
            factor=torch.tensor([0.5, 8.0, -1.0, 2.0]).view(1, 4, 1, 1),
        ),
        (IMAGE,),
    )
    yield Model("layer_norm", lambda: nn.LayerNorm(24), (VECTOR,))
    yield Model("group_norm", lambda: nn.GroupNorm(2, 4), (IMAGE,))
    yield Model("instance_norm", lambda: nn.InstanceNorm2d(4), (IMAGE,))
    yield Model("rms_norm", lambda: nn.RMSNorm(24), (VECTOR,))
    yield Model("normalize", fn(lambda x: F.normalize(x, dim=1)), (VECTOR,))
    yield Model(
        "cosine_similarity",
        fn(lambda a, b: F.cosine_similarity(a, b, dim=1)),
        (normal(1, 8, 6), normal(1, 8, 6)),
        decomposed=True,
    )
    yield Model("vector_norm", fn(lambda x: torch.linalg.vector_norm(x, dim=1)), (VECTOR,))
    yield Model("softmax", fn(lambda x: F.softmax(x, 1)), (VECTOR,), 25)
    yield Model("log_softmax", fn(lambda x: F.log_softmax(x, 1)), (VECTOR,))
    yield Model("var", fn(lambda x: x.var(1)), (VECTOR,))
    yield Model("std", fn(lambda x: x.std(1)), (VECTOR,), decomposed=True)


def activations():
    for module in (
        nn.ReLU,
        nn.ReLU6,
        nn.Hardtanh,
        nn.LeakyReLU,
        nn.ELU,
        nn.SELU,
        nn.CELU,
        nn.GELU,
        nn.SiLU,
        nn.Mish,
        nn.Hardswish,
        nn.Hardsigmoid,
        nn.Sigmoid,
        nn.LogSigmoid,
        nn.Softplus,
        nn.Tanh,
        nn.PReLU,
        nn.Hardshrink,
        nn.Softshrink,
        nn.Softsign,
        nn.Tanhshrink,
        nn.Threshold,
        nn.GLU,
    ):
        arguments = (0.1, 20.0) if module is nn.Threshold else ()
        min_db = 15 if module is nn.Threshold else 25  # a value on the wrong side of 0.1 has an error of 20
        yield Model(
            module.__name__.lower(),
            lambda module=module, arguments=arguments: module(*arguments),
            (normal(1, 4, 8, 8),),
            min_db,
        )

    slopes = {
        "small": (0.05, 0.9),
        "large": (1.1, 1.9),
        "positive": (0.2, 1.6),
        "of_both_signs": (-0.7, 0.8),
        "any": (-0.7, 1.6),
        "with_zero": (0.0, 0.6),
    }
    for name, (low, high) in slopes.items():
        yield Model(f"prelu_{name}", lambda low=low, high=high: with_slopes(torch.linspace(low, high, 4)), (IMAGE,))
    yield Model("prelu_inside", lambda: AfterConvolution(with_slopes(torch.linspace(0.05, 0.9, 4))), (IMAGE,))
    yield Model("leaky_by_maximum", fn(lambda x: torch.maximum(x, 0.1 * x)), (IMAGE,))
    yield Model("leaky_by_halves", fn(lambda x: torch.relu(x) - 0.2 * torch.relu(-x)), (IMAGE,))
    yield Model("leaky_by_magnitude", fn(lambda x: torch.relu(x) + 0.3 * (x - torch.abs(x)) * 0.5), (IMAGE,))
    yield Model(
        "prelu_by_halves",
        lambda: Buffered(
            lambda m, x: torch.relu(x) - m.a * torch.relu(-x), a=torch.linspace(0.1, 0.8, 4).view(1, 4, 1, 1)
        ),
        (IMAGE,),
    )


def with_slopes(slopes):
    module = nn.PReLU(len(slopes))
    module.weight.data = slopes
    return module


def elementwise():
    for name in (
        "exp",
        "expm1",
        "neg",
        "abs",
        "sin",
        "cos",
        "sinh",
        "cosh",
        "asinh",
        "atan",
        "erf",
        "square",
        "ceil",
        "floor",
        "round",
        "sign",
        "trunc",
        "exp2",
        "frac",
    ):
        yield unary(
            name, getattr(torch, name), min_db=10 if name in ("ceil", "floor", "round", "sign", "trunc", "frac") else 25
        )
    for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "acosh"):
        yield unary(
            name,
            getattr(torch, name),
            (lambda g: torch.rand((1, 3, 8, 8), generator=g) + 1.5) if name == "acosh" else positive(1, 3, 8, 8),
            min_db=25,
        )
    for name in ("asin", "acos", "atanh", "tan"):
        yield unary(name, getattr(torch, name), inside(1, 3, 8, 8), min_db=25)
    for name in ("add", "sub", "mul", "maximum", "minimum", "atan2"):
        yield Model(name, fn(getattr(torch, name)), PAIR, 25)
    yield Model("div", fn(torch.div), (normal(1, 4, 8), lambda g: torch.rand((1, 4, 8), generator=g) + 0.5))
    yield Model(
        "div_floor", fn(lambda a, b: torch.div(a, b, rounding_mode="floor")), (normal(1, 4, 8), positive(1, 4, 8)), 5
    )
    yield Model("remainder", fn(lambda x: torch.remainder(x, 0.7)), (VECTOR,), 30)
    yield Model("fmod", fn(lambda x: torch.fmod(x, 0.7)), (VECTOR,))
    yield Model("pow_2", fn(lambda x: x**2), (VECTOR,))
    yield Model("pow_tensor", fn(torch.pow), (positive(1, 24), normal(1, 24)))
    yield Model("rsub", fn(lambda x: 1 - x), (VECTOR,))
    yield Model("clamp", fn(lambda x: x.clamp(-0.5, 1)), (VECTOR,))
    yield Model(
        "clamp_tensor",
        lambda: Buffered(lambda m, x: torch.clamp(x, m.low, m.high), low=torch.full((24,), -0.5), high=torch.ones(24)),
        (VECTOR,),
    )
    yield Model("addcmul", fn(lambda a, b: torch.addcmul(a, a, b)), PAIR, decomposed=True)
    yield Model("lerp", fn(lambda a, b: torch.lerp(a, b, 0.3)), PAIR, decomposed=True)


def choices():
    yield Model("where_gt", fn(lambda a, b: torch.where(a > b, a, b * 0.5)), PAIR, 25)
    yield Model("where_inside", lambda: AfterConvolution(lambda x: torch.where(x > 0, x, x * 0.1)), (IMAGE,), 25)
    yield Model(
        "masked_fill",
        lambda: Buffered(lambda m, x: x.masked_fill(m.mask, -2.0), mask=torch.arange(24) % 3 == 0),
        (VECTOR,),
    )
    yield Model("argmax", fn(lambda x: x.argmax(1)), (VECTOR,), EXACT)
    yield Model("argmax_inside", lambda: nn.Sequential(nn.Linear(24, 10), Fn(lambda x: x.argmax(1))), (VECTOR,), EXACT)
    yield Model("argmin", fn(lambda x: x.argmin(1)), (VECTOR,), EXACT)
    yield Model("max_dim", fn(lambda x: torch.max(x, 1)[0]), (VECTOR,), 25)
    yield Model("topk", fn(lambda x: torch.topk(x, 3)[0]), (VECTOR,), 25)
    yield Model("sort", fn(lambda x: torch.sort(x)[0]), (VECTOR,), 25)
    yield Model("median", fn(lambda x: x.median(1)[0]), (VECTOR,), 25)
    yield Model("argsort", fn(lambda x: torch.argsort(torch.round(x * 4), stable=True)), (VECTOR,), EXACT)
    yield Model("cdist", fn(lambda a, b: torch.cdist(a, b)), PAIR)
    yield Model("any", fn(lambda x: (x > 1.5).any(1).float()), (VECTOR,), EXACT)
    yield Model("logical", fn(lambda a, b: ((a > 0) & ~(b > 0)).to(torch.float32)), PAIR, EXACT)


def reductions():
    yield Model("sum", fn(lambda x: x.sum(1)), (VECTOR,), 20)
    yield Model("mean", fn(lambda x: x.mean((2, 3))), (IMAGE,), 25)
    yield Model("amax", fn(lambda x: x.amax(1)), (VECTOR,), 25)
    yield Model("amin", fn(lambda x: x.amin(1)), (VECTOR,), 25)
    yield Model("prod", fn(lambda x: x.prod(1)), (positive(1, 6),))
    yield Model("cumsum", fn(lambda x: x.cumsum(1)), (VECTOR,), 30)
    yield Model("cumsum_inside", lambda: AfterConvolution(lambda x: x.cumsum(3)), (IMAGE,))


def movers():
    move = dict(min_db=35)
    yield Model("view", lambda: AfterConvolution(lambda x: x.view(1, 8, 8, 4), out=8), (IMAGE,))
    yield Model("flatten", fn(lambda x: torch.tanh(x).flatten(1)), (IMAGE,))
    yield Model("permute", lambda: AfterConvolution(lambda x: x.permute(0, 2, 1, 3), out=8), (IMAGE,))
    yield Model("slice", fn(lambda x: torch.tanh(x)[:, 1:, ::2]), (IMAGE,))
    yield Model("select", fn(lambda x: torch.tanh(x)[:, 1]), (IMAGE,))
    yield Model("cat", fn(lambda a, b: torch.tanh(torch.cat([a, b], 1))), PAIR)
    yield Model("stack", fn(lambda a, b: torch.tanh(torch.stack([a, b], 1))), PAIR)
    yield Model("split", fn(lambda x: torch.tanh(x).split(2, 1)[1]), (IMAGE,))
    yield Model("chunk", fn(lambda x: torch.tanh(x).chunk(2, 1)[0]), (IMAGE,))
    yield Model("unbind", fn(lambda x: torch.tanh(x).unbind(1)[2]), (IMAGE,))
    yield Model("expand", fn(lambda x: torch.tanh(x).expand(1, 4, 24)), (normal(1, 1, 24),))
    yield Model("repeat", fn(lambda x: torch.tanh(x).repeat(1, 2, 1, 1)), (IMAGE,))
    yield Model("tile", fn(lambda x: torch.tanh(x).tile(1, 2, 1, 1)), (IMAGE,))
    yield Model("squeeze", fn(lambda x: torch.tanh(x).unsqueeze(1).squeeze(1)), (VECTOR,))
    yield Model("pad_constant", fn(lambda x: F.pad(torch.tanh(x), (1, 2, 0, 1), value=0.5)), (IMAGE,))
    yield Model("pad_reflect", lambda: nn.ReflectionPad2d(1), (IMAGE,), **move)
    yield Model("pad_replicate", lambda: nn.ReplicationPad2d(1), (IMAGE,), **move)
    yield Model("pad_circular", lambda: nn.CircularPad2d(1), (IMAGE,), **move)
    yield Model("flip", fn(lambda x: x.flip(2)), (IMAGE,))
    yield Model("flip_inside", lambda: AfterConvolution(lambda x: x.flip(2)), (IMAGE,))
    yield Model("roll", fn(lambda x: torch.tanh(x).roll(1, 3)), (IMAGE,))
    yield Model("pixel_shuffle", fn(lambda x: torch.tanh(F.pixel_shuffle(x, 2))), (IMAGE,))
    yield Model("pixel_unshuffle", fn(lambda x: torch.tanh(F.pixel_unshuffle(x, 2))), (IMAGE,))
    yield Model("channel_shuffle", fn(lambda x: torch.tanh(F.channel_shuffle(x, 2))), (IMAGE,))
    yield Model("upsample_nearest", lambda: AfterConvolution(nn.Upsample(scale_factor=2)), (IMAGE,))
    yield Model("upsample_bilinear", lambda: AfterConvolution(nn.Upsample(scale_factor=2, mode="bilinear")), (IMAGE,))
    yield Model("upsample_nearest_odd", fn(lambda x: torch.tanh(F.interpolate(x, size=(11, 13)))), (IMAGE,))
    yield Model(
        "upsample_nearest_doubled",
        fn(lambda x: torch.tanh(F.interpolate(x, scale_factor=(2.15, 1.1)))),
        (normal(1, 4, 4, 8),),
    )
    yield Model(
        "upsample_nearest_exact",
        fn(lambda x: torch.tanh(F.interpolate(x, size=(5, 13), mode="nearest-exact"))),
        (IMAGE,),
    )
    yield Model("upsample_nearest_1d", fn(lambda x: torch.tanh(F.interpolate(x, scale_factor=3))), (normal(1, 4, 10),))
    yield Model(
        "upsample_aligned",
        fn(lambda x: torch.tanh(F.interpolate(x, size=(5, 13), mode="bilinear", align_corners=True))),
        (IMAGE,),
    )
    yield Model(
        "upsample_linear",
        fn(lambda x: torch.tanh(F.interpolate(x, scale_factor=2, mode="linear"))),
        (normal(1, 4, 10),),
    )
    yield Model("embedding", lambda: nn.Embedding(10, 6), (integers(10, 1, 5),))
    yield Model("embedding_inside", lambda: nn.Sequential(nn.Embedding(10, 6), nn.Linear(6, 4)), (integers(10, 1, 5),))
    yield Model(
        "index_select",
        lambda: Buffered(lambda m, x: torch.index_select(x, 1, m.index), index=torch.tensor([2, 0, 5])),
        (VECTOR,),
    )
    yield Model("gather", fn(lambda x, i: torch.gather(x, 1, i)), (VECTOR, integers(24, 1, 5)))
    yield Model("index_at_run_time", fn(lambda x, i, j: x[0, i - 2, :, j]), (IMAGE, integers(4, 3, 1), integers(8, 5)))
    yield Model(
        "index_put_at_run_time",
        fn(lambda x, i, v: torch.ops.aten.index_put(x, (None, i), v)),
        (IMAGE, integers(4, 3), normal(1, 3, 8, 8)),
    )
    yield Model("scatter_add", fn(lambda x, i, v: x.scatter_add(1, i, v)), (VECTOR, integers(24, 1, 9), normal(1, 9)))
    yield Model("index", lambda: Buffered(lambda m, x: x[:, m.index], index=torch.tensor([2, 0, 5])), (VECTOR,))
    yield Model("unfold", fn(lambda x: torch.tanh(x).unfold(1, 4, 2)), (VECTOR,))
    yield Model("tril", fn(lambda x: torch.tanh(x).tril()), (normal(1, 6, 6),))
    yield Model("to_float", fn(lambda x: x.to(torch.float32) * 0.1), (integers(255, 1, 3, 8, 8, dtype=torch.uint8),))
    yield Model("int_to_float", fn(lambda x: x.float() / 7), (integers(100, 1, 24, dtype=torch.int32),))
    yield Model("triu", fn(lambda x: torch.tanh(x).triu(1)), (normal(1, 6, 6),))
    yield Model("roll_flat", fn(lambda x: torch.tanh(x).roll(5)), (normal(1, 6, 6),))
    yield Model("meshgrid_constant", fn(lambda x: x + torch.arange(24.0)), (VECTOR,))


def networks():
    yield Model(
        "causal_attention",
        fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
        (normal(1, 2, 6, 8),) * 3,
        15,
    )
    yield Model("attention", fn(F.scaled_dot_product_attention), (normal(1, 2, 6, 8),) * 3, 25)
    yield Model(
        "multihead",
        lambda: Fn(lambda x, a=nn.MultiheadAttention(16, 2, batch_first=True): a(x, x, x)[0]),
        (normal(1, 6, 16),),
        15,
        decomposed=True,
    )


# Operators without a lowering, a decomposition and a CPU kernel.
REJECTED = {
    "cdist": "aten.cdist.default",
}


def models():
    for family in (convolutions, pools, norms, activations, elementwise, choices, reductions, movers, networks):
        for model in family():
            model.rejected = (
                f"{REJECTED[model.name]} has no TOSA lowering, and there is no CPU kernel for it"
                if model.name in REJECTED
                else ""
            )
            yield model
