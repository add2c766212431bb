"""Roots, logarithms, powers and reciprocals of numbers far apart, as of a spectrum, get several tables in 16 bits: the bits are those of the integer
graph and of the official reference model, and the results are nearer to eager PyTorch's."""

import json
import random

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
FINER = "Small operands have "


FUNCTIONS = {
    "magnitude": torch.sqrt,
    "logarithm": lambda power: torch.log(power + 1e-6),
    "decibels": lambda power: 10 * torch.log10(power.clamp(min=1e-5)),
    "octaves": lambda power: torch.log2(torch.maximum(power, torch.tensor(1e-4)) + 1e-6),
    "compressed": lambda power: (power + 1e-7) ** 0.3,
    "loudness": lambda power: torch.log1p(100 * power),
    "inverse": lambda power: 1 / (power + 0.01),
    "inverse root": lambda power: torch.rsqrt(power + 1e-3),
}


class Spectrum(nn.Module):
    """A function of the powers of a Fourier transform, of their sums or of their means by triangular filters, and a layer."""

    def __init__(self, seed, function=None, sums=None, last=None):
        super().__init__()
        draw = random.Random(seed)
        self.function = FUNCTIONS[function or draw.choice(list(FUNCTIONS))]
        self.size = draw.choice([32, 64])
        self.sums = draw.choice(["none", "none", "all", "filters"]) if sums is None else sums
        window, angles = torch.hann_window(self.size), torch.arange(self.size) * torch.arange(self.size // 2)[:, None]
        waves = torch.polar(window.expand(self.size // 2, -1), -2 * torch.pi * angles / self.size)
        self.waves = nn.Parameter(torch.cat([waves.real, waves.imag])[:, None], requires_grad=False)
        centers = torch.linspace(0, self.size // 2, 8)[:, None]
        filters = (1 - (torch.arange(self.size // 2) - centers).abs() / 5).clamp(min=0)
        self.filters = nn.Parameter(filters, requires_grad=False)
        channels = {"none": self.size // 2, "all": 1, "filters": 8}[self.sums]
        with_last = draw.random() < 0.5 if last is None else last
        self.last = nn.Conv1d(channels, 6, 1) if with_last else nn.Identity()
        self.stride = draw.choice([self.size // 2, self.size])

    def forward(self, x):
        real, imaginary = nn.functional.conv1d(x, self.waves, stride=self.stride).chunk(2, 1)
        power = real * real + imaginary * imaginary
        if self.sums == "all":
            power = power.sum(1, keepdim=True)
        elif self.sums == "filters":
            power = self.filters @ power
        return self.last(self.function(power))


def tones(count, length=512):
    """Tones of sizes from 1 to 1/100 over weak noise: most of a spectrum is small."""
    rng, time = np.random.default_rng(1), np.arange(length)
    size, pitch = 10 ** rng.uniform(-2, 0, (count, 1)), rng.uniform(0.1, 1.5, (count, 1))
    return torch.from_numpy((size * np.sin(pitch * time) + rng.normal(0, 0.002, (count, length)))[:, None]).float()


@pytest.fixture
def magnitudes(run_carina, tmp_path):
    """magnitudes(model, target, scheme) -> the SQNR in dB, the report, what the compilation says."""

    def magnitudes_(model, target, scheme):
        x = tones(24)
        model = model.eval()
        torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
        np.savez(tmp_path / "x.npz", x=x.numpy())
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "x.npz"]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json"])
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "x.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 24 of 24" in text, (target, scheme)
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npz", "-o", tmp_path / "out"])
        with torch.no_grad():
            wanted = model(x).numpy().astype(np.float64)
        (file,) = (tmp_path / "out").glob("*.npy")
        noise = (np.load(file).reshape(wanted.shape) - wanted) ** 2
        return 10 * np.log10((wanted**2).sum() / noise.sum()), json.loads(done.stdout), done.stderr

    return magnitudes_


@pytest.mark.parametrize("seed", range(16))
def test_random_spectra_have_the_bits_of_the_integer_graph(run_carina, reference_model, magnitudes, tmp_path, seed):
    torch.manual_seed(seed)
    model = Spectrum(seed)
    for target in TARGETS:
        _, report, _ = magnitudes(model, target, "int16x8")
        assert {node["runs_on"] for node in report["nodes"]} <= {"npu", "folded"}
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    integers = np.random.default_rng(seed).integers(-(2**15), 2**15, (1, 1, 512)).astype(np.int16)
    np.save(tmp_path / "in.npy", integers)
    run_carina(["interpret", tosa, "-i", tmp_path / "in.npy", "-o", tmp_path / "interpreted"])
    (wanted,) = reference_model(tosa, [integers])
    (file,) = (tmp_path / "interpreted").glob("*.npy")
    assert np.array_equal(np.load(file), wanted)


# With one table, int16x8 has -6 dB for logarithms, -4 for decibels, -1 for octaves, 14 for compressed powers, 13 for
# loudness, -1 for inverses and -2 for their roots.
@pytest.mark.parametrize(
    "function, least_db",
    [
        ("magnitude", 40),
        ("logarithm", 35),
        ("decibels", 35),
        ("octaves", 40),
        ("compressed", 45),
        ("loudness", 40),
        ("inverse", 50),
        ("inverse root", 45),
    ],
)
def test_functions_of_a_spectrum_gain_decibels_in_16_bits(magnitudes, function, least_db):
    model = Spectrum(0, function, "none", last=False)
    db, _, said = magnitudes(model, "ethos-u55-128", "int16x16")
    assert FINER in said
    assert db > least_db


def test_filters_are_computed_again_for_each_table(magnitudes):
    db, _, said = magnitudes(Spectrum(0, "logarithm", "filters", last=False), "ethos-u55-128", "int16x16")
    assert FINER in said
    assert db > 35


def test_plain_int8_says_that_8_bits_are_too_few(magnitudes):
    _, _, said = magnitudes(Spectrum(0, "logarithm", "none", last=False), "ethos-u55-128", "int8")
    assert FINER not in said
    assert "sizes far apart, which 8 bits do not tell from each other" in said


class EvenRoots(nn.Module):
    def forward(self, x):
        return torch.sqrt(x * x + 1)


def test_roots_of_numbers_of_one_size_keep_one_table(magnitudes):
    assert FINER not in magnitudes(EvenRoots(), "ethos-u55-128", "int16x8")[2]
