"""Runs programs of the official ExecuTorch in Carina's runtime. The outputs equal those of the official runtime."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from tier_plugin import every
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def run_pte(tmp_path_factory):
    carina = Path(os.environ["CARINA_BIN"])
    program = carina.parent / "run_pte"
    assert program.exists(), f"{program} is missing: run `make build`"
    folder = tmp_path_factory.mktemp("run_pte")

    def run(pte, inputs, like):
        """The outputs' bytes, as arrays of the types and shapes of `like`."""
        model = folder / "model.pte"
        model.write_bytes(pte)
        paths = []
        for i, array in enumerate(inputs):
            paths.append(folder / f"in{i}.bin")
            paths[-1].write_bytes(np.ascontiguousarray(array).tobytes())
        done = subprocess.run([program, model, folder / "out", *paths], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        contents = [(folder / f"out{i}.bin").read_bytes() for i in range(len(like))]
        return [np.frombuffer(c, dtype=x.dtype).reshape(x.shape) for c, x in zip(contents, like)]

    return run


def seeded(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1234 + len(shape)))


def integers(*shape, low=-20, high=20, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(5), dtype=dtype)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def module(function, *inputs):
    return Function(function), inputs


def quantized(x, dtype=torch.int8, low=-128, high=127, scale=0.05, zero_point=3):
    return torch.ops.quantized_decomposed.quantize_per_tensor.default(x, scale, zero_point, low, high, dtype)


def dequantized(x, dtype=torch.int8, low=-128, high=127, scale=0.05, zero_point=3):
    return torch.ops.quantized_decomposed.dequantize_per_tensor.default(x, scale, zero_point, low, high, dtype)


def layer(module_, *inputs):
    torch.manual_seed(7)
    for parameter in module_.parameters():
        nn.init.normal_(parameter)
    for name, buffer in module_.named_buffers():
        if buffer.is_floating_point():
            nn.init.uniform_(buffer, 0.5, 1.5)
    return module_.eval(), inputs


x24 = seeded(2, 4)
x4 = seeded(2, 3, 8, 9)
positive = seeded(2, 4).abs() + 0.1
unit = torch.tanh(seeded(3, 5)) * 0.99
ints = integers(3, 4)

