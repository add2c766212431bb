"""Models with floats, integers and bools: the program gives the bits of its TOSA graphs, or the model is rejected with a reason."""

import mixed_type_models
import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"]


class Heaviside(nn.Module):
    """run_decompositions() turns it into the selection below."""

    def forward(self, x):
        return torch.heaviside(x, torch.tensor(0.0))


class Choice(nn.Module):
    """A selection between two integers inside a selection between floats."""

    def forward(self, x):
        return torch.where(x == 0, torch.tensor(0.5), torch.where(x < 0, torch.tensor(0), torch.tensor(1)))


class Joined(nn.Module):
    def forward(self, x):
        return torch.cat([x, (x > 0), torch.argmax(x, -1, keepdim=True)], -1)


class Integers(nn.Module):
    """A concatenation of bools and integers, which become one type."""

    def forward(self, x):
        return torch.cat([x > 0, torch.argmax(x, -1, keepdim=True).to(torch.int32)], -1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("model", [Heaviside, Choice, Joined, Integers])
@pytest.mark.parametrize("decomposed", [False, True])
def test_integers_among_floats(run_carina, tmp_path, model, target, decomposed):
    samples = np.random.RandomState(0).randn(6, 3, 4).astype("f4")
    np.savez(tmp_path / "c.npz", x=samples)
    decomposed = decomposed or model is Heaviside
    program = torch.export.export(model().eval(), (torch.tensor(samples[0]),), strict=False)
    torch.export.save(program.run_decompositions() if decomposed else program, tmp_path / "m.pt2")
    run_carina(
        ["compile", tmp_path / "m.pt2", "--target", target, "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "o.pte"]
    )
    report = run_carina(
        ["accuracy", tmp_path / "m.pt2", tmp_path / "o.pte", "--data", tmp_path / "c.npz", "--json"]
    ).json
    assert report["sqnr_db"] > 30


class OfIntegers(nn.Module):
    """Functions that PyTorch computes in float although they read integers."""

    def forward(self, x):
        return tuple(
            function(x) for function in (torch.tanh, torch.sigmoid, torch.sqrt, torch.log1p, torch.erf, torch.rsqrt)
        ) + (torch.abs(x),)


class AmongFloats(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(7, 7)

    def forward(self, x):
        return (self.linear(x.float() * 0.1) + torch.sqrt(x * x),)


def check_quantized(run_carina, folder, model, samples, targets, db=30):
    """With 16 samples, the ranges are chosen by measurement: the whole model runs with integers."""
    torch.export.save(torch.export.export(model.eval(), (torch.tensor(samples[0]),), strict=False), folder / "m.pt2")
    np.savez(folder / "c.npz", x=samples)
    for target in targets:
        run_carina(
            [
                "compile",
                folder / "m.pt2",
                "--target",
                target,
                "--quantize",
                "int8",
                "--calibrate",
                folder / "c.npz",
                "-o",
                folder / "o.pte",
            ]
        )
        report = run_carina(["accuracy", folder / "m.pt2", folder / "o.pte", "--data", folder / "c.npz", "--json"]).json
        assert report["sqnr_db"] > db, target


@pytest.mark.parametrize("model", [OfIntegers, AmongFloats])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_functions_of_integers_compute_in_float(run_carina, tmp_path, model, dtype):
    samples = np.random.RandomState(0).randint(1, 6, (16, 4, 7)).astype(dtype)
    check_quantized(run_carina, tmp_path, model(), samples, TARGETS)
    run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "--target",
            "vgf",
            "--quantize",
            "int8",
            "--calibrate",
            tmp_path / "c.npz",
            "-o",
            tmp_path / "v.pte",
        ]
    )
    run_carina(
        ["tosa", tmp_path / "m.pt2", "--quantize", "int8", "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "m.tosa"]
    )


class Bytes(nn.Module):
    """uint8 is a type of the CPU."""

    def forward(self, x):
        return x.abs().to(torch.uint8).float() + x, (x > 0).to(torch.uint8).float() * x, (x > 0).to(torch.uint8)


class Outside(nn.Module):
    """Kernels that read padding only, so that their result is the bias."""

    def __init__(self):
        super().__init__()
        self.one = nn.Conv1d(2, 3, 2, padding=1, dilation=3)
        self.depthwise = nn.Conv1d(2, 2, 2, padding=1, dilation=3, groups=2)
        self.two = nn.Conv2d(2, 3, (5, 2), padding=(4, 1), dilation=(2, 3))

    def forward(self, x):
        return self.one(x) + x.sum(), self.depthwise(x), self.two(x.unsqueeze(-2))


class Softmax(nn.Module):
    def forward(self, x):
        whole = (x * 4).to(torch.int64)
        return torch.softmax(whole, -1, dtype=torch.float32), torch.log_softmax(whole, -1, dtype=torch.float32)


class Means(nn.Module):
    def forward(self, x):
        return x.mean(-1, dtype=torch.float64), x.sum(-1, dtype=torch.float64)


@pytest.mark.parametrize("model", [Bytes, Outside, Softmax, Means])
def test_what_only_the_cpu_has_does_not_stop_calibration(run_carina, tmp_path, model):
    samples = np.random.RandomState(0).randn(16, 1, 2, 2).astype("f4")
    check_quantized(run_carina, tmp_path, model(), samples, TARGETS, db=25)


@pytest.mark.parametrize("first", range(0, 48, 8))
def test_random_models_of_mixed_types(carina, tmp_path, first):
    problems = []
    for seed in range(first, first + 8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if problem := mixed_type_models.check(str(carina), folder, seed):
            problems.append((seed, problem))
    assert not problems
