"""`--target vgf`: delegates are VGF files, in programs and alone. References: eager PyTorch for floats, the outputs of the official TOSA
flow for integers, torchao's converted graph for models with both, and the VGF library's decoder for the delegate's file."""

import subprocess

import numpy as np
import pytest
import torch
from executorch.backends.arm.quantizer import TOSAQuantizer, get_symmetric_quantization_config
from executorch.backends.arm.tosa.specification import TosaSpecification
from test_vgf_vulkan import DUMP
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


def run_program(run_carina, program, inputs, folder, *more):
    folder.mkdir(exist_ok=True)
    options = []
    for place, array in enumerate(inputs):
        np.save(folder / f"in_{place}.npy", array)
        options += ["-i", folder / f"in_{place}.npy"]
    done = run_carina(["run", program, *options, "-o", folder / "out", "--json", *more])
    made = sorted((folder / "out").glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
    return [np.load(path) for path in made], done.json


def compiled(run_carina, model, folder):
    report = run_carina(["compile", model, "--target", "vgf", "-o", folder / "model.pte", "--json"]).json
    return folder / "model.pte", report


def test_float_program_equals_eager(case, run_carina, tmp_path):
    program, report = compiled(run_carina, case.model, tmp_path)
    assert len(report["delegates"]) == 1
    made, _ = run_program(run_carina, program, case.inputs, tmp_path / "run")
    for got, wanted in zip(made, case.arrays("out_torch_float_"), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_integer_program_is_within_a_step_of_the_recorded_outputs(case, run_carina, tmp_path):
    if not case.model_int8.exists():
        pytest.skip("not run: the case has no integer model")
    program, report = compiled(run_carina, case.model_int8, tmp_path)
    assert len(report["delegates"]) == 1 and report["cycles"] is None
    made, run = run_program(run_carina, program, case.inputs, tmp_path / "run", "--timed")
    assert len(run["vgf_nanoseconds"]) == 1 and "npu" not in run
    # The peer's TOSA graph for the model is not the same: for example, it rounds a mean over an image at another place.
    for got, wanted in zip(made, case.arrays("out_tosa_e2e_"), strict=True):
        steps = np.diff(np.unique(wanted))
        step = steps.min() if steps.size else 0  # a constant output must be equal
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1.01 * step)


class Mixed(nn.Module):
    """Quantized convolutions, with float operators between and after them."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = (
            nn.Conv2d(3, 8, 3, padding=1),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.Linear(512, 10),
        )

    def forward(self, x):
        y = torch.relu(self.first(x))
        z = self.second(torch.sigmoid(y) * y)
        return torch.tanh(self.last(z.flatten(1))), z


def test_integers_and_floats_are_one_delegate(run_carina, tmp_path):
    torch.manual_seed(5)
    model, inputs = Mixed().eval(), (torch.randn(2, 3, 8, 8),)
    quantizer = TOSAQuantizer(TosaSpecification.create_from_string("TOSA-1.0+INT+FP"))
    quantizer.set_module_type(nn.Conv2d, get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    torch.export.save(torch.export.export(converted, inputs), tmp_path / "mixed.pt2")
    program, report = compiled(run_carina, tmp_path / "mixed.pt2", tmp_path)
    assert len(report["delegates"]) == 1 and not [node for node in report["nodes"] if node["runs_on"] == "cpu"]
    made, _ = run_program(run_carina, program, [inputs[0].numpy()], tmp_path / "run")
    for got, wanted in zip(made, converted(*inputs), strict=True):
        np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, x, y):
        return self.linear(x) * 0.5, torch.cat([y, y + 1]), x.to(torch.float32).sum(1)


class Filtered(nn.Module):
    """The results of layers with weights are operands of others, in the delegate."""

    def __init__(self):
        super().__init__()
        self.conv, self.back = nn.Conv2d(2, 3, 3), nn.ConvTranspose2d(3, 2, 2, stride=2)

    def forward(self, x):
        y = self.back(self.conv(x))
        return y @ y.transpose(-1, -2)


@pytest.mark.parametrize(
    "module, shapes", [(Scaled, [(2, 4), (3,)]), (Filtered, [(1, 2, 5, 6)])], ids=["sums", "layers"]
)
def test_float64_is_float32_inside_of_a_delegate(run_carina, tmp_path, module, shapes):
    torch.manual_seed(3)
    module, inputs = module().double().eval(), tuple(torch.randn(shape, dtype=torch.float64) for shape in shapes)
    torch.export.save(torch.export.export(module, inputs, strict=False), tmp_path / "model.pt2")
    program, report = compiled(run_carina, tmp_path / "model.pt2", tmp_path)
    assert report["delegates"]
    made, _ = run_program(run_carina, program, [value.numpy() for value in inputs], tmp_path / "run")
    expected = module(*inputs)
    for got, wanted in zip(made, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert str(got.dtype) == str(wanted.dtype).removeprefix("torch.")
        np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_the_file_alone(run_carina, tmp_path):
    """The output of `-o FILE.vgf` is the delegate of `-o FILE.pte`, and the VGF library reads it."""
    digits = "models/digits/digits.pt2"
    run_carina(["compile", digits, "--target", "vgf", "-o", tmp_path / "m.vgf", "--dump", tmp_path / "dump"])
    assert (tmp_path / "m.vgf").read_bytes() == (tmp_path / "dump/output_tag0_graph.vgf").read_bytes()
    program, _ = compiled(run_carina, digits, tmp_path)
    assert (tmp_path / "m.vgf").read_bytes() in program.read_bytes()
    shown = subprocess.run([DUMP, "-i", tmp_path / "m.vgf"], check=True, capture_output=True, text=True).stdout
    assert "GRAPH" in shown and "TENSOR" in shown


@pytest.mark.parametrize(
    "target, output, words",
    [("vgf", "m.npz", "the target cannot write a .npz"), ("ethos-u55-128", "m.vgf", "--target vgf")],
)
def test_a_file_of_another_target(target, output, words, run_carina, tmp_path):
    calibration = ["--calibrate", "models/digits/calibration.npz"] if target != "vgf" else []
    done = run_carina(
        ["compile", "models/digits/digits.pt2", "--target", target, *calibration, "-o", tmp_path / output], expect=2
    )
    assert words in done.stderr and not (tmp_path / output).exists()


def test_memories_make_no_difference(run_carina, tmp_path):
    done = run_carina(
        [
            "compile",
            "models/digits/digits.pt2",
            "--target",
            "vgf",
            "--memory-mode",
            "Sram_Only",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    assert "have no effect" in done.stderr


def test_a_damaged_delegate(run_carina, tmp_path):
    program, _ = compiled(run_carina, "models/digits/digits.pt2", tmp_path)
    data = bytearray(program.read_bytes())
    at = data.index(b"VGF1")
    data[at : at + 4] = b"VGF2"
    (tmp_path / "bad.pte").write_bytes(data)
    done = run_carina(["run", tmp_path / "bad.pte"], expect=1)
    assert "VgfBackend delegate 0" in done.stderr


def test_floats_are_no_reason_to_warn(run_carina, tmp_path):
    """A model that only moves data stays on the CPU, whether or not it is quantized."""
    model, inputs = nn.Flatten(), (torch.zeros(1, 2, 3),)
    torch.export.save(torch.export.export(model, inputs), tmp_path / "flatten.pt2")
    done = run_carina(["compile", tmp_path / "flatten.pt2", "--target", "vgf", "-o", tmp_path / "m.pte"])
    assert "only moves data" in done.stdout + done.stderr and "quantized" not in done.stderr
