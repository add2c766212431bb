"""Compares lowering with PyTorch. Small modules, as floats and quantized by the peer, run through lower_tool and the official TOSA
reference model. The results are compared with eager PyTorch, and Vela must accept each integer graph.

lower_tool (tests/unit/lower) reads a .pt2, prepares it, folds the quantization and writes TOSA. Its path is CARINA_LOWER_TOOL, or
lower_tool beside `carina`.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from lower_modules import MODULES
from tier_plugin import every

FLOAT = [pytest.param(m, id=m.name) for m in MODULES]
INT8 = [pytest.param(m, id=m.name) for m in every(3, [m for m in MODULES if m.int8])]


@pytest.fixture(scope="session")
def tool_path():
    beside = Path(os.environ["CARINA_BIN"]).parent / "lower_tool"
    path = Path(os.environ.get("CARINA_LOWER_TOOL", beside))
    if not path.exists():
        pytest.fail(f"{path} is missing: build the target lower_tool")
    return path


@pytest.fixture(scope="session")
def lower_tool(tool_path):
    def run(model, tosa):
        done = subprocess.run([tool_path, model, tosa], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return Path(tosa).read_bytes()

    return run


def export(module, example, folder):
    path = folder / "model.pt2"
    program = torch.export.export(module, example)
    torch.export.save(program, path)
    return program, path


@pytest.mark.parametrize("module", FLOAT)
def test_lowered_float_graph_equals_eager(module, lower_tool, reference_model, tmp_path):
    eager, example = module.eager(), module.example()
    _, path = export(eager, example, tmp_path)
    tosa = lower_tool(path, tmp_path / "out.tosa")
    for seed in (0, 1):
        inputs = module.example(seed)
        wanted = eager(*inputs)
        wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        got = reference_model(tosa, [x.numpy() for x in inputs])
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            w = w.detach().numpy()
            assert g.shape == w.shape
            np.testing.assert_allclose(g, w, rtol=0, atol=module.tolerance * max(1.0, float(np.abs(w).max())))


def quantized(module):
    """The graph that PyTorch's PT2E flow makes with the peer's quantizer."""
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    example = module.example()
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128"))
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
    graph = torch.export.export(module.eager(), example).module(check_guards=False)
    prepared = prepare_pt2e(graph, quantizer)
    for seed in range(4):
        prepared(*module.example(seed))
    return convert_pt2e(prepared)


def arguments(node):
    names = ("input", "scale", "zero_point", "quant_min", "quant_max", "dtype")
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


def is_op(node, name):
    return node.op == "call_function" and f"quantized_decomposed.{name}" in str(node.target)


def io_parameters(program):
    """(scale, zero point, min, max) of each user input and output."""
    graph = program.graph
    user_inputs, outputs = (
        set(program.graph_signature.user_inputs),
        next(n for n in graph.nodes if n.op == "output").args[0],
    )
    inputs = []
    for node in graph.nodes:
        if node.op == "placeholder" and node.name in user_inputs:
            inputs.append(arguments(next(u for u in node.users if is_op(u, "quantize_per_tensor"))))
    return inputs, [arguments(n) for n in outputs]


def to_int8(x, q):
    steps = np.rint(np.asarray(x, np.float32) * np.float32(1 / q["scale"])) + q["zero_point"]
    return np.clip(steps, q["quant_min"], q["quant_max"]).astype(np.int8)


@pytest.mark.parametrize("module", INT8)
def test_lowered_int8_graph_is_close_to_eager_and_vela_compiles_it(module, lower_tool, reference_model, vela, tmp_path):
    eager = quantized(module)
    program, path = export(eager, module.example(), tmp_path)
    inputs_q, outputs_q = io_parameters(program)
    tosa = lower_tool(path, tmp_path / "out.tosa")
    for seed in (0, 5):
        inputs = module.example(seed)
        wanted = eager(*inputs)
        wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        got = reference_model(tosa, [to_int8(x.numpy(), q) for x, q in zip(inputs, inputs_q, strict=True)])
        for g, w, q in zip(got, wanted, outputs_q, strict=True):
            steps = np.abs(g.astype(int) - to_int8(w.detach().numpy(), q))
            assert g.dtype == np.int8 and steps.max(initial=0) <= module.steps, (
                f"{steps.max()} steps, {(steps > 0).sum()} of {steps.size} differ"
            )
    if module.vela:
        vela(tosa)


# For Carina's graphs of the cases: outputs within one step of PyTorch's own int8 (the peer: 0).
# PyTorch computes these in floats, whose last bits depend on the processor: a value between two steps may go to either,
# and the layers after it carry that on.
STEPS = {"softmax": 0, "add_float": 0, "kws": 1, "ds_cnn": 1, "resnet8": 2, "resnet20": 1, "lstm": 0}


@pytest.mark.cases("softmax", "add_float", "kws", "ds_cnn", "resnet8", "resnet20", "lstm", "mobilenet_v2")
def test_networks(case, lower_tool, reference_model, vela, tmp_path):
    import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401  registers quantized_decomposed

    program = torch.export.load(case.model_int8)
    inputs_q, outputs_q = io_parameters(program)
    tosa = lower_tool(case.model_int8, tmp_path / "out.tosa")
    wanted, q = case.arrays("out_torch_int8_")[0], outputs_q[0]
    got = reference_model(tosa, [to_int8(case.inputs[0], inputs_q[0])])[0]
    if case.name in STEPS:
        assert np.abs(got.astype(int) - to_int8(wanted, q)).max() <= STEPS[case.name]
    else:
        floats = (got.astype(np.float64) - q["zero_point"]) * q["scale"]
        peer = case.array("out_tosa_e2e_0").astype(np.float64)
        assert sqnr(wanted, floats) >= sqnr(wanted, peer) - 0.05
    vela(tosa)


def sqnr(wanted, got):
    wanted = np.asarray(wanted, np.float64)
    return 10 * np.log10((wanted**2).sum() / max(((got - wanted) ** 2).sum(), 1e-30))


def test_unsupported_ops_are_named_all_at_once(tool_path, tmp_path):
    class Two(torch.nn.Module):
        def forward(self, x):
            return torch.signbit(x), x.view(torch.int32)

    _, path = export(Two(), (torch.rand(3),), tmp_path)
    done = subprocess.run([tool_path, path, tmp_path / "out.tosa"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "aten.view.dtype" in done.stderr and "signbit" in done.stderr and "test_lower.py:" in done.stderr


class Decoder(torch.nn.Module):
    """Upsampling between convolutions, beside a skip connection, as in a U-Net."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.first, self.second = (
            torch.nn.Conv2d(3, 8, 3, stride=2, padding=1),
            torch.nn.Conv2d(8, 16, 3, stride=2, padding=1),
        )
        self.last = torch.nn.Conv2d(24, 4, 3, padding=1)

    def forward(self, x):
        skipped = self.first(x)
        upsampled = torch.nn.functional.interpolate(self.second(skipped), size=self.size)
        return self.last(torch.cat([upsampled, skipped], 1))


@pytest.mark.parametrize("size", [(16, 24), (15, 23)], ids=["doubled", "gathered"])
def test_upsampled_images_keep_their_channels_last(size, run_carina, tmp_path):
    x = torch.randn(1, 3, 2 * size[0], 2 * size[1])
    torch.export.save(torch.export.export(Decoder(size).eval(), (x,)), tmp_path / "m.pt2")
    run_carina(["tosa", tmp_path / "m.pt2", "-o", tmp_path / "m.tosa"])
    text = run_carina(["inspect", tmp_path / "m.tosa"]).stdout
    assert text.count("tosa.CONV2D") == 3
    assert text.count("tosa.TRANSPOSE") == 2, "of the network's input and output"
