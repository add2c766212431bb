"""Tests the host's kernels instead of the runtime's portable ones. `carina run` runs programs of the official ExecuTorch; eager PyTorch is
the reference."""

import numpy as np
import pytest
import torch
from tier_plugin import sampled
from torch import nn
from torch.nn import functional as F


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def seeded(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def with_norm(convolution, act=None):
    torch.manual_seed(3)
    norm = nn.BatchNorm2d(convolution.out_channels)
    (
        nn.init.uniform_(norm.running_mean),
        nn.init.uniform_(norm.running_var, 0.5, 2),
        nn.init.uniform_(norm.weight, -1, 1),
        nn.init.uniform_(norm.bias),
    )
    return nn.Sequential(convolution, norm, *([act] if act else [])).eval()


class Residual(nn.Module):
    """The convolution's input is used again after it, and the sum is used twice."""

    def __init__(self):
        super().__init__()
        self.layer = with_norm(nn.Conv2d(8, 8, 1), nn.ReLU6())

    def forward(self, x):
        y = self.layer(x) + x
        return F.relu(y), y


def expanded(channels, wide, depthwise, act=None):
    """A pointwise convolution and the depthwise convolution that reads it. The host's kernels fuse them."""
    return nn.Sequential(with_norm(nn.Conv2d(channels, wide, 1), act), with_norm(depthwise, act))


class ExpandedTwice(nn.Module):
    """The value between the two convolutions has a second reader, so they are not fused."""

    def __init__(self):
        super().__init__()
        self.first = with_norm(nn.Conv2d(4, 9, 1))
        self.second = nn.Conv2d(9, 9, 3, padding=1, groups=9)

    def forward(self, x):
        y = self.first(x)
        return self.second(y) + y


class Squeezed(nn.Module):
    """Images stay channels-last through a mean, a product with one factor per channel, a concatenation and functions."""

    def __init__(self):
        super().__init__()
        self.first = with_norm(nn.Conv2d(3, 24, 3, padding=1), nn.Hardswish())
        self.down, self.up = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.wide = nn.Conv2d(24, 24, 5, padding=2, groups=24)
        self.last = nn.Conv2d(48, 5, 1)

    def forward(self, x):
        y = self.first(x)
        factors = torch.sigmoid(self.up(F.relu(self.down(y.mean([2, 3], keepdim=True)))))
        z = torch.cat([F.gelu(self.wide(y * factors)), y + 1], 1)
        return self.last(z), F.max_pool2d(y, 2), z.mean([2, 3])


def not_finite(*shape):
    x = seeded(*shape)
    x = torch.where(x > 1.5, torch.tensor(float("inf")), torch.where(x < -1.5, torch.tensor(-float("inf")), x))
    return torch.where((x > 0) & (x < 0.1), torch.tensor(float("nan")), x)


CASES = {
    "pair": lambda: (expanded(5, 200, nn.Conv2d(200, 200, 3, padding=1, groups=200), nn.ReLU6()), [seeded(2, 5, 21, 37)]),
    "pair_stride": lambda: (expanded(7, 13, nn.Conv2d(13, 13, 3, stride=2, padding=1, groups=13)), [seeded(1, 7, 113, 131)]),
    "pair_multiplier_stays": lambda: (nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 8, 3, groups=4)), [seeded(1, 3, 9, 9)]),
    "pair_read_twice": lambda: (ExpandedTwice(), [seeded(1, 4, 12, 12)]),
    "pointwise": lambda: (with_norm(nn.Conv2d(5, 19, 1), nn.ReLU6()), [seeded(2, 5, 9, 7)]),
    "pointwise_plain": lambda: (nn.Conv2d(16, 3, 1, bias=False), [seeded(1, 16, 1, 1)]),
    "wide_and_deep": lambda: (nn.Conv2d(130, 70, 1), [seeded(1, 130, 13, 17)]),
    "dense": lambda: (with_norm(nn.Conv2d(3, 13, 3, stride=2, padding=1), nn.ReLU()), [seeded(1, 3, 33, 20)]),
    "dense_dilated": lambda: (nn.Conv2d(4, 6, (3, 2), stride=(1, 3), padding=(4, 0), dilation=(2, 3)), [seeded(2, 4, 11, 23)]),
    "groups": lambda: (nn.Conv2d(6, 9, 3, groups=3), [seeded(1, 6, 8, 8)]),
    "depthwise": lambda: (with_norm(nn.Conv2d(7, 7, 3, padding=1, groups=7), nn.Hardtanh(-0.5, 0.7)), [seeded(1, 7, 20, 37)]),
    "depthwise_stride": lambda: (nn.Conv2d(5, 5, 3, stride=2, padding=1, groups=5), [seeded(1, 5, 15, 67)]),
    "depthwise_stride_3": lambda: (nn.Conv2d(4, 8, (5, 3), stride=(2, 3), padding=(2, 2), groups=4), [seeded(2, 4, 15, 40)]),
    "depthwise_dilated": lambda: (nn.Conv2d(4, 4, 3, padding=3, dilation=3, groups=4), [seeded(1, 4, 9, 9)]),
    "conv1d": lambda: (nn.Conv1d(4, 6, 5, stride=2, padding=2), [seeded(2, 4, 31)]),
    "transposed": lambda: (nn.Sequential(nn.ConvTranspose2d(3, 4, 3, stride=2), nn.ReLU()), [seeded(1, 3, 5, 5)]),
    "transposed_wide": lambda: (nn.ConvTranspose2d(20, 37, 4, stride=2, padding=1, bias=False), [seeded(2, 20, 65, 70)]),
    "transposed_groups": lambda: (nn.ConvTranspose2d(6, 27, (3, 2), stride=(3, 1), padding=(2, 1), output_padding=(1, 0), groups=3), [seeded(1, 6, 11, 9)]),
    "transposed_dilated": lambda: (nn.ConvTranspose2d(4, 4, 3, stride=1, padding=4, dilation=2, groups=4), [seeded(1, 4, 9, 9)]),
    "transposed_1d": lambda: (nn.ConvTranspose1d(5, 6, 8, stride=4, padding=2), [seeded(2, 5, 31)]),
    "transposed_nan": lambda: (nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1), [torch.where(seeded(1, 2, 6, 6) > 1, torch.tensor(float("nan")), torch.where(seeded(1, 2, 6, 6) < -1, torch.tensor(float("inf")), seeded(1, 2, 6, 6)))]),
    "channels_last": lambda: (nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), [seeded(1, 3, 8, 8).to(memory_format=torch.channels_last)]),
    "channels_last_groups": lambda: (nn.Conv2d(12, 24, 3, groups=2).to(memory_format=torch.channels_last), [seeded(2, 12, 8, 8).to(memory_format=torch.channels_last)]),
    "groups_of_few": lambda: (nn.Sequential(nn.Conv2d(8, 12, 3, padding=1, groups=2), nn.ReLU(), nn.Conv2d(12, 9, 3, stride=2, groups=3)), [seeded(2, 8, 9, 11)]),
    "groups_of_many": lambda: (nn.Sequential(nn.Conv2d(20, 40, 3, padding=1, groups=2), nn.ReLU6(), nn.Conv2d(40, 20, 1, groups=4)), [seeded(2, 20, 9, 11)]),
    "conv3d": lambda: (nn.Sequential(nn.Conv3d(3, 19, 3, padding=1), nn.ReLU(), nn.Conv3d(19, 5, (1, 2, 3), stride=(2, 1, 2), dilation=(1, 2, 1))), [seeded(2, 3, 6, 9, 10)]),
    "conv3d_depthwise": lambda: (nn.Conv3d(6, 12, 3, padding=(0, 1, 2), groups=6), [seeded(1, 6, 5, 6, 7)]),
    "not_finite": lambda: (nn.Sequential(nn.Conv2d(4, 21, 1), nn.Conv2d(21, 21, 3, padding=1, groups=21), nn.ReLU6(), nn.Conv2d(21, 6, 3, padding=1)), [not_finite(1, 4, 12, 12)]),
    "squeezed": lambda: (Squeezed(), [seeded(2, 3, 14, 18)]),
    "gather": lambda: (Function(lambda x, i, j: (torch.gather(x, 1, i), torch.gather(x, 0, j), torch.gather(x, -1, j), torch.gather(i, 1, i % 3))), [seeded(5, 7, 9), torch.arange(5 * 3 * 9).reshape(5, 3, 9) % 7, torch.arange(4 * 7 * 9).reshape(4, 7, 9) % 5]),
    "residual": lambda: (Residual(), [seeded(1, 8, 6, 6)]),
    "linear": lambda: (nn.Linear(37, 131), [seeded(1, 37)]),
    "linear_3d": lambda: (nn.Linear(24, 65, bias=False), [seeded(2, 5, 24)]),
    "matmul": lambda: (Function(lambda a, b: (torch.mm(a, b), torch.bmm(a.unsqueeze(0), b.unsqueeze(0)))), [seeded(9, 40), seeded(40, 70)]),
    "arithmetic": lambda: (Function(lambda a, b: (a + b, a - b, a * b, a / b, a + 1.5, a * 0.3, torch.add(a, b, alpha=2), a + b[0])), [seeded(3, 50), seeded(3, 50)]),
    "repeated": lambda: (Function(lambda a, row, all, plane: (a - row, a * all, all / a, row + a, a + plane, plane - a, row * all, a / row)), [seeded(2, 3, 5, 40), seeded(3, 5, 1), seeded(40), seeded(2, 1, 5, 40)]),
    "limits": lambda: (Function(lambda x: (F.relu(x), F.hardtanh(x, -0.2, 0.4), x.clamp(min=0.1), x.clamp(max=0.1))), [torch.cat([seeded(100), torch.tensor([float("nan"), float("inf"), -float("inf")])])]),
    "mean": lambda: (Function(lambda x: (x.mean([2, 3]), x.mean([-1], keepdim=True), x.mean([0, 1]))), [seeded(2, 5, 7, 9)]),
    "softmax": lambda: (Function(lambda x: (torch.softmax(x, -1), torch.log_softmax(x, 2), torch.softmax(x, 1))), [seeded(2, 3, 101) * 20]),
    "softmax_columns": lambda: (Function(lambda x: (torch.softmax(x, 1), torch.log_softmax(x, 1), torch.softmax(x, -2), torch.softmax(x, 0))), [seeded(2, 21, 9, 17) * 20]),
    "softmax_not_finite": lambda: (Function(lambda x: (torch.softmax(x, 0), torch.log_softmax(x, 0))), [torch.tensor([[float("nan"), float("inf"), -float("inf"), -float("inf"), 1.0, 200.0], [0.0, 1.0, 2.0, -float("inf"), -300.0, -200.0]])]),
    "layer_norm": lambda: (Function(lambda x, w, b: (F.layer_norm(x, (41,), w, b), F.layer_norm(x, (7, 41)), F.layer_norm(x, (41,), w), F.layer_norm(x, (41,), None, b, 0.1))), [seeded(3, 7, 41) * 3 + 5, seeded(41), seeded(41)]),
    "group_norm": lambda: (Function(lambda x, w, b: (F.group_norm(x, 4, w, b), F.group_norm(x, 1), F.group_norm(x, 12, w), F.group_norm(x, 3, None, b, 0.1))), [seeded(2, 12, 5, 7) * 3 + 5, seeded(12), seeded(12)]),
    "norms_not_finite": lambda: (Function(lambda x: (F.layer_norm(x, (12,)), F.group_norm(x, 2))), [not_finite(2, 4, 12)]),
    "batch_norm": lambda: (Function(lambda x, mean, variance, w, b: (F.batch_norm(x, mean, variance, w, b), F.batch_norm(x[0, :, :, 0].T, mean, variance), F.instance_norm(x, None, None, w, b), F.instance_norm(x[:, :, 0]))), [seeded(3, 7, 9, 11) * 3 + 5, seeded(7), seeded(7).abs() + 0.1, seeded(7) + 1, seeded(7)]),
    "norms_between_convolutions": lambda: (nn.Sequential(nn.Conv2d(3, 21, 3, padding=1), nn.ReLU(), with_norm(nn.Conv2d(21, 21, 1), nn.ReLU6()), nn.Upsample(scale_factor=2), nn.Conv2d(21, 21, 1), nn.Upsample(scale_factor=1.5, mode="bilinear"), nn.Conv2d(21, 5, 1)), [seeded(2, 3, 9, 11)]),
    "functions": lambda: (Function(lambda x: (torch.sigmoid(x), torch.tanh(x), torch.exp(x), F.gelu(x), F.gelu(x, approximate="tanh"), x ** 2, x ** 2.0, x ** 3)), [torch.cat([seeded(1000) * 5, seeded(70) * 80, torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0])])]),
    "comparisons": lambda: (Function(lambda a, b, row, one: (a > b, a >= b, a < b[0], a <= row, a == b, a != row, a > 0.25, a == 0, a < one, row >= a)), [seeded(3, 5, 40).round(decimals=1), seeded(3, 5, 40).flip(0).round(decimals=1), seeded(40), seeded(1)]),
    "where": lambda: (Function(lambda a, b, row, one: (torch.where(a > 0, a, b), torch.where(a > 0, row, b), torch.where(row > 0, a, row), torch.where(one > 0, a, row), torch.where(a > 0, one, a), torch.where(a[:, :1] > 0, row, a), a.masked_fill(b > 0, -1.5), a.masked_fill(row > 0, float("-inf")), torch.where(row.unsqueeze(1) > 0, row, a[0, 0]))), [not_finite(3, 5, 40), seeded(3, 5, 40).flip(0), seeded(40), seeded(1)]),
    "padding": lambda: (Function(lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 3, 2, 1), value=-1.5), F.pad(x, (1, 0, 0, 0, 1, 2)), F.pad(x, (-1, 2)), F.pad(x, (0, 0)))), [seeded(2, 3, 7, 9)]),
    "resized": lambda: (Function(lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, (5, 17)), F.interpolate(x, scale_factor=2, mode="bilinear"), F.interpolate(x, (5, 23), mode="bilinear", align_corners=True), F.interpolate(x, (1, 40), mode="bilinear"), F.interpolate(x, scale_factor=(1.3, 0.7), mode="bilinear"), F.interpolate(x, scale_factor=(2.6, 0.4)))), [seeded(2, 3, 7, 9)]),
    "resized_channels_last": lambda: (nn.Sequential(nn.Upsample(scale_factor=2), nn.Upsample(scale_factor=1.5, mode="bilinear")), [seeded(1, 5, 6, 7).to(memory_format=torch.channels_last)]),
    "networks_end": lambda: (nn.Sequential(with_norm(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU6()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10), nn.Softmax(-1)), [seeded(1, 3, 32, 32)]),
}  # fmt: skip


# Each case runs on one thread or on two, alternating. In `make test-all` it runs on both.
CALLS = sampled(
    [(name, 1 + i % 2) for i, name in enumerate(CASES)], [(name, threads) for name in CASES for threads in (1, 2)]
)


@pytest.mark.parametrize(("name", "threads"), CALLS)
def test_host_kernels_are_as_eager_pytorch(name, threads, run_carina, tmp_path):
    from executorch.exir import to_edge

    torch.manual_seed(5)
    model, inputs = CASES[name]()
    model.eval()
    pte = tmp_path / "model.pte"
    pte.write_bytes(to_edge(torch.export.export(model, tuple(inputs), strict=False)).to_executorch().buffer)
    flags = []
    for i, value in enumerate(inputs):
        np.save(tmp_path / f"in{i}.npy", value.numpy())
        flags += ["-i", tmp_path / f"in{i}.npy"]
    run_carina(["run", pte, *flags, "--threads", threads, "-o", tmp_path / "out"])
    with torch.no_grad():
        wanted = model(*inputs)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    for i, want in enumerate(wanted):
        got = np.load(tmp_path / "out" / f"output_{i}.npy")
        np.testing.assert_allclose(got, want.numpy(), rtol=2e-5, atol=2e-5)
