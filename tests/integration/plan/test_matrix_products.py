"""Products of two computed matrices on NPUs that multiply by constant weights alone: the bits are those of the integer graph and of the official
reference model, and a matrix of few rows takes about as many cycles as one of few columns, which has as many products."""

import json
import random

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")


class Products(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, a, b):
        return self.act(torch.matmul(a, b))


def saved(folder, a, b, act):
    torch.export.save(torch.export.export(Products(act).eval(), (a[:1], b[:1])), folder / "m.pt2")
    np.savez(folder / "x.npz", a=a.numpy(), b=b.numpy())


def compiled(run_carina, folder, target):
    words = ["compile", folder / "m.pt2", "-t", target, "-q", "int8", "--calibrate", folder / "x.npz"]
    words += ["-o", folder / "m.pte", "--dump", folder / "dump", "--json"]
    return json.loads(run_carina(words).stdout)


@pytest.mark.parametrize("seed", range(8))
def test_random_products_have_the_bits_of_the_integer_graph(run_carina, reference_model, tmp_path, seed):
    torch.manual_seed(seed)
    draw = random.Random(seed)
    batches, rows = draw.choice([1, 1, 2, 4]), draw.choice([1, 2, 3, 20])
    depth, columns = draw.choice([4, 16, 20, 33]), draw.choice([1, 5, 32, 100])
    act = draw.choice([nn.Identity(), nn.ReLU(), nn.Sigmoid()])
    a, b = torch.randn(16, batches, rows, depth), torch.randn(16, batches, depth, columns) + draw.choice([0, 1])
    saved(tmp_path, a, b, act)
    for target in TARGETS:
        report = compiled(run_carina, tmp_path, target)
        assert {node["runs_on"] for node in report["nodes"]} <= {"npu", "folded"}
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "x.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 16 of 16" in text, (target, batches, rows, depth, columns)
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    rng, integers = np.random.default_rng(seed), []
    for name, shape in (("a", (1, batches, rows, depth)), ("b", (1, batches, depth, columns))):
        integers.append(rng.integers(-128, 128, shape).astype(np.int8))
        np.save(tmp_path / f"{name}.npy", integers[-1])
    run_carina(["interpret", tosa, "-i", tmp_path / "a.npy", "-i", tmp_path / "b.npy", "-o", tmp_path / "out"])
    (wanted,) = reference_model(tosa, integers)
    (file,) = (tmp_path / "out").glob("*.npy")
    assert np.array_equal(np.load(file), wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(1, 32, 64), (3, 20, 50), (1, 64, 128)])
def test_few_rows_cost_what_few_columns_do(run_carina, tmp_path, target, shape):
    """One query and the keys of many tokens, as in a step of attention."""
    rows, depth, columns = shape
    torch.manual_seed(0)
    a, b = torch.randn(16, 1, rows, depth), torch.randn(16, 1, depth, columns)
    saved(tmp_path, a, b.flip(0), nn.Identity())
    few_rows = compiled(run_carina, tmp_path, target)
    saved(tmp_path, b.transpose(2, 3).contiguous(), a.transpose(2, 3).contiguous(), nn.Identity())
    few_columns = compiled(run_carina, tmp_path, target)
    assert few_rows["cycles"] <= few_columns["cycles"] + 4 * depth * columns + 500  # the second matrix is transposed
