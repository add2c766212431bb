"""Tests the integer kernels of ExecuTorch's Cortex-M backend in Carina's runtime. The official exporter makes programs that call
`cortex_m::` operators. Their values must equal those of the backend's Python implementations."""

import executorch.backends.cortex_m.passes.replace_quant_nodes_pass  # noqa: F401  defines torch.ops.cortex_m
import os

import kernel_cortex_m_samples
import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig, to_edge
from kernel_calls import KernelCall, OrderedTensor, Out, run_calls
from kernel_samples import Random
from tier_plugin import every
from torch import nn

OPS = torch.ops.cortex_m
LAST = torch.channels_last


def int8(*shape, generator):
    return torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)


class Call(nn.Module):
    """One call. Tensor arguments are inputs if `inputs` says so, otherwise constants of the program."""

    def __init__(self, op, arguments, inputs):
        super().__init__()
        self.op, self.places = op, inputs
        self.arguments = []
        for i, argument in enumerate(arguments):
            if isinstance(argument, torch.Tensor) and i not in inputs:
                self.register_buffer(f"constant_{i}", argument)
            self.arguments.append(argument)

    def forward(self, *given):
        arguments = list(self.arguments)
        for i in range(len(arguments)):
            if hasattr(self, f"constant_{i}"):
                arguments[i] = getattr(self, f"constant_{i}")
        for i, place in enumerate(self.places):
            arguments[place] = given[i]
        return self.op(*arguments)


def scales(channels, generator):
    multipliers = torch.randint(1 << 30, (1 << 31) - 1, (channels,), dtype=torch.int64, generator=generator).to(
        torch.int32
    )
    return multipliers, torch.randint(-11, -6, (channels,), dtype=torch.int64, generator=generator).to(torch.int32)


def sums(n, generator):
    return torch.randint(-3000, 3000, (n,), dtype=torch.int64, generator=generator).to(torch.int32)


def image(g, layout, n, c, h, w):
    return int8(n, h, w, c, generator=g) if layout == "nhwc" else int8(n, c, h, w, generator=g).to(memory_format=LAST)


SCRATCH = torch.zeros(1, dtype=torch.int8)


