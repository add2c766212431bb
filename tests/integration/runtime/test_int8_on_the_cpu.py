"""`--cpu-kernels cortex-m`: nodes of an int8 network that stay on the CPU compute in int8. The programs call ExecuTorch's `cortex_m::`
operators. Their Python implementations are the reference for every value. ExecuTorch's AOT passes are the reference for the tables and
multipliers that they also compute."""

import numpy as np
import pte_in_python
import pytest
import torch
from executorch.backends.cortex_m.library import cmsis_nn
from executorch.backends.cortex_m.passes.passes_utils import build_activation_lut
from executorch.exir.dialects._ops import ops as exir_ops
from torch import nn
from torch.nn import functional as F

OPTIONS = ["--target", "ethos-u55-128", "--cpu-kernels", "cortex-m"]


class Network(nn.Module):
    """Each operator that has an integer kernel, and the operators that only move data."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(11)
        self.first = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 16, 3, padding=1, groups=8, bias=False)
        self.grouped = nn.Conv2d(16, 8, 1, groups=2)
        self.skip = nn.Conv2d(8, 8, 1)
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu6(self.first(x))
        y = F.hardtanh(self.grouped(self.depthwise(x)), -0.5, 2)
        y = F.relu(self.skip(x) - y) + torch.tanh(y) * torch.sigmoid(x)
        y = F.max_pool2d(F.pad(y, (1, 0, 0, 1)), 2)
        y = torch.cat([F.avg_pool2d(y, 2), y[:, :, ::2, ::2]], 1)
        products = torch.bmm(y.flatten(2), y.flatten(2).transpose(1, 2))
        return self.last(F.gelu(y).mean((2, 3))), torch.maximum(products, products * 0.5)


@pytest.fixture(scope="module")
def network(run_carina, tmp_path_factory):
    """(program, report of the program with portable kernels, input) of the calibrated Network."""
    folder = tmp_path_factory.mktemp("network")
    x = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    torch.export.save(torch.export.export(Network().eval(), (x,)), folder / "model.pt2")
    np.savez(folder / "data.npz", x=torch.randn(16, 3, 16, 16, generator=torch.Generator().manual_seed(3)).numpy())
    for name, options in (("int8", OPTIONS), ("portable", OPTIONS[:2])):
        run_carina(
            [
                "compile",
                folder / "model.pt2",
                "--calibrate",
                folder / "data.npz",
                "--no-delegate",
                *options,
                "-o",
                folder / f"{name}.pte",
            ]
        )
    return folder, x.numpy()


def outputs_of(run_carina, program, x, folder, *options):
    np.save(folder / "in.npy", x)
    report = run_carina(["run", program, "-i", folder / "in.npy", "-o", folder / "out", "--json", *options]).json
    return [np.load(folder / "out" / f"output_{i}.npy") for i in range(len(report["outputs"]))], report


def check_values(run_carina, program, x, folder):
    wanted = [y.numpy() for y in pte_in_python.run(program.read_bytes(), [torch.from_numpy(x)])]
    for options in (["--portable-kernels"], []):
        got, report = outputs_of(run_carina, program, x, folder, *options)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=str(options))
    return report["cpu_kernels"]


def test_a_network_of_every_operator(network, run_carina, tmp_path):
    folder, x = network
    kernels = check_values(run_carina, folder / "int8.pte", x, tmp_path)
    integer = {"quantized_conv2d_nhwc", "quantized_depthwise_conv2d_nhwc", "quantized_add", "quantized_mul", "quantized_activation", "quantized_max_pool2d_nhwc",
               "quantized_batch_matmul", "quantized_linear", "transpose"}  # fmt: skip
    assert {f"cortex_m::{name}.out" for name in integer} <= set(kernels)
    floats = (
        "convolution",
        "linear",
        "relu",
        "add",
        "mul",
        "tanh",
        "sigmoid",
        "avg_pool2d",
        "max_pool2d_with_indices",
        "bmm",
        "gelu",
        "hardtanh",
        "sub",
        "mean",
        "sum",
    )
    assert not [k for k in kernels if k.split("::")[1].split(".")[0] in floats], kernels
    near, _ = outputs_of(run_carina, folder / "portable.pte", x, tmp_path)
    got, _ = outputs_of(run_carina, folder / "int8.pte", x, tmp_path)
    for a, b in zip(got, near):
        step = np.diff(np.unique(b)).min()
        assert np.abs(a - b).max() <= 4 * step, "not the same network"


def test_a_device_gives_the_hosts_bytes(network, run_carina, tmp_path):
    """The device's kernels use MVE, and the host's do not."""
    folder, x = network
    host, _ = outputs_of(run_carina, folder / "int8.pte", x, tmp_path)
    run_carina(["run", folder / "int8.pte", "--on", "qemu", "-i", tmp_path / "in.npy", "-o", tmp_path / "device"])
    for i, wanted in enumerate(host):
        np.testing.assert_array_equal(np.load(tmp_path / "device" / f"output_{i}.npy"), wanted)


@pytest.mark.cases("kws", "lstm", "resnet8", "resnet20")
def test_networks_of_the_cases(case, run_carina, tmp_path):
    for name, options in (("int8", OPTIONS), ("portable", OPTIONS[:2])):
        run_carina(["compile", case.model_int8, "--no-delegate", *options, "-o", tmp_path / f"{name}.pte"])
    check_values(run_carina, tmp_path / "int8.pte", case.inputs[0], tmp_path)
    (got,), _ = outputs_of(run_carina, tmp_path / "int8.pte", case.inputs[0], tmp_path)
    eager = case.array("out_torch_int8_0")
    assert np.abs(got - eager).max() <= 0.05 * np.abs(eager).max() and got.argmax() == eager.argmax()
    # Weights are stored as int8, not as floats.
    assert (tmp_path / "int8.pte").stat().st_size < 0.7 * (tmp_path / "portable.pte").stat().st_size


def test_between_delegates(run_carina, tmp_path):
    """A convolution on the CPU between two delegates reads and writes int8."""
    torch.manual_seed(5)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).eval()
    x = torch.randn(1, 3, 16, 16)
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    np.savez(tmp_path / "data.npz", x=torch.randn(8, 3, 16, 16).numpy())
    args = ["compile", tmp_path / "model.pt2", "--calibrate", tmp_path / "data.npz", *OPTIONS, "--delegate-all"]
    run_carina([*args, "--cpu-module", "2", "-o", tmp_path / "split.pte"])
    run_carina([*args, "-o", tmp_path / "whole.pte"])
    (split,), report = outputs_of(run_carina, tmp_path / "split.pte", x.numpy(), tmp_path)
    (whole,), _ = outputs_of(run_carina, tmp_path / "whole.pte", x.numpy(), tmp_path)
    assert report["delegate_calls"] == 2 and "cortex_m::quantized_conv2d_nhwc.out" in report["cpu_kernels"]
    assert [k for k in report["cpu_kernels"] if "quantize_per_tensor" in k] == [
        "quantized_decomposed::quantize_per_tensor.out",
        "quantized_decomposed::dequantize_per_tensor.out",
    ]
    assert np.abs(split - whole).max() <= 3 * np.diff(np.unique(whole)).min()


def test_tables_are_those_of_the_cortex_m_backend(run_carina, tmp_path):
    functions = {
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "gelu": F.gelu,
        "sqrt": torch.sqrt,
        "log": torch.log,
        "rsqrt": torch.rsqrt,
    }

    class Function(nn.Module):
        def __init__(self, name):
            super().__init__()
            self.function = functions[name]

        def forward(self, x):
            return self.function(x)

    for name in functions:
        x = (
            torch.rand(4, 64, generator=torch.Generator().manual_seed(8)) + 0.1
            if name in ("sqrt", "log", "rsqrt")
            else torch.randn(4, 64)
        )
        torch.export.save(torch.export.export(Function(name), (x,)), tmp_path / "model.pt2")
        np.savez(tmp_path / "data.npz", x=x.numpy()[None])
        run_carina(
            [
                "compile",
                tmp_path / "model.pt2",
                "--calibrate",
                tmp_path / "data.npz",
                "--no-delegate",
                *OPTIONS,
                "-o",
                tmp_path / "model.pte",
            ]
        )
        found = pte_in_python.calls((tmp_path / "model.pte").read_bytes())
        assert [n for n, _ in found] == [
            "quantized_decomposed::quantize_per_tensor",
            "cortex_m::quantized_activation",
            "quantized_decomposed::dequantize_per_tensor",
        ]
        (_, quantize), (_, activation), (_, dequantize) = found
        wanted = build_activation_lut(
            getattr(exir_ops.edge.aten, name).default, quantize[1], quantize[2], dequantize[1], dequantize[2]
        )
        assert torch.equal(activation[1], wanted), name


def test_scratch_is_enough_for_cmsis_nn_on_every_core(network):
    """The scratch sizes that the wheel requests from CMSIS-NN."""
    folder, _ = network
    seen = set()
    for name, a in pte_in_python.calls((folder / "int8.pte").read_bytes()):
        kind = name.removeprefix("cortex_m::quantized_").removesuffix("_nhwc")
        if kind not in ("conv2d", "depthwise_conv2d"):
            continue
        seen.add(kind)
        depthwise = kind == "depthwise_conv2d"
        at = 7 if depthwise else 6
        weight = list(a[1].shape)
        filters = [weight[3], weight[1], weight[2], 1] if depthwise else weight
        shapes = {"input_nhwc": list(a[0].shape), "filter_nhwc": filters, "output_nhwc": list(a[-1].shape)}
        rest = {
            "padding_hw": a[4],
            "stride_hw": a[3],
            "dilation_hw": a[5],
            "input_offset": a[at],
            "output_offset": a[at + 1],
            "activation_min": a[at + 4],
            "activation_max": a[at + 5],
        }
        for backend in (cmsis_nn.Backend.MVE, cmsis_nn.Backend.DSP, cmsis_nn.Backend.SCALAR):
            if depthwise:
                needed = cmsis_nn.depthwise_conv_wrapper_buffer_size(
                    backend, cmsis_nn.DataType.A8W8, **shapes, **rest, ch_mult=a[6]
                )
            else:
                needed = cmsis_nn.convolve_wrapper_buffer_size(backend, cmsis_nn.DataType.A8W8, **shapes, **rest)
            assert a[-3].numel() >= needed, (name, backend, a[-3].numel(), needed)
    assert seen == {"conv2d", "depthwise_conv2d"}
