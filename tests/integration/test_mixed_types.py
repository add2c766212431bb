"""Models with floats, integers and bools: the program gives the bits of its TOSA graphs, or the model is rejected with a reason."""

import mixed_graphs
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
    run_carina(["compile", tmp_path / "m.pt2", "--target", target, "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "o.pte"])
    report = run_carina(["accuracy", tmp_path / "m.pt2", tmp_path / "o.pte", "--data", tmp_path / "c.npz", "--json"]).json
    assert report["sqnr_db"] > 30


@pytest.mark.parametrize("first", range(0, 48, 8))
def test_random_models_of_mixed_types(carina, tmp_path, first):
    problems = []
    for seed in range(first, first + 8):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if problem := mixed_graphs.check(str(carina), folder, seed):
            problems.append((seed, problem))
    assert not problems
