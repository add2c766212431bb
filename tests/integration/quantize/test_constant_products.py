"""Products with a constant on the left, as the filters of a mel spectrogram, are layers: they run on every NPU in 8 and 16 bits, with the bits of
the integer graph and near eager PyTorch's results."""

import json

import numpy as np
import pytest
import torch
from torch import nn

SHAPES = [((20, 64), (1, 64, 32)), ((20, 64), (64, 32)), ((7, 16), (2, 3, 16, 5)), ((1, 16), (4, 16, 9))]


class Filters(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.filters = nn.Parameter(torch.randn(shape), requires_grad=False)

    def forward(self, x):
        return torch.relu(self.filters @ x)


@pytest.mark.parametrize("scheme, least_db", [("int8", 30), ("int16x8", 35)])
@pytest.mark.parametrize("filters, operand", SHAPES)
def test_product_with_a_constant_on_the_left_is_a_layer(run_carina, tmp_path, filters, operand, scheme, least_db):
    torch.manual_seed(len(operand))
    model, x = Filters(filters).eval(), torch.randn(16, *operand)
    torch.export.save(torch.export.export(model, (x[0],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "x.npz", x=x.numpy())
    for target in ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256"):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "x.npz", "--json"]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump"])
        assert {node["runs_on"] for node in json.loads(done.stdout)["nodes"]} <= {"npu", "folded"}
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "x.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 16 of 16" in text, (target, scheme)
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npz", "-o", tmp_path / "out"])
        wanted = model(x).numpy().astype(np.float64)
        noise = (np.load(tmp_path / "out" / "output_0.npy").reshape(wanted.shape) - wanted) ** 2
        assert 10 * np.log10((wanted**2).sum() / noise.sum()) > least_db