CASES = {
    "quantize": lambda: module(lambda x: quantized(x), seeded(4, 500) * 3),
    "quantize_uint8": lambda: module(lambda x: quantized(x, torch.uint8, 0, 255), seeded(4, 500) * 3),
    "quantize_int16": lambda: module(lambda x: quantized(x, torch.int16, -32768, 32767, 0.0003, 0), seeded(4, 500) * 3),
    "quantize_int32": lambda: module(
        lambda x: quantized(x, torch.int32, -(2**31), 2**31 - 1, 1e-4, 0), seeded(4, 500) * 3
    ),
    "quantize_halves": lambda: module(
        lambda x: quantized(x, scale=0.5, zero_point=0), torch.arange(-70, 70, dtype=torch.float32) * 0.25
    ),
    "dequantize": lambda: module(lambda x: dequantized(x), integers(4, 50, low=-128, high=127, dtype=torch.int8)),
    "dequantize_int16": lambda: module(
        lambda x: dequantized(x, torch.int16, -32768, 32767), integers(4, 50, low=-32768, high=32767, dtype=torch.int16)
    ),
    "add": lambda: module(lambda x, y: x + y, x24, seeded(4)),
    "add_alpha": lambda: module(lambda x, y: torch.add(x, y, alpha=2.5), x24, x24 + 1),
    "add_scalar": lambda: module(lambda x: x + 1.7, x24),
    "add_int": lambda: module(lambda x, y: torch.add(x, y, alpha=3), ints, ints * 7),
    "add_int_float": lambda: module(lambda x, y: x + y, ints, seeded(3, 4)),
    "add_int_wraps": lambda: module(
        lambda x, y: x + y, torch.full((4,), 2**31 - 1, dtype=torch.int32), torch.arange(4, dtype=torch.int32)
    ),
    "sub": lambda: module(lambda x, y: x - y, x4, seeded(3, 1, 1)),
    "sub_scalar": lambda: module(lambda x: x - 3, ints),
    "rsub": lambda: module(lambda x: 1.5 - x, x24),
    "mul": lambda: module(lambda x, y: x * y, x4, seeded(8, 9)),
    "mul_scalar": lambda: module(lambda x: x * 0.3, x24),
    "div": lambda: module(lambda x, y: x / y, x24, positive),
    "div_int": lambda: module(lambda x, y: x / y, ints, ints.abs() + 1),
    "div_floor": lambda: module(
        lambda x, y: torch.div(x, y, rounding_mode="floor"), seeded(40) * 9, seeded(40).abs() + 0.1
    ),
    "div_trunc_int": lambda: module(lambda x: torch.div(x, 3, rounding_mode="trunc"), ints),
    "floor_divide_int": lambda: module(lambda x: torch.div(x, -3, rounding_mode="floor"), ints),
    "remainder": lambda: module(lambda x: torch.remainder(x, 3), ints),
    "fmod": lambda: module(lambda x: torch.fmod(x, 0.7), x24),
    "maximum": lambda: module(torch.maximum, x24, seeded(4)),
    "minimum": lambda: module(torch.minimum, ints, ints.flip(0)),
    "pow": lambda: module(lambda x: x**2.5, positive),
    "pow_int": lambda: module(lambda x: x**3, ints),
    "pow_tensors": lambda: module(torch.pow, positive, x24),
    "pow_scalar_base": lambda: module(lambda x: torch.pow(2.5, x), x24),
    "atan2": lambda: module(torch.atan2, x24, positive),
    "compare": lambda: module(lambda x, y: (x < y, x <= y, x > y, x >= y, x == y, x != y), ints, ints.flip(1)),
    "compare_scalar": lambda: module(lambda x: (x < 0.1, x >= 0.1, x == 0.1), torch.tensor([0.1, 0.2, -1.0])),
    "logical": lambda: module(
        lambda x, y: (torch.logical_and(x, y), torch.logical_or(x, y), torch.logical_xor(x, y), ~x), x24 > 0, x24 > 0.5
    ),
    "bitwise": lambda: module(lambda x, y: (x & y, x | y, x ^ y, ~x, x & 6), ints, ints.flip(0)),
    "relu": lambda: module(F.relu, x4),
    "relu_int": lambda: module(F.relu, ints),
    "relu6": lambda: module(F.relu6, x4 * 5),
    "hardtanh": lambda: module(lambda x: F.hardtanh(x, -0.3, 0.7), x4),
    "clamp": lambda: module(lambda x: torch.clamp(x, min=-0.2), x4),
    "clamp_int": lambda: module(lambda x: torch.clamp(x, -3, 5), ints),
    "clamp_tensor": lambda: module(lambda x, a: torch.clamp(x, a, None), x24, seeded(4)),
    "leaky_relu": lambda: module(lambda x: F.leaky_relu(x, 0.2), x24),
    "elu": lambda: module(lambda x: F.elu(x, 1.3), x24),
    "gelu": lambda: module(F.gelu, x24),
    "gelu_tanh": lambda: module(lambda x: F.gelu(x, approximate="tanh"), x24),
    "hardswish": lambda: module(F.hardswish, x24 * 3),
    "silu": lambda: module(F.silu, x24),
    "sigmoid": lambda: module(torch.sigmoid, x24),
    "tanh": lambda: module(torch.tanh, x24),
    "exp_log": lambda: module(
        lambda x: (torch.exp(x), torch.log(x), torch.log2(x), torch.log10(x), torch.log1p(x), torch.expm1(x)), positive
    ),
    "roots": lambda: module(lambda x: (torch.sqrt(x), torch.rsqrt(x), torch.reciprocal(x)), positive),
    "trigonometry": lambda: module(
        lambda x: (
            torch.sin(x),
            torch.cos(x),
            torch.tan(x),
            torch.asin(x),
            torch.acos(x),
            torch.atan(x),
            torch.sinh(x),
            torch.cosh(x),
            torch.asinh(x),
            torch.atanh(x),
        ),
        unit,
    ),
    "rounding": lambda: module(
        lambda x: (
            torch.round(x),
            torch.floor(x),
            torch.ceil(x),
            torch.trunc(x),
            torch.sign(x),
            torch.abs(x),
            torch.neg(x),
        ),
        torch.cat([seeded(20) * 4, torch.arange(-4, 4) * 0.5]),
    ),
    "abs_int": lambda: module(lambda x: (torch.abs(x), torch.neg(x), torch.sign(x)), ints),
    "erf": lambda: module(torch.erf, x24),
    "isnan": lambda: module(
        lambda x: (torch.isnan(x), torch.isinf(x)), torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    ),
    "softmax": lambda: module(lambda x: torch.softmax(x, -1), x4),
    "softmax_1": lambda: module(lambda x: torch.softmax(x, 1), x4),
    "log_softmax": lambda: module(lambda x: torch.log_softmax(x, 1), x4),
    "mean": lambda: module(lambda x: torch.mean(x, [2, 3]), x4),
    "mean_keep": lambda: module(lambda x: torch.mean(x, [-1, -2], keepdim=True), x4),
    "mean_all": lambda: module(torch.mean, x4),
    "sum": lambda: module(lambda x: torch.sum(x, 1), x4),
    "sum_int": lambda: module(lambda x: torch.sum(x, 0), ints),
    "sum_all": lambda: module(torch.sum, ints),
    "prod": lambda: module(lambda x: torch.prod(x, 1), x24),
    "amax": lambda: module(lambda x: torch.amax(x, [1, 3]), x4),
    "amin": lambda: module(lambda x: torch.amin(x, -1, keepdim=True), x4),
    "argmax": lambda: module(lambda x: (torch.argmax(x, 1), torch.argmin(x, -1, keepdim=True), torch.argmax(x)), x4),
    "max_dim": lambda: module(lambda x: (*torch.max(x, 1), *torch.min(x, 2, keepdim=True)), x4),
    "max_all": lambda: module(lambda x: (torch.max(x), torch.min(x)), x4),
    "any": lambda: module(lambda x: (torch.any(x), torch.any(x, 1), torch.all(x, 0)), x24 > 0),
    "var": lambda: module(lambda x: (torch.var(x, 1), torch.std(x, [2, 3], correction=0)), x4),
    "cumsum": lambda: module(lambda x: torch.cumsum(x, 1), x4),
    "mm": lambda: module(torch.mm, seeded(5, 7), seeded(7, 3)),
    "bmm": lambda: module(torch.bmm, seeded(2, 5, 7), seeded(2, 7, 3)),
    "matmul": lambda: module(torch.matmul, seeded(2, 3, 5, 7), seeded(7, 4)),
    "addmm": lambda: module(
        lambda b, x, y: torch.addmm(b, x, y, beta=0.5, alpha=2), seeded(3), seeded(5, 7), seeded(7, 3)
    ),
    "linear": lambda: layer(nn.Linear(7, 5), seeded(4, 7)),
    "linear_3d": lambda: layer(nn.Linear(7, 5, bias=False), seeded(2, 4, 7)),
    "conv2d": lambda: layer(nn.Conv2d(3, 8, 3, stride=2, padding=1), x4),
    "conv2d_dilated": lambda: layer(nn.Conv2d(3, 4, (3, 2), padding=(2, 0), dilation=(2, 3)), x4),
    "conv2d_depthwise": lambda: layer(nn.Conv2d(3, 6, 3, groups=3), x4),
    "conv2d_groups": lambda: layer(nn.Conv2d(4, 6, 3, groups=2, bias=False), seeded(1, 4, 6, 6)),
    "conv1d": lambda: layer(nn.Conv1d(3, 5, 3, stride=2, padding=1), seeded(2, 3, 11)),
    "conv2d_same": lambda: layer(nn.Conv2d(3, 4, 3, padding="same"), x4),
    "conv_transpose": lambda: layer(
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), seeded(2, 3, 5, 4)
    ),
    "conv_transpose_groups": lambda: layer(
        nn.ConvTranspose2d(4, 6, (2, 3), stride=(1, 2), groups=2, dilation=(2, 1)), seeded(1, 4, 5, 4)
    ),
    "conv_channels_last": lambda: layer(
        nn.Sequential(
            nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        ),
        seeded(1, 3, 8, 8).to(memory_format=torch.channels_last),
    ),
    "max_pool": lambda: module(lambda x: F.max_pool2d(x, 2), x4),
    "max_pool_ceil": lambda: module(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True), x4),
    "max_pool_dilated": lambda: module(lambda x: F.max_pool2d(x, 2, 1, 1, dilation=2), x4),
    "avg_pool": lambda: module(lambda x: F.avg_pool2d(x, 2), x4),
    "avg_pool_pad": lambda: module(lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), x4),
    "avg_pool_inside": lambda: module(
        lambda x: F.avg_pool2d(x, (3, 2), (2, 1), 1, ceil_mode=True, count_include_pad=False), x4
    ),
    "avg_pool_divisor": lambda: module(lambda x: F.avg_pool2d(x, 2, divisor_override=3), x4),
    "adaptive_avg_pool": lambda: module(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x4),
    "adaptive_avg_pool_1": lambda: module(lambda x: F.adaptive_avg_pool2d(x, 1), x4),
    "view": lambda: module(lambda x: x.view(6, -1) + 0, x4),
    "flatten": lambda: module(lambda x: torch.flatten(x, 1) * 2, x4),
    "permute": lambda: module(lambda x: x.permute(0, 2, 3, 1) + 1, x4),
    "transpose": lambda: module(lambda x: x.transpose(1, -1) + 1, x4),
    "t": lambda: module(lambda x: x.t() + 1, x24),
    "squeeze": lambda: module(lambda x: x.unsqueeze(1).squeeze(1).unsqueeze(-1) + 1, x24),
    "expand": lambda: module(lambda x: x.expand(3, 2, 4) * 1.0, x24),
    "repeat": lambda: module(lambda x: x.repeat(2, 1, 3), x24),
    "slice": lambda: module(lambda x: x[:, 1:, ::2, -4:-1] + 0, x4),
    "select": lambda: module(lambda x: x[:, -1] + 0, x4),
    "cat": lambda: module(lambda x, y: torch.cat([x, y, x], 1), x24, seeded(2, 3)),
    "stack": lambda: module(lambda x, y: torch.stack([x, y], 1), x24, x24 * 2),
    "split": lambda: module(lambda x: torch.split(x, [1, 2], 1), x4),
    "chunk": lambda: module(lambda x: [y + 1 for y in torch.chunk(x, 3, 1)], x4),
    "unbind": lambda: module(lambda x: torch.unbind(x, 1), x24),
    "pad": lambda: module(lambda x: F.pad(x, (1, 2, 0, 3), value=0.7), x4),
    "pad_crop": lambda: module(lambda x: F.pad(x, (-1, 2, 1, -2)), x4),
    "pad_reflect": lambda: module(lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"), x4),
    "pad_reflect_1d": lambda: module(lambda x: F.pad(x, (2, 1), mode="reflect"), seeded(2, 3, 5)),
    "pad_replicate": lambda: module(lambda x: F.pad(x, (2, 0, 5, 1), mode="replicate"), x4),
    "pad_replicate_3d": lambda: module(lambda x: F.pad(x, (1, 1, 0, 2, 2, 0), mode="replicate"), seeded(1, 2, 3, 4, 5)),
    "upsample_nearest": lambda: module(lambda x: F.interpolate(x, scale_factor=2), x4),
    "upsample_nearest_size": lambda: module(lambda x: F.interpolate(x, size=(5, 13)), x4),
    "upsample_nearest_odd_factor": lambda: module(lambda x: F.interpolate(x, scale_factor=1.3), x4),
    "upsample_bilinear": lambda: module(lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), x4),
    "upsample_bilinear_down": lambda: module(lambda x: F.interpolate(x, size=(3, 5), mode="bilinear"), x4),
    "upsample_bilinear_corners": lambda: module(
        lambda x: F.interpolate(x, size=(11, 4), mode="bilinear", align_corners=True), x4
    ),
    "roll": lambda: module(lambda x: (torch.roll(x, (1, -3), (1, 3)), torch.roll(x, 5)), x4),
    "tril": lambda: module(lambda x: (torch.tril(x), torch.tril(x, -2), torch.tril(x, 1)), x4),
    "topk": lambda: module(lambda x: (*torch.topk(x, 3, 2), *torch.topk(x, 2, -1, largest=False)), x4),
    "topk_int": lambda: module(lambda x: torch.topk(x, 4, 0)[0], integers(9, 2)),
    "unfold": lambda: module(lambda x: x.unfold(2, 3, 2) + 0, x4),
    "scatter_slices": lambda: module(
        lambda x, y, z: (torch.slice_scatter(x, y, 1, 0, 2), torch.select_scatter(x, z, 0, -1)),
        x4,
        seeded(2, 2, 8, 9),
        seeded(3, 8, 9),
    ),
    "flip": lambda: module(lambda x: torch.flip(x, [1, 3]), x4),
    "pixel_shuffle": lambda: module(lambda x: F.pixel_shuffle(x, 2), seeded(2, 8, 3, 4)),
    "clone": lambda: module(lambda x: x.clone(), x24),
    "to_channels_last": lambda: module(lambda x: x.to(memory_format=torch.channels_last) + 1, x4),
    "casts": lambda: module(
        lambda x: (x.to(torch.int32), x.to(torch.float64), x.to(torch.bool), x.to(torch.half).to(torch.float32)),
        x24 * 10,
    ),
    "layer_norm": lambda: layer(nn.LayerNorm([8, 9]), x4),
    "layer_norm_plain": lambda: layer(nn.LayerNorm(4, elementwise_affine=False), x24),
    "group_norm": lambda: layer(nn.GroupNorm(2, 6), seeded(2, 6, 3, 4)),
    "batch_norm": lambda: layer(nn.BatchNorm2d(3), x4),
    "embedding": lambda: layer(nn.Embedding(10, 4), integers(2, 3, low=0, high=10, dtype=torch.int64)),
    "where": lambda: module(lambda x, y: torch.where(x > 0, x, y), x24, seeded(4)),
    "masked_fill": lambda: module(lambda x: x.masked_fill(x > 0, -1.5), x24),
    "index_select": lambda: module(lambda x, i: torch.index_select(x, 1, i), x4, torch.tensor([2, 0, 2, 1])),
    "index_tensors": lambda: module(
        lambda x, i, j: (x[:, i], x[i, :, j], x[:, i.unsqueeze(1), j], x[i, i]),
        seeded(3, 4, 5),
        torch.tensor([2, 0, 1]),
        torch.tensor([[1, 0, 3]]).squeeze(0),
    ),
    "gather": lambda: module(lambda x, i: torch.gather(x, 1, i), x24, torch.tensor([[0, 3], [2, 2]])),
    "full": lambda: module(
        lambda x: (torch.full_like(x, 2.5) + x, torch.arange(4) + x, torch.ones(4) * x, torch.zeros(2, 4) + x), x24
    ),
    "attention": lambda: layer(nn.MultiheadAttention(8, 2, batch_first=True), *(seeded(1, 4, 8),) * 3),
    "half": lambda: module(lambda x: torch.softmax(x * 2, 1) + 1, x24.to(torch.half)),
    "bfloat16": lambda: module(lambda x: F.relu(x * 2) + 1, x24.to(torch.bfloat16)),
    "small_network": lambda: layer(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
            nn.Softmax(-1),
        ),
        seeded(1, 3, 8, 8),
    ),
    "int_pipeline": lambda: module(lambda x: dequantized(F.relu(quantized(x)), zero_point=0), x4),
}