def convolution(layout, groups=1, stride=(1, 1), padding=(1, 1), dilation=(1, 1), bias=True):
    def make(g):
        x = image(g, layout, 2, 4, 9, 8)
        weight = int8(6, 3, 3, 4 // groups, generator=g)
        op = OPS.quantized_conv2d_nhwc if layout == "nhwc" else OPS.quantized_conv2d
        return (
            op,
            [
                x,
                weight,
                sums(6, g) if bias else None,
                list(stride),
                list(padding),
                list(dilation),
                7,
                -3,
                *scales(6, g),
                -120,
                110,
                SCRATCH,
            ],
            [0],
        )

    return make


def depthwise(layout, multiplier=1, stride=(1, 1)):
    def make(g):
        x = image(g, layout, 1, 5, 8, 7)
        weight = int8(1, 3, 2, 5 * multiplier, generator=g)
        op = OPS.quantized_depthwise_conv2d_nhwc if layout == "nhwc" else OPS.quantized_depthwise_conv2d
        return (
            op,
            [
                x,
                weight,
                sums(5 * multiplier, g),
                list(stride),
                [1, 0],
                [1, 1],
                multiplier,
                -4,
                5,
                *scales(5 * multiplier, g),
                -128,
                127,
                SCRATCH,
            ],
            [0],
        )

    return make


def wide_convolution(inputs, outputs, kernel, stride=1, padding=0):
    """More channels than a vector and than a group of panels, and numbers that fill neither."""

    def make(g):
        x, weight = image(g, "nchw", 2, inputs, 13, 11), int8(outputs, kernel, kernel, inputs, generator=g)
        limits = [7, -3, *scales(outputs, g), -120, 110, SCRATCH]
        return OPS.quantized_conv2d, [x, weight, sums(outputs, g), [stride] * 2, [padding] * 2, [1, 1], *limits], [0]

    return make


def wide_depthwise(g):
    x, weight = image(g, "nchw", 2, 37, 13, 11), int8(1, 5, 3, 37, generator=g)
    return (
        OPS.quantized_depthwise_conv2d,
        [x, weight, sums(37, g), [2, 1], [2, 1], [1, 1], 1, 128, 5, *scales(37, g), -128, 127, SCRATCH],
        [0],
    )


def wide_linear(g):
    x, weight = int8(101, 71, generator=g), int8(83, 71, generator=g)
    return OPS.quantized_linear, [x, weight, sums(83, g), None, -127, 0, -7, [1500000000], [-10], 100, -128], [0]


def wide_add(g):
    x, y = (image(g, "nchw", 2, 33, 13, 11) for _ in range(2))
    return OPS.quantized_add, [x, 128, 1518500250, -1, y, -127, 1200000000, 0, 4, 1700000000, -19, -100, 120], [0, 4]


def transposed(layout, stride=(2, 2), output_padding=(1, 0)):
    def make(g):
        x = image(g, layout, 1, 3, 5, 4)
        op = OPS.quantized_transpose_conv2d_nhwc if layout == "nhwc" else OPS.quantized_transpose_conv2d
        weight = int8(4, 3, 3, 3, generator=g)
        return (
            op,
            [
                x,
                weight,
                sums(4, g),
                list(stride),
                [1, 1],
                list(output_padding),
                [1, 1],
                3,
                2,
                *scales(4, g),
                -128,
                127,
                SCRATCH,
                SCRATCH,
            ],
            [0],
        )

    return make


def average(layout, ceil=False):
    def make(g):
        op = OPS.quantized_avg_pool2d_nhwc if layout == "nhwc" else OPS.quantized_avg_pool2d
        return op, [image(g, layout, 1, 4, 9, 9), [3, 2], [2, 2], [1, 0], ceil, -5, 1518500250, -4, SCRATCH], [0]

    return make


def maximum(layout):
    def make(g):
        op = OPS.quantized_max_pool2d_nhwc if layout == "nhwc" else OPS.quantized_max_pool2d
        return op, [image(g, layout, 1, 4, 9, 9), [3, 2], [2, 1], [1, 0], [1, 1], False, 3, 3, -100, 100], [0]

    return make


def linear(kernel_sum):
    def make(g):
        x, weight = int8(3, 5, 20, generator=g), int8(7, 20, generator=g)
        start = [None, sums(7, g)] if kernel_sum else [sums(7, g), None]
        return (
            OPS.quantized_linear,
            [x, weight, *start, 9, 0 if kernel_sum else 2, -7, [1500000000], [-9], 127, -128],
            [0],
        )

    return make


CALLS = {
    "add": lambda g: (
        OPS.quantized_add,
        [
            int8(2, 3, 4, 5, generator=g),
            3,
            1518500250,
            -1,
            int8(2, 3, 4, 5, generator=g),
            -7,
            1200000000,
            -2,
            4,
            1700000000,
            -18,
            -100,
            120,
        ],
        [0, 4],
    ),
    "add_broadcast": lambda g: (
        OPS.quantized_add,
        [
            image(g, "nchw", 1, 3, 4, 5),
            3,
            1518500250,
            -1,
            image(g, "nchw", 1, 3, 1, 1),
            -7,
            1200000000,
            -2,
            4,
            1700000000,
            -18,
            -128,
            127,
        ],
        [0, 4],
    ),
    "mul": lambda g: (
        OPS.quantized_mul,
        [int8(2, 30, generator=g), 3, int8(2, 30, generator=g), -7, 4, 1700000000, -7],
        [0, 2],
    ),
    "mul_left_shift": lambda g: (
        OPS.quantized_mul,
        [int8(2, 30, generator=g), 3, int8(2, 30, generator=g), -7, 4, 11000000, 2],
        [0, 2],
    ),
    "div": lambda g: (
        OPS.quantized_div,
        [int8(2, 300, generator=g), 3, int8(2, 300, generator=g), -7, 4, 17.3],
        [0, 2],
    ),
    "div_int16": lambda g: (
        OPS.quantized_div,
        [int8(2, 300, generator=g).to(torch.int16) * 99, 3, int8(2, 300, generator=g).to(torch.int16), -7, 4, 17.3],
        [0, 2],
    ),
    "activation": lambda g: (OPS.quantized_activation, [int8(4, 300, generator=g), int8(256, generator=g)], [0]),
    "batch_matmul": lambda g: (
        OPS.quantized_batch_matmul,
        [int8(3, 5, 16, generator=g), 4, int8(3, 6, 16, generator=g), -3, 2, 1700000000, -9, SCRATCH],
        [0, 2],
    ),
    "minimum": lambda g: (OPS.minimum, [int8(2, 30, generator=g), int8(2, 30, generator=g)], [0, 1]),
    "maximum": lambda g: (OPS.maximum, [int8(2, 30, generator=g), int8(1, 30, generator=g)], [0, 1]),
    "linear_bias": linear(False),
    "linear_kernel_sum": linear(True),
    "softmax": lambda g: (OPS.softmax, [int8(3, 4, 17, generator=g), -1, 5, -128, 1100000000, 22, -248], [0]),
    "softmax_middle": lambda g: (OPS.softmax, [int8(3, 9, 5, generator=g), 1, 5, -128, 1100000000, 22, -248], [0]),
    "transpose": lambda g: (OPS.transpose, [int8(2, 3, 4, 5, generator=g), [0, 3, 1, 2]], [0]),
    "pad": lambda g: (OPS.pad, [int8(2, 3, 4, 5, generator=g), [0, 1, 0, 2], [0, 0, 3, 1], -9], [0]),
    "pad_channels_last": lambda g: (OPS.pad, [image(g, "nchw", 2, 3, 4, 5), [0, 1, 0, 2], [0, 0, 3, 1], -9], [0]),
    "pad_rank_2": lambda g: (OPS.pad, [int8(4, 5, generator=g), [0, 0, 1, 2], [0, 0, 3, 0], -128], [0]),
    "conv2d": convolution("nchw"),
    "conv2d_stride": convolution("nchw", stride=(2, 3), padding=(0, 2), bias=False),
    "conv2d_groups": convolution("nchw", groups=2, padding=(0, 1)),
    "conv2d_nhwc": convolution("nhwc"),
    "conv2d_wide": wide_convolution(30, 70, 1),
    "conv2d_wide_stride": wide_convolution(36, 131, 1, stride=2),
    "conv2d_wide_window": wide_convolution(3, 16, 3, stride=2, padding=1),
    "conv2d_wide_padding": wide_convolution(17, 65, 3, padding=2),
    "depthwise_wide": wide_depthwise,
    "linear_wide": wide_linear,
    "add_wide": wide_add,
    "depthwise": depthwise("nchw"),
    "depthwise_multiplier": depthwise("nchw", multiplier=2, stride=(2, 1)),
    "depthwise_nhwc": depthwise("nhwc"),
    "transpose_conv2d": transposed("nchw"),
    "transpose_conv2d_nhwc": transposed("nhwc", (3, 2), (0, 1)),
    "avg_pool2d": average("nchw"),
    "avg_pool2d_ceil": average("nchw", True),
    "avg_pool2d_nhwc": average("nhwc"),
    "max_pool2d": maximum("nchw"),
    "max_pool2d_nhwc": maximum("nhwc"),
}


def outputs_of(op, arguments, places, run_carina, folder):
    """The first output with each set of kernels, selected by options."""
    inputs = tuple(arguments[place] for place in places)
    module = Call(op, arguments, places).eval()
    edge = to_edge(torch.export.export(module, inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = edge.to_executorch().buffer
    assert b"cortex_m::" in program
    (folder / "model.pte").write_bytes(program)
    files = []
    for i, x in enumerate(inputs):
        np.save(folder / f"in_{i}.npy", x.contiguous().numpy())
        files += ["-i", folder / f"in_{i}.npy"]
    outputs = {}
    for kernels in ("--portable-kernels", "--threads=3", "--threads=1"):  # the device's kernels, and the host's
        run_carina(["run", folder / "model.pte", *files, "-o", folder / "out", kernels])
        outputs[kernels] = np.load(folder / "out" / "output_0.npy")
    return outputs


@pytest.mark.parametrize("name", every(2, CALLS))
def test_values_of_the_python_implementation(name, run_carina, tmp_path):
    op, arguments, places = CALLS[name](torch.Generator().manual_seed(len(name)))
    wanted = op(*arguments).contiguous().numpy()
    for kernels, got in outputs_of(op, arguments, places, run_carina, tmp_path).items():
        np.testing.assert_array_equal(got, wanted, err_msg=kernels)
    assert len(np.unique(wanted)) > 2 or wanted.size < 8, "a test that sees only saturated values proves little"


def test_dilated_convolutions_have_a_devices_bits_on_the_host(run_carina, tmp_path):
    """PyTorch has no dilated convolution of integers, so the Python implementation has none either."""
    op, arguments, places = wide_convolution(17, 65, 3, padding=2)(torch.Generator().manual_seed(5))
    arguments[5] = [2, 3]
    device, *host = outputs_of(op, arguments, places, run_carina, tmp_path).values()
    for got in host:
        np.testing.assert_array_equal(got, device)
    assert len(np.unique(device)) > 2


def plain(value):
    return value.tensor.to(memory_format=LAST) if isinstance(value, OrderedTensor) else value


def drawn(name, random):
    """(call, the Python implementation's result) of a draw that it accepts."""
    for _ in range(200):
        arguments = kernel_cortex_m_samples.NAMES[name](random)
        try:
            wanted = getattr(OPS, name)(*[plain(value) for value in arguments])
        except (RuntimeError, AssertionError):  # the window is larger than the image
            continue
        order = kernel_cortex_m_samples.LAST if isinstance(arguments[0], OrderedTensor) else ()
        return KernelCall(f"cortex_m::{name}.out", [*arguments, Out(wanted, order=order)], repr(arguments)), wanted
    raise AssertionError(f"{name}: the Python implementation rejects every draw")


@pytest.mark.parametrize("name", kernel_cortex_m_samples.NAMES)
def test_random_calls_have_the_bits_of_the_python_implementation(name):
    random = Random(f"{os.environ.get('CARINA_RANDOM_SEED', '1')} {name}")
    pairs = [drawn(name, random) for _ in range(int(os.environ.get("CARINA_KERNEL_DRAWS", "24")))]
    for (call, wanted), got in zip(pairs, run_calls([call for call, _ in pairs]), strict=True):
        assert not isinstance(got, str), f"{got}: {call.note}"
        assert torch.equal(got[0], wanted), call.note
    assert len(torch.cat([wanted.flatten().double() for _, wanted in pairs]).unique()) > 2


def test_every_operator_is_drawn_for():
    from kernel_calls import kernel_names

    assert set(kernel_cortex_m_samples.NAMES) == {
        name.removeprefix("cortex_m::").removesuffix(".out") for name in kernel_names() if name.startswith("cortex_m::")
    }
