"""Small PyTorch modules with example inputs, for test_lower.py."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn
from function_as_module import Fn


@dataclass
class Module:
    name: str
    make: object  # () -> nn.Module
    inputs: tuple  # shapes
    int8: bool = True  # also quantized
    steps: int = 1  # allowed difference in int8 steps
    tolerance: float = 1e-4  # allowed difference in float, relative to the largest value
    positive: bool = False  # inputs in (0.1, 2)
    vela: bool = True  # Vela can compile the integer graph for ethos-u55
    u55: bool = field(default=True)

    def example(self, seed=0):
        generator = torch.Generator().manual_seed(seed)
        draw = (
            (lambda s: torch.rand(s, generator=generator) * 1.9 + 0.1)
            if self.positive
            else (lambda s: torch.randn(s, generator=generator))
        )
        return tuple(draw(s) for s in self.inputs)

    def eager(self):
        torch.manual_seed(7)
        module = self.make().eval()
        for m in module.modules():
            if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
                m.running_mean.normal_(0, 0.3)
                m.running_var.uniform_(0.5, 1.5)
                m.weight.data.uniform_(0.5, 1.5)
                m.bias.data.normal_(0, 0.3)
        return module


def fn(function):
    return lambda: Fn(function)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(8, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.b = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.b(F.relu6(self.bn(self.a(x)))))


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(4, 8, 1)
        self.a = nn.Conv2d(8, 2, 1)
        self.b = nn.Conv2d(2, 8, 1)

    def forward(self, x):
        x = self.c(x)
        s = torch.sigmoid(self.b(F.relu(self.a(x.mean((2, 3), keepdim=True)))))
        return x * s


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.qkv(x).reshape(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 6, 16))


class Classifier(nn.Module):
    """conv, pool, flatten, linear: the transpose before flatten goes into the weights."""

    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 6, 3, stride=2)
        self.f = nn.Linear(6 * 6 * 6, 10)

    def forward(self, x):
        return F.softmax(self.f(torch.flatten(F.max_pool2d(F.relu(self.c(x)), 2, 1), 1)), -1)


class Shortcut(nn.Module):
    """ResNet's option A: every other pixel, zero channels."""

    def forward(self, x):
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 2, 2))