# Programs that the official runtime rejects, or for which it differs from PyTorch. Eager PyTorch is the reference.
EAGER = {
    "remainder",  # of negative integers
    "pad_crop",  # negative padding
    "to_channels_last",  # operands with different dim orders
    "conv_channels_last",  # batch norm of channels-last tensors
}


def official_program(model, inputs):
    from executorch.exir import EdgeCompileConfig, to_edge

    exported = torch.export.export(model, tuple(inputs), strict=False)
    # ExecuTorch has a kernel for it, but core ATen does not contain it.
    config = EdgeCompileConfig(
        _core_aten_ops_exception_list=[torch.ops.aten.unfold.default, torch.ops.aten.unfold_copy.default]
    )
    return to_edge(exported, compile_config=config).to_executorch().buffer


def official_outputs(pte, inputs):
    from executorch.runtime import Runtime, Verification

    program = Runtime.get().load_program(pte, verification=Verification.InternalConsistency)
    return [y.clone() for y in program.load_method("forward").execute(list(inputs))]


@pytest.mark.parametrize("name", every(3, CASES))
def test_official_programs_run_in_our_runtime(name, run_pte):
    import executorch.kernels.quantized  # noqa: F401

    model, inputs = CASES[name]()
    pte = official_program(model, inputs)
    if name in EAGER:
        wanted = model(*inputs)
        wanted = [y.detach() for y in ([wanted] if isinstance(wanted, torch.Tensor) else wanted)]
    else:
        wanted = official_outputs(pte, inputs)

    def bits(tensor):
        # The bytes in memory order; numpy has no bfloat16.
        if tensor.dim() == 4 and not tensor.is_contiguous():
            tensor = tensor.permute(0, 2, 3, 1)
        tensor = tensor.contiguous()
        return tensor.view(torch.int16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()

    got = run_pte(pte, [bits(x) for x in inputs], [bits(y) for y in wanted])
    for ours, theirs, tensor in zip(got, [bits(y) for y in wanted], wanted):
        if tensor.dtype in (torch.float32, torch.float64):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        elif tensor.dtype == torch.half:
            np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-3)
        elif tensor.dtype == torch.bfloat16:
            assert np.abs(ours.astype(np.int32) - theirs).max() <= 1
        else:
            np.testing.assert_array_equal(ours, theirs)
