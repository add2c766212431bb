"""No single operator makes a model fail: each of these models is quantized with calibration, compiled and run, and compared with eager
torch."""

import numpy as np
import pytest
import torch
from single_operator_models import models

TARGET = "ethos-u55-128"
MODELS = {model.name: model for model in models()}


class Exported:
    """A saved model with calibration data, and eager torch's results for two samples."""

    def __init__(self, model, folder):
        folder.mkdir()
        self.path, self.calibration, self.folder = folder / "model.pt2", folder / "calibration.npz", folder
        torch.manual_seed(7)
        module = model.make().eval()
        generator = torch.Generator().manual_seed(5)
        samples = [[draw(generator) for draw in model.inputs] for _ in range(8)]
        exported = torch.export.export(module, tuple(samples[0]))
        torch.export.save(exported.run_decompositions() if model.decomposed else exported, self.path)
        names = exported.graph_signature.user_inputs
        np.savez(
            self.calibration, **{name: np.concatenate([s[i].numpy() for s in samples]) for i, name in enumerate(names)}
        )
        self.samples = samples[:2]
        with torch.no_grad():
            self.wanted = [module(*sample).numpy() for sample in self.samples]

    def compile(self, run_carina, *extra, **how):
        return run_carina(
            [
                "compile",
                self.path,
                "--target",
                TARGET,
                "--quantize",
                "int8",
                "--calibrate",
                self.calibration,
                "-o",
                self.folder / "model.pte",
                *extra,
            ],
            **how,
        )

    def run(self, run_carina, sample):
        args = ["run", self.folder / "model.pte", "-o", self.folder / "out"]
        for i, array in enumerate(sample):
            np.save(self.folder / f"in_{i}.npy", array.numpy())
            args += ["-i", self.folder / f"in_{i}.npy"]
        run_carina(args)
        return np.load(self.folder / "out" / "output_0.npy")

    def sqnr_db(self, run_carina):
        signal = noise = 0.0
        for sample, wanted in zip(self.samples, self.wanted, strict=True):
            got = self.run(run_carina, sample)
            assert got.shape == wanted.shape and got.dtype == wanted.dtype
            signal += (wanted.astype(np.float64) ** 2).sum()
            noise += ((got.astype(np.float64) - wanted) ** 2).sum()
        return 10 * np.log10(signal / max(noise, signal * 1e-20))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder, known = tmp_path_factory.mktemp("single"), {}

    def export(name):
        if name not in known:
            known[name] = Exported(MODELS[name], folder / name)
        return known[name]

    return export


@pytest.mark.parametrize("name", [m.name for m in MODELS.values() if not m.rejected])
def test_compiled_model_reaches_its_sqnr(name, exported, run_carina):
    case = exported(name)
    case.compile(run_carina)
    assert case.sqnr_db(run_carina) > MODELS[name].min_db


@pytest.mark.parametrize("name", [m.name for m in MODELS.values() if m.rejected])
def test_unsupported_model_is_rejected_with_its_reason(name, exported, run_carina):
    """Fails when one of these models starts to work. It then belongs to the other list."""
    done = exported(name).compile(run_carina, expect=1)
    assert MODELS[name].rejected in done.stderr