class Addmm(nn.Module):
    """One matrix is a parameter, and the other is an input."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(8, 5))
        self.b = nn.Parameter(torch.randn(5))

    def forward(self, x):
        return torch.addmm(self.b, x, self.w) @ torch.ones(5, 2) + torch.mm(x, x.t())[:, :2]


# The second query has no visible key.
HIDDEN_ROW = torch.tensor([[0.0, -torch.inf, 0.5], [-torch.inf] * 3, [0.0, 0.0, -1.0]])


class Lstm(nn.LSTM):
    """All results as a tuple."""

    def forward(self, x):
        output, (hidden, cell) = super().forward(x)
        return output, hidden, cell


class EinsumWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(6, 2, 4))

    def forward(self, x):
        return torch.einsum("btd,dhk->bthk", x, self.w)


class Patches(nn.Module):
    """The first layers of a vision transformer: a convolution with stride equal to its kernel, pixels as tokens, layer norm."""

    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 8, 4, stride=4)
        self.n = nn.LayerNorm(8)

    def forward(self, x):
        return self.n(self.c(x).flatten(2).transpose(1, 2))


IMAGE = (1, 4, 9, 11)
MODULES = [
    Module("conv", lambda: nn.Conv2d(4, 8, 3), (IMAGE,)),
    Module("conv_padded", lambda: nn.Conv2d(4, 5, (3, 5), padding=(1, 2), bias=False), (IMAGE,)),
    Module("conv_strided", lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1), ((1, 4, 10, 12),)),
    Module("conv_strided_1x1", lambda: nn.Conv2d(4, 6, 1, stride=2), ((1, 4, 10, 12),)),
    Module("conv_dilated", lambda: nn.Conv2d(4, 6, 3, dilation=2, padding=2), (IMAGE,)),
    Module("conv_grouped", lambda: nn.Conv2d(4, 6, 3, groups=2, padding=1), (IMAGE,)),
    Module("conv_depthwise", lambda: nn.Conv2d(4, 4, 3, groups=4, padding=1), (IMAGE,)),
    Module("conv_depthwise_multiplied", lambda: nn.Conv2d(4, 12, 3, groups=4, padding=1), (IMAGE,)),
    Module("conv_one_channel", lambda: nn.Conv2d(1, 8, (10, 4), stride=2, padding=(5, 1)), ((1, 1, 49, 10),)),
    Module("conv_same", lambda: nn.Conv2d(4, 8, 4, padding="same"), (IMAGE,)),
    Module("conv_batch", lambda: nn.Conv2d(4, 8, 3), ((2, 4, 9, 9),)),
    Module("conv1d", lambda: nn.Conv1d(4, 8, 3, padding=1, stride=2), ((1, 4, 20),)),
    Module("conv_bn_relu", lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU()), (IMAGE,)),
    Module("conv_bn_relu6", lambda: nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU6()), (IMAGE,)),
    Module("conv1d_bn_relu", lambda: nn.Sequential(nn.Conv1d(4, 8, 3), nn.BatchNorm1d(8), nn.ReLU()), ((1, 4, 20),)),
    Module("bn_alone", lambda: nn.BatchNorm2d(4), (IMAGE,), int8=False),
    Module("linear", lambda: nn.Linear(16, 10), ((1, 16),)),
    Module("linear_rows", lambda: nn.Linear(16, 10), ((1, 5, 16),)),
    Module("linear_relu", lambda: nn.Sequential(nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 3)), ((4, 16),)),
    Module("mlp_bn", lambda: nn.Sequential(nn.Linear(16, 10), nn.BatchNorm1d(10), nn.ReLU()), ((4, 16),), int8=False),
    Module("bmm", fn(torch.bmm), ((2, 4, 8), (2, 8, 5)), steps=1),
    Module("matmul", fn(torch.matmul), ((1, 2, 4, 8), (1, 2, 8, 5))),
    Module("addmm", Addmm, ((3, 8),), int8=False),
    Module("attention", Attention, ((1, 6, 16),), steps=3),
    Module("add", fn(torch.add), (IMAGE, IMAGE)),
    Module("add_broadcast", fn(torch.add), (IMAGE, (4, 1, 1))),
    Module("add_scalar", fn(lambda x: x + 1.5), (IMAGE,)),
    Module("add_itself", fn(lambda x: x + x), ((5,),)),
    Module("sub", fn(torch.sub), ((1, 7), (3, 1))),
    Module("rsub", fn(lambda x: 1 - x), (IMAGE,)),
    Module("mul", fn(torch.mul), (IMAGE, IMAGE)),
    Module("mul_scalar", fn(lambda x: x * 0.3), (IMAGE,)),
    Module("square", fn(lambda x: x * x), (IMAGE,)),
    Module("div_scalar", fn(lambda x: x / 3), (IMAGE,)),
    Module("maximum", fn(torch.maximum), (IMAGE, IMAGE)),
    Module("minimum", fn(torch.minimum), (IMAGE, IMAGE)),
    Module("relu", nn.ReLU, (IMAGE,)),
    Module("clamp", fn(lambda x: torch.clamp(x, -0.5, 0.7)), (IMAGE,)),
    Module("clamp_min", fn(lambda x: torch.clamp(x, min=-0.5)), (IMAGE,)),
    Module("exp", fn(torch.exp), (IMAGE,)),
    Module("sigmoid", fn(torch.sigmoid), (IMAGE,)),
    Module("tanh", fn(torch.tanh), (IMAGE,)),
    Module("gelu", nn.GELU, (IMAGE,), tolerance=1e-3),
    Module("gelu_tanh", lambda: nn.GELU("tanh"), (IMAGE,), tolerance=1e-3),
    Module("silu", nn.SiLU, (IMAGE,)),
    Module("hardswish", nn.Hardswish, (IMAGE,)),
    Module("hardsigmoid", nn.Hardsigmoid, (IMAGE,)),
    Module("elu", nn.ELU, (IMAGE,)),
    Module("selu", nn.SELU, (IMAGE,)),
    Module("leaky_relu", lambda: nn.LeakyReLU(0.1), (IMAGE,)),
    Module("mish", nn.Mish, (IMAGE,), int8=False, tolerance=1e-3),
    Module("softplus", nn.Softplus, (IMAGE,), int8=False),
    Module("log", fn(torch.log), (IMAGE,), positive=True),
    Module("rsqrt", fn(torch.rsqrt), (IMAGE,), positive=True),
    Module("sqrt", fn(torch.sqrt), (IMAGE,), positive=True),
    Module("pow", fn(lambda x: torch.pow(x, 1.5)), (IMAGE,), positive=True),
    *(Module(f"pow_{n}", fn(lambda x, n=n: torch.pow(x, n)), (IMAGE,), int8=n > 1) for n in (0, 1, 2, 3, 7)),
    Module("pow_of_minus_2", fn(lambda x: torch.pow(x, -2)), (IMAGE,), positive=True),
    Module("reciprocal", fn(torch.reciprocal), (IMAGE,), positive=True),
    Module("abs", fn(torch.abs), (IMAGE,)),
    Module("neg", fn(torch.neg), (IMAGE,)),
    Module("sin", fn(torch.sin), (IMAGE,)),
    Module("erf", fn(torch.erf), (IMAGE,)),
    Module("max_pool", lambda: nn.MaxPool2d(2), ((1, 4, 9, 10),)),
    Module("max_pool_padded", lambda: nn.MaxPool2d(3, 2, 1), ((1, 4, 10, 10),)),
    Module("max_pool_ceil", lambda: nn.MaxPool2d(3, 2, ceil_mode=True), ((1, 4, 10, 10),)),
    Module("avg_pool", lambda: nn.AvgPool2d(2), ((1, 4, 8, 9),)),
    Module("avg_pool_counted", lambda: nn.AvgPool2d(3, 2, 1), ((1, 4, 9, 9),)),
    Module("avg_pool_uncounted", lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False), ((1, 4, 9, 9),)),
    Module("avg_pool_ceil", lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True), ((1, 4, 10, 10),), int8=False),
    Module("avg_pool_whole", lambda: nn.AvgPool2d(8), ((1, 4, 8, 8),)),
    Module("adaptive_avg_pool", lambda: nn.AdaptiveAvgPool2d(1), (IMAGE,)),
    Module("adaptive_avg_pool_3", lambda: nn.AdaptiveAvgPool2d(3), ((1, 4, 9, 12),)),
    Module("mean_image", fn(lambda x: x.mean((2, 3))), (IMAGE,)),
    Module("mean_last", fn(lambda x: x.mean(-1, keepdim=True)), ((2, 3, 8),)),
    Module("mean_all", fn(lambda x: x.mean()), ((2, 3, 8),), int8=False),
    Module("sum", fn(lambda x: x.sum(1)), ((2, 3, 8),)),
    Module("sum_image", fn(lambda x: x.sum((2, 3))), (IMAGE,)),
    Module("amax", fn(lambda x: x.amax(-1)), ((2, 3, 8),)),
    Module("amin", fn(lambda x: x.amin(1, keepdim=True)), ((2, 3, 8),)),
    Module("var", fn(lambda x: x.var(-1)), ((2, 3, 8),), steps=2),
    Module("softmax", lambda: nn.Softmax(-1), ((3, 10),)),
    Module("softmax_axis", lambda: nn.Softmax(1), ((1, 5, 4, 4),), steps=2),
    Module("log_softmax", lambda: nn.LogSoftmax(-1), ((3, 10),), steps=2),
    Module("layer_norm", lambda: nn.LayerNorm(16), ((1, 5, 16),), steps=3),
    Module("group_norm", lambda: nn.GroupNorm(2, 4), (IMAGE,), steps=3),
    Module("cat", fn(lambda a, b: torch.cat([a, b], 1)), (IMAGE, (1, 2, 9, 11))),
    Module("stack", fn(lambda a, b: torch.stack([a, b], 1)), ((3, 4), (3, 4))),
    Module("slice", fn(lambda x: x[:, 1:3, 2:-1] + 0.5), (IMAGE,)),
    Module("slice_strided", fn(lambda x: x[:, :, ::2, 1::2] * 2), ((1, 4, 10, 11),)),
    Module("slice_strided_far", fn(lambda x: x[:, ::3, ::5] * 2), ((1, 9, 11),)),
    Module("select", fn(lambda x: x[:, -1] + x[:, 0]), ((2, 3, 8),)),
    Module(
        "split", fn(lambda x: torch.cat([p * (i + 1.0) for i, p in enumerate(torch.split(x, 3, 1))], 1)), ((2, 7, 4),)
    ),
    Module("chunk", fn(lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1]), ((2, 3, 8),)),
    Module("pad", fn(lambda x: F.pad(x, (1, 2, 0, 3)) + 1), (IMAGE,)),
    Module("pad_value", fn(lambda x: F.pad(x, (1, 2), value=0.5) * 2), ((2, 5),)),
    Module(
        "pad_conv", lambda: nn.Sequential(nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(4, 8, 3, stride=2)), ((1, 4, 10, 10),)
    ),
    # Vela supports five axes only if the product of any three of them is at most 2^16.
    Module(
        "permute_many_heads", fn(lambda x: x.reshape(1, 197, 3, 6, 64).permute(2, 0, 3, 1, 4) * 2), ((1, 197, 1152),)
    ),
    Module("permute", fn(lambda x: x.permute(0, 2, 3, 1) * 2), (IMAGE,)),
    Module("expand", fn(lambda x: x.expand(3, 4, 5) * 2), ((1, 4, 1),)),
    Module("repeat", fn(lambda x: x.repeat(2, 1, 3) + 1), ((2, 3, 4),)),
    Module("flatten", fn(lambda x: torch.flatten(x + 1, 1)), (IMAGE,)),
    Module("two_outputs", fn(lambda x: (x + 1, x * 2)), (IMAGE,)),
    # Composites that prepare decomposes. test_single_operators.py quantizes similar ones.
    Module("addcmul", fn(lambda x, y, z: torch.addcmul(x, y, z, value=0.3)), ((2, 5), (2, 5), (1, 5)), int8=False),
    Module("lerp", fn(lambda x, y, w: torch.lerp(x, y, 0.3) + torch.lerp(x, y, w)), ((2, 5),) * 3, int8=False),
    Module("logsumexp", fn(lambda x: x.logsumexp(-1)), ((2, 3, 8),), int8=False),
    Module("cosine_similarity", fn(lambda x, y: F.cosine_similarity(x, y, -1)), ((2, 3, 8),) * 2, int8=False),
    Module("std", fn(lambda x: (x.std(-1), x.std((0, 2), correction=0, keepdim=True))), ((2, 3, 8),), int8=False),
    Module(
        "inverse_circular",
        fn(lambda x: (torch.asin(x), torch.acos(x), torch.atan(x * 9), torch.atanh(x))),
        ((2, 40),),
        int8=False,
        tolerance=1e-5,
    ),
    Module(
        "inverse_hyperbolic",
        fn(lambda x: (torch.asinh(x * 9), torch.acosh(x + 0.9), torch.erfinv(x), torch.logit(x, 1e-3))),
        ((2, 40),),
        int8=False,
        tolerance=1e-5,
    ),
    Module(
        "near_zero",
        fn(lambda x: (torch.log1p(x * 1e-4), torch.expm1(x * 1e-4), torch.sinc(x), torch.erfc(x), torch.frac(x * 5))),
        ((2, 40),),
        int8=False,
        tolerance=1e-5,
    ),
    Module(
        "thresholds",
        fn(lambda x: F.threshold(x, 0.1, 20) + F.hardshrink(x) + F.softshrink(x) + F.rrelu(x)),
        ((2, 40),),
        int8=False,
    ),
    Module(
        "pow_of_tensors",
        fn(lambda x, y: (torch.pow(x, torch.round(y * 2)), torch.pow(x.abs(), y), torch.pow(2.5, y))),
        ((2, 40),) * 2,
        int8=False,
        tolerance=1e-5,
    ),
    Module(
        "angles",
        fn(
            lambda x, y: (
                torch.atan2(x, y),
                torch.hypot(x, y),
                torch.logaddexp(x, y),
                torch.logaddexp2(x, y),
                torch.addcdiv(x, y, y.abs() + 1, value=0.3),
            )
        ),
        ((2, 40),) * 2,
        int8=False,
        tolerance=1e-5,
    ),
    Module(
        "products", fn(lambda x: (x.prod(), x.prod(1), x.prod(0, keepdim=True))), ((3, 5),), int8=False, tolerance=1e-5
    ),
    Module(
        "spread_and_mean",
        fn(lambda x: (*torch.var_mean(x, -1), *torch.std_mean(x, (0, 2), keepdim=True))),
        ((2, 3, 8),),
        int8=False,
    ),
    Module(
        "lengths",
        fn(
            lambda x: (
                x.norm(),
                torch.norm(x, 3, 1),
                torch.linalg.norm(x, dim=-1),
                torch.linalg.vector_norm(x, -torch.inf, 0),
            )
        ),
        ((2, 3, 8),),
        int8=False,
        tolerance=1e-5,
    ),
    Module("cat_with_nothing", fn(lambda x: torch.cat((x[..., :4].relu(), x[..., 8:], x[..., 2:6]), -1)), ((2, 3, 8),)),
    Module(
        "distance", fn(lambda x, y: F.pairwise_distance(x, y) + F.pairwise_distance(x, y, 1)), ((3, 8),) * 2, int8=False
    ),
    Module("running_products", fn(lambda x: (x.cumprod(1), x.cumprod(0))), ((3, 5),), int8=False, tolerance=1e-5),
    Module("bilinear", lambda: nn.Bilinear(6, 4, 5), ((2, 3, 6), (2, 3, 4)), int8=False),
    Module(
        "orders",
        fn(lambda x: (*x.topk(3), *x.topk(2, 1, largest=False), *x.sort(1, descending=True), x.argsort(-1))),
        ((2, 7, 9),),
        int8=False,
    ),
    Module(
        "middles",
        fn(lambda x: (x.median(), *x.median(1), *x.kthvalue(4, -1, keepdim=True), *torch.aminmax(x, dim=0))),
        ((4, 7),),
        int8=False,
    ),
    Module(
        "grid_sampler",
        fn(
            lambda x, g: (
                F.grid_sample(x, g, align_corners=False)
                + F.grid_sample(x, g, "nearest", "border", False)
                + F.grid_sample(x, g, "bilinear", "reflection", True)
            )
        ),
        ((2, 3, 6, 5), (2, 4, 7, 2)),
        int8=False,
    ),
    Module(
        "affine_grid",
        fn(
            lambda x: (
                F.affine_grid(x, [2, 3, 4, 5], align_corners=False) + F.affine_grid(x, [2, 3, 4, 5], align_corners=True)
            )
        ),
        ((2, 2, 3),),
        int8=False,
    ),
    Module("orders_of_equals", fn(lambda x: (*torch.sort(torch.round(x * 2), stable=True),)), ((4, 20),), int8=False),
    Module("pixel_shuffle", lambda: nn.PixelShuffle(2), ((2, 8, 3, 5),), int8=False),
    Module(
        "repeat_interleave", fn(lambda x: (x.repeat_interleave(3, 1), x.repeat_interleave(2))), ((2, 3, 4),), int8=False
    ),
    Module(
        "conv3d",
        lambda: nn.Conv3d(2, 5, (3, 2, 3), stride=(2, 1, 1), padding=(1, 0, 1), dilation=(1, 2, 1)),
        ((1, 2, 6, 7, 8),),
        vela=False,
    ),
    Module("conv3d_grouped", lambda: nn.Conv3d(4, 6, 3, groups=2, padding="same"), ((2, 4, 4, 5, 6),), vela=False),
    Module("conv3d_depthwise", lambda: nn.Conv3d(3, 6, (2, 3, 3), groups=3), ((3, 4, 5, 6),), int8=False),
    Module(
        "conv_transposed",
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
        (IMAGE,),
        vela=False,
    ),
    Module(
        "conv_transposed_uneven",
        lambda: nn.ConvTranspose2d(4, 6, (2, 5), stride=(3, 1), padding=(0, 2)),
        ((2, 4, 5, 6),),
        vela=False,
    ),
    Module(
        "conv_transposed_cropped", lambda: nn.ConvTranspose2d(4, 6, 2, stride=2, padding=3), ((2, 4, 5, 6),), int8=False
    ),
    Module(
        "conv_transposed_dilated",
        lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, dilation=(2, 3)),
        ((1, 4, 5, 6),),
        int8=False,
    ),
    Module(
        "conv_transposed_grouped", lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2), ((1, 4, 5, 6),), int8=False
    ),
    Module(
        "conv1d_transposed",
        lambda: nn.ConvTranspose1d(4, 6, 5, stride=3, padding=1, output_padding=2, dilation=2),
        ((2, 4, 11),),
        int8=False,
    ),
    Module(
        "conv3d_transposed",
        lambda: nn.ConvTranspose3d(4, 6, (2, 3, 1), (1, 2, 3), (0, 1, 0), (0, 0, 1), 2, dilation=(2, 1, 1)),
        ((2, 4, 3, 4, 5),),
        int8=False,
    ),
    Module(
        "conv_computed_weights",
        fn(lambda x, w, b: F.conv2d(x, w * 2, b, stride=2, groups=2)),
        ((1, 4, 8, 8), (4, 2, 3, 3), (4,)),
        int8=False,
    ),
    Module("linear_computed_weights", fn(lambda x, w, b: F.linear(x, w, b)), ((2, 3, 8), (5, 8), (5,)), int8=False),
    Module(
        "products_of_vectors",
        fn(lambda m, v: (m @ v, v @ m.mT, torch.dot(v, v), torch.mv(m[0], v))),
        ((2, 4, 6), (6,)),
        int8=False,
    ),
    Module("products_broadcast", fn(lambda a, b: a @ b), ((2, 1, 3, 4, 6), (2, 2, 1, 6, 5)), int8=False),
    Module(
        "sums_and_products",
        fn(lambda a, b, c: (torch.addmm(a, b, c, alpha=0.5, beta=2), torch.addmv(b[:, 0], b, c[:, 0], beta=3))),
        ((5,), (4, 6), (6, 5)),
        int8=False,
    ),
    Module(
        "einsum",
        fn(
            lambda a, b: (
                torch.einsum("bqhd,bkhd->bhqk", a, b),
                torch.einsum("b...d,xyzd", a, b),
                torch.einsum("ijkl->jl", a),
            )
        ),
        ((2, 4, 3, 5), (2, 6, 3, 5)),
        int8=False,
    ),
    Module(
        "einsum_diagonals",
        fn(
            lambda a, b: (
                torch.einsum("bii->bi", a),
                torch.einsum("bii", a),
                torch.einsum("bii,bij->jb", a, b),
                torch.einsum("iii->i", a[:, :2, :2]),
            )
        ),
        ((2, 3, 3), (2, 3, 4)),
        int8=False,
    ),
    Module("taps_in_padding", lambda: nn.Conv2d(3, 5, 3, padding=(9, 4), dilation=(9, 4)), ((1, 3, 7, 6),)),
    Module("einsum_weights", EinsumWeights, ((2, 3, 6),), int8=False),
    Module(
        "attention_masked_row",
        fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, HIDDEN_ROW)),
        ((1, 2, 3, 8),) * 3,
        int8=False,
    ),
    Module(
        "attention_hidden",
        fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, HIDDEN_ROW == 0, scale=0.3)),
        ((1, 2, 3, 8),) * 3,
        int8=False,
    ),
    Module(
        "attention_causal",
        fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)),
        ((1, 4, 5, 8), (1, 2, 7, 8), (1, 2, 7, 6)),
        int8=False,
    ),
    Module("lstm", lambda: Lstm(4, 6, num_layers=2, bidirectional=True, batch_first=True), ((2, 5, 4),), int8=False),
    Module("lstm_projected", lambda: Lstm(4, 6, proj_size=3, bias=False), ((3, 2, 4),), int8=False),
    Module("gru", lambda: nn.GRU(4, 6, num_layers=2, bidirectional=True), ((5, 2, 4), (4, 2, 6)), int8=False),
    Module("rnn", lambda: nn.RNN(4, 6, nonlinearity="relu", bidirectional=True), ((5, 2, 4),), int8=False),
    Module("lstm_cell", lambda: nn.LSTMCell(4, 6), ((2, 4),), int8=False),
    Module("gru_cell", lambda: nn.GRUCell(4, 6), ((2, 4), (2, 6)), int8=False),
    Module(
        "index_several",
        fn(lambda x: x[torch.tensor([0, -1]), :, torch.tensor([[2], [0]])] * 2),
        ((3, 4, 5),),
        vela=False,
    ),
    Module(
        "index_put_nowhere_twice",
        fn(lambda x, v: torch.index_put(x, (torch.tensor([2, 0]), torch.tensor([1, 3])), v) * 2),
        ((3, 4, 5), (2, 5)),
        int8=False,
    ),
    Module(
        "index_put_adds_again",
        fn(lambda x, v: torch.index_put(x, (torch.tensor([2, 0, 2]),), v, True)),
        ((3, 4), (3, 4)),
        int8=False,
    ),
    Module(
        "gather_many", fn(lambda x: x.gather(1, torch.arange(150).reshape(2, 75) * 7 % 97) * 2), ((2, 97),), vela=False
    ),
    Module(
        "slice_scatter_stepped",
        fn(lambda x, v: torch.slice_scatter(x, v, 1, 1, 6, 2) + 1),
        ((2, 7), (2, 3)),
        int8=False,
    ),
    Module("diagonal_scatter", fn(lambda x, v: x.diagonal_scatter(v, 1, 0, 2)), ((5, 4, 6), (4, 5)), int8=False),
    Module("as_strided", fn(lambda x: torch.as_strided(x, (5, 4, 3), (1, 3, 2), 2) * 2), ((50,),)),
    Module("unfold_overlapping", fn(lambda x: x.unfold(1, 4, 3) * 2), ((2, 20, 3),)),
    Module("im2col", fn(lambda x: F.unfold(x, (3, 2), dilation=2, padding=1, stride=2)), ((2, 3, 9, 8),), int8=False),
    Module("flip", fn(lambda x: x.flip(1, -1) + 1), (IMAGE,), vela=False),
    Module("max_pool_dilated", lambda: nn.MaxPool2d(3, 2, 1, dilation=(2, 3)), ((1, 4, 11, 12),), int8=False),
    Module(
        "avg_pool_divisor",
        lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True, divisor_override=5),
        ((2, 3, 12, 12),),
        int8=False,
    ),
    Module("adaptive_avg_pool_uneven", lambda: nn.AdaptiveAvgPool2d((3, 5)), ((1, 4, 10, 12),)),
    Module("adaptive_max_pool_uneven", lambda: nn.AdaptiveMaxPool2d((3, 5)), ((1, 4, 10, 12),), int8=False),
    Module("avg_pool_volume", lambda: nn.AvgPool3d((2, 3, 3), 2, 1), ((2, 3, 7, 8, 9),), int8=False),
    Module(
        "bilinear_corners",
        fn(lambda x: F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True)),
        ((1, 3, 5, 4),),
        vela=False,
    ),
    Module(
        "bilinear_factor",
        fn(lambda x: F.interpolate(x, scale_factor=1.5, mode="bilinear")),
        ((1, 3, 6, 4),),
        vela=False,
    ),
    Module("bicubic", fn(lambda x: F.interpolate(x, size=(7, 9), mode="bicubic")), ((1, 3, 5, 4),), int8=False),
    Module("nearest_to_other_sizes", fn(lambda x: F.interpolate(x, size=(7, 3))), ((1, 3, 5, 4),)),
    Module("residual", Residual, ((1, 8, 7, 7),), steps=1),
    Module("squeeze_excite", SqueezeExcite, (IMAGE,), steps=2),
    Module("classifier", Classifier, ((1, 1, 16, 16),)),
    Module("shortcut", Shortcut, ((1, 4, 8, 8),)),
    Module("patches", Patches, ((1, 3, 16, 16),), steps=3),
    Module("choices", fn(lambda x, y: torch.where(x < y, x * 2, y - 1)), (IMAGE, IMAGE), vela=False),
    Module("masked", fn(lambda x: x.masked_fill(x > 0.5, -1.5)), (IMAGE,), vela=False),
    Module(
        "logic",
        fn(lambda x, y: (((x > 0) & ~(y > 0.1)) | (x == y) ^ (x != 0)).to(torch.float32)),
        (IMAGE, IMAGE),
        int8=False,
    ),
    Module(
        "logic_of_numbers",
        fn(lambda x, y: torch.logical_xor(x.round(), y.round()).float() + torch.logical_not(x.round())),
        (IMAGE, IMAGE),
        int8=False,
    ),
    Module(
        "any_all",
        fn(lambda x: ((x > 1).any(1).float(), (x > -1).all(-1, keepdim=True).float(), (x.round() != 0).all().float())),
        (IMAGE,),
        int8=False,
    ),
    Module(
        "bits",
        fn(lambda x: (((x * 16).to(torch.int32) & 12) | 3) ^ ((x * 4).to(torch.int32) << 2 >> 1)),
        (IMAGE,),
        int8=False,
    ),
    Module(
        "whole_quotients",
        fn(
            lambda x, y: (
                torch.div(x * 4, y, rounding_mode="floor"),
                torch.div(x, 0.3, rounding_mode="trunc"),
                (x * 9).int() // 4,
            )
        ),
        (IMAGE, IMAGE),
        int8=False,
    ),
    Module(
        "remainders",
        fn(lambda x, y: (x % 0.7, torch.fmod(x, -1.3), torch.remainder((x * 99).int(), 7), torch.remainder(x * 8, y))),
        (IMAGE, IMAGE),
        tolerance=1e-3,
        int8=False,
    ),
    Module(
        "rounding",
        fn(lambda x: ((x * 4).round() + (x * 2).round() / 2, x.trunc(), x.sign(), x.round(decimals=1))),
        (IMAGE,),
        int8=False,
    ),
    Module("places", fn(lambda x: (x.argmax(1), x.argmin(-1, keepdim=True), x.argmax() + 1)), (IMAGE,), int8=False),
    Module(
        "places_among_integers",
        fn(lambda x: ((x * 3).int().argmax(1), (x * 3).int().argmin(-1, keepdim=True), (x > 0).int().argmax())),
        (IMAGE,),
        int8=False,
    ),
    Module("running_sum", fn(lambda x: x.cumsum(-1)), (IMAGE,)),
    Module("running_sum_of_integers", fn(lambda x: (x * 9).int().cumsum(1)), (IMAGE,), int8=False),
    Module("limits_that_are_tensors", fn(torch.clamp), (IMAGE, (1, 4, 1, 1), (11,)), int8=False),
    Module(
        "integers",
        fn(lambda x: ((x * 40).to(torch.int8) * 3 + (x * 9).to(torch.int16)).abs().clamp(2, 90).sum(1)),
        (IMAGE,),
        int8=False,
    ),
    Module("mixed_types", fn(lambda x: x * (x > 0) + (x * 9).int() / 4), (IMAGE,), int8=False),
    Module(
        "condition", fn(lambda x: torch.cond(x.sum() > 0, lambda z: z * 2, lambda z: z - 1, (x,))), (IMAGE,), int8=False
    ),
    Module(
        "two_inputs_conv", fn(lambda x, w: F.conv2d(x * w, torch.ones(2, 4, 1, 1))), (IMAGE, (1, 4, 1, 1)), int8=False
    ),
]
