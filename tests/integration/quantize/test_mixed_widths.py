"""Sums, differences, products and extrema whose operands have 8 and 16 bits: an NPU takes two operands of one width, so the narrow one is
widened, exactly. The bits are those of the integer graph and of the official reference model, and it costs no more than 16 bits for both."""

import json

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
JOINS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: b - a,
    "product": lambda a, b: a * b,
    "maximum": torch.maximum,
    "broadcast": lambda a, b: a + b.mean((2, 3), keepdim=True),
}


class Branches(nn.Module):
    def __init__(self, join):
        super().__init__()
        self.narrow, self.wide, self.last = (
            nn.Conv2d(8, 16, 3, padding=1),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.Conv2d(16, 8, 1),
        )
        self.join = join

    def forward(self, x):
        return self.last(self.join(torch.relu(self.narrow(x)), self.wide(x)))


@pytest.mark.parametrize("join", JOINS)
def test_operands_of_two_widths_are_exact(run_carina, reference_model, tmp_path, join):
    torch.manual_seed(0)
    model, x = Branches(JOINS[join]).eval(), torch.randn(8, 1, 8, 12, 12)
    torch.export.save(torch.export.export(model, (x[0],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=x.numpy())

    def cycles(target, scheme, *words):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "x.npz", *words]
        return json.loads(run_carina([*words, "-o", tmp_path / "m.pte", "--json"]).stdout)["cycles"]

    for target in TARGETS:
        all_wide = cycles(target, "int16x8")
        mixed = cycles(target, "int8", "--quantize-at", "module:wide=int16x8", "--dump", tmp_path / target)
        assert mixed <= all_wide
        words = [
            "accuracy",
            tmp_path / "m.pt2",
            tmp_path / "m.pte",
            "--data",
            tmp_path / "x.npz",
            "--dump",
            tmp_path / target,
        ]
        assert "NPU bits = integer graph's bits: 8 of 8" in run_carina(words).stdout, target
    (tosa,) = (tmp_path / TARGETS[0]).glob("*.tosa")
    integers = np.random.default_rng(0).integers(-128, 128, (1, 8, 12, 12)).astype(np.int8)
    np.save(tmp_path / "in.npy", integers)
    run_carina(["interpret", tosa, "-i", tmp_path / "in.npy", "-o", tmp_path / "interpreted"])
    (of_reference,) = reference_model(tosa, [integers])
    (file,) = (tmp_path / "interpreted").glob("*.npy")
    assert np.array_equal(np.load(file), of_reference)
