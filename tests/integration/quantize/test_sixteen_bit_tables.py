"""Functions in 16 bits: of operands that are never negative, a table has no step at 0, so an NPU looks it up in one operation, and
magnitudes need no table. The bits are those of the integer graph and of the official reference model."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
# (the module, the SQNR in dB that it has at least, its cycles on ethos-u55-128 at most)
# With a step at 0, they took 26849, 10696, 16401, 41139, 15216, 9577, 29490 and 9755 cycles.
FUNCTIONS = {
    "inverse": (lambda x: 1 / (x * x + 0.05), 55, 10000),
    "shares": (lambda x: x.abs() / (x.abs().sum(-1, keepdim=True) + 0.01), 70, 4000),
    "softsign": (lambda x: x / (1 + x.abs()), 70, 6000),
    "logarithm": (lambda x: torch.log(x * x + 1e-4), 55, 17000),
    "log1p": (lambda x: torch.log1p(x.abs()), 70, 4000),
    "logsumexp": (lambda x: torch.logsumexp(x, -1), 75, 6000),
    "quotient": (lambda x: x / (x.flip(-1) ** 2 + 0.3), 65, 14000),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), 60, 6000),
    "both signs": (lambda x: 1 / (x + 6), 65, 40000),
    "negative": (lambda x: 1 / (-1 - x.abs()), 60, 40000),
    "padded": (lambda x: 1 / (F.pad(x.abs(), (1, 1), value=-3.0) + 4), 55, 40000),
    "maximum": (lambda x: 1 / torch.maximum(x, torch.tensor(0.25)), 55, 12000),
    "clipped": (lambda x: 1 / (torch.cat((x.clamp(min=0.0), F.relu(x.flip(-1))), 1) + 0.3), 55, 16000),
}


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_exact_and_fast_in_16_bits(run_carina, reference_model, tmp_path, name):
    function, least_db, most_cycles = FUNCTIONS[name]
    torch.manual_seed(0)
    model, x = Module(function).eval(), torch.randn(24, 1, 16, 64)
    torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=x.numpy())
    for target in TARGETS:
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", "int16x8", "--calibrate", tmp_path / "x.npz"]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json"])
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "x.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 24 of 24" in text, target
        report = json.loads(done.stdout)
        assert target != TARGETS[0] or report["cycles"] <= most_cycles, report["cycles"]
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npz", "-o", tmp_path / "out"])
    wanted = np.concatenate([model(one[None]).numpy() for one in x]).astype(np.float64)
    (file,) = (tmp_path / "out").glob("*.npy")
    noise = (np.load(file).reshape(wanted.shape) - wanted) ** 2
    assert 10 * np.log10((wanted**2).sum() / noise.sum()) > least_db
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    integers = np.random.default_rng(0).integers(-(2**15), 2**15, (1, 1, 16, 64)).astype(np.int16)
    np.save(tmp_path / "in.npy", integers)
    run_carina(["interpret", tosa, "-i", tmp_path / "in.npy", "-o", tmp_path / "interpreted"])
    (of_reference,) = reference_model(tosa, [integers])
    (file,) = (tmp_path / "interpreted").glob("*.npy")
    assert np.array_equal(np.load(file), of_reference)
