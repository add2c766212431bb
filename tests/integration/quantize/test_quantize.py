"""Compares quantized models with eager torch. Models of convert_pt2e give torch's integers. Models that Carina quantizes come at least as
close to the float model as the peer's. The integer graphs run in Carina's interpreter, which other tests check."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch


def tool():
    beside = Path(os.environ["CARINA_BIN"]).parent
    path = Path(os.environ.get("CARINA_QUANTIZE_TOOL", beside / "quantize_tool"))
    assert path.exists(), f"{path} is missing: build the target quantize_tool"
    return path


def run(model, samples, tmp_path, calibration=None, scheme="int8"):
    """The first output of the graph for each sample, and the tool's report on the quantization."""
    files = [tmp_path / name for name in ("inputs.npz", "outputs.npz", "calibration.npz")]
    np.savez(files[0], **{f"{i}_0": x for i, x in enumerate(samples)})
    command = [tool(), model, files[0], files[1]]
    if calibration is not None:
        np.savez(files[2], **{f"{i}_0": x for i, x in enumerate(calibration)})
        command += [files[2], scheme]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with np.load(files[1]) as outputs:
        return [outputs[f"{i}_0"] for i in range(len(samples))], json.loads(done.stdout)


def sqnr_db(wanted, got):
    wanted, got = np.asarray(wanted, np.float64), np.asarray(got, np.float64)
    return 10 * np.log10((wanted**2).sum() / ((got.reshape(wanted.shape) - wanted) ** 2).sum())


def eager(model, samples):
    import torchao.quantization.pt2e  # noqa: F401  the quantized_decomposed operators

    module = torch.export.load(model).module()
    with torch.no_grad():
        return [module(torch.from_numpy(x)).numpy() for x in samples]


def singles(batch):
    return [batch[i : i + 1] for i in range(len(batch))]


@pytest.mark.cases("softmax", "add_float", "kws", "ds_cnn", "resnet8", "resnet20", "lstm")
def test_imported_models_are_within_one_step_of_torch(case, tmp_path):
    x = np.load(case.path / "input_0.npy")
    wanted = np.load(case.path / "out_torch_int8_0.npy")
    (got,), about = run(case.model_int8, [x], tmp_path)
    assert not any("quantize_per" in node for node in about["nodes"]), "every quantize and dequantize node is folded"
    step = np.diff(np.unique(np.concatenate([wanted.ravel(), np.zeros(1, np.float32)]))).min()
    assert np.abs(got - wanted).max() <= 1.01 * step


@pytest.mark.cases("mobilenet_v2")
def test_imported_mobilenet_is_as_close_as_the_peer(case, tmp_path):
    """53 layers with random weights amplify every rounding: the peer's integer graph is 24.36 dB away from eager torch."""
    (got,), _ = run(case.model_int8, [np.load(case.path / "input_0.npy")], tmp_path)
    wanted, peers = np.load(case.path / "out_torch_int8_0.npy"), np.load(case.path / "out_tosa_e2e_0.npy")
    assert sqnr_db(wanted, got) >= sqnr_db(wanted, peers)


@pytest.mark.cases("resnet20")
def test_resnet20_is_at_least_as_close_to_float_as_the_peer(case, tmp_path):
    data = np.load(case.path / "calibration.npz")
    name = next(n for n in data.files if n != "float_logits")
    samples = singles(data[name])
    ours, _ = run(case.model, samples, tmp_path, calibration=samples)
    peers = eager(case.model_int8, samples)
    assert sqnr_db(data["float_logits"], np.concatenate(ours)) >= sqnr_db(data["float_logits"], np.concatenate(peers))


@pytest.mark.cases("kws")
def test_kws_hears_all_words(case, tmp_path):
    data = np.load(case.path / "labelled.npz")
    samples = singles(data["x"])
    ours, _ = run(case.model, samples, tmp_path, calibration=samples)
    assert (np.concatenate(ours).argmax(1) == data["y"]).all()


@pytest.mark.cases("kws", "ds_cnn", "resnet8", "resnet20", "mobilenet_v2")
def test_weights_have_the_peers_parameters(case, tmp_path):
    """Both use the largest magnitude of each output channel after folding batch norms. The peer does not equalize channels."""
    x = np.load(case.path / "input_0.npy")
    _, ours = run(case.model, [x], tmp_path, calibration=[x], scheme="int8+unequalized")
    _, peers = run(case.model_int8, [x], tmp_path)

    def weight_scales(about):
        return [
            v["scales"] for v in about["values"].values() if v["constant"] and v["dtype"] == "i8" and v["axis"] == 0
        ]

    ours, peers = weight_scales(ours), weight_scales(peers)
    assert len(ours) == len(peers)
    for a, b in zip(ours, peers, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5)


@pytest.mark.cases("kws", "resnet8", "softmax", "add_float")
def test_calibration_gives_the_same_parameters_every_time(case, tmp_path):
    x = np.load(case.path / "input_0.npy")
    assert run(case.model, [x], tmp_path, calibration=[x])[1] == run(case.model, [x], tmp_path, calibration=[x])[1]


class NoOutputs(torch.nn.Module):
    """A layer without output channels, whose result is viewed, beside an ordinary one."""

    def __init__(self):
        super().__init__()
        self.none, self.some = torch.nn.Linear(4, 0), torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.none(x)[:, 0:0], self.some(x)


@pytest.mark.parametrize("scheme", ["int8", "int16x8", "int8+rounded-for-inputs"])
def test_layers_without_channels_are_no_error(run_carina, tmp_path, scheme):
    x = torch.randn(1, 2, 4, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(NoOutputs().eval(), (x,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x.numpy())
    run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "-t",
            "ethos-u55-128",
            "-q",
            scheme,
            "--calibrate",
            tmp_path / "x.npy",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.load(tmp_path / "out" / "output_0.npy").shape == (1, 0, 0)
