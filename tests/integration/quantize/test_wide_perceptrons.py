"""int8 gives 16 bits to perceptrons that lose much: they wait for their weights, so 16 bits cost few cycles. Random perceptrons have the bits of
the integer graph on each family of NPUs, are nearer to eager PyTorch, and cost no more than tables and conversions may."""

import json
import random
import re

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
WIDER = "the network waits for its weights"
CYCLES_OF_START = 4200  # ADR 0111
ACTIVATIONS = [nn.ReLU, nn.LeakyReLU, nn.SiLU, nn.GELU, nn.Tanh, nn.Sigmoid, nn.Hardswish]


class Perceptron(nn.Module):
    """Linear layers with residual sums, factors and several outputs."""

    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)
        width = draw.choice([16, 24, 40])
        self.first, self.act = nn.Linear(10, width), draw.choice(ACTIVATIONS)()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(draw.randint(1, 3)))
        self.residual, self.other = draw.random() < 0.5, draw.choice(ACTIVATIONS)()
        self.heads = nn.ModuleList(nn.Linear(width, draw.choice([1, 3])) for _ in range(draw.randint(1, 2)))
        self.factor = draw.choice([None, 40.0])

    def forward(self, x):
        y = self.act(self.first(x))
        for block in self.blocks:
            z = self.other(block(y))
            y = y + z if self.residual else z
        outputs = tuple(head(y) for head in self.heads)
        return tuple(one * self.factor + 1 for one in outputs) if self.factor else outputs


def saved(folder, model, samples=48):
    """Inputs of unlike size: few of the 256 steps are left for most of them."""
    x = torch.randn(samples, 10) * torch.tensor([1.0, 1, 1, 1, 0.05, 0.05, 4, 4, 0.2, 0.2])
    model = model.eval().requires_grad_(False)
    torch.export.save(torch.export.export(model, (x[:1],)), folder / "m.pt2")
    np.savez(folder / "c.npz", x=x[: samples // 2].numpy())
    np.savez(folder / "t.npz", x=x[samples // 2 :].numpy())
    wanted = model(x[samples // 2 :])
    return [one.numpy() for one in (wanted if isinstance(wanted, tuple) else (wanted,))]


@pytest.fixture
def program(run_carina, tmp_path):
    """program(target, scheme, *options) -> outputs for the test samples, the report, what the compilation says."""

    def program_(target, scheme, *options):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "c.npz", *options]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json"])
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "t.npz", "-o", tmp_path / "out"])
        outputs = [np.load(path) for path in sorted((tmp_path / "out").glob("*.npy"))]
        return outputs, json.loads(done.stdout), done.stderr

    return program_


def least_db(wanted, got):
    found = []
    for one, other in zip(wanted, got, strict=True):
        noise = (one.astype(np.float64) - other.reshape(one.shape)) ** 2
        found.append(10 * np.log10((one.astype(np.float64) ** 2).sum() / noise.sum()))
    return min(found)


@pytest.mark.parametrize("seed", range(8))
def test_random_perceptrons_have_the_bits_of_the_integer_graph(run_carina, program, tmp_path, seed):
    torch.manual_seed(seed)
    wanted = saved(tmp_path, Perceptron(seed))
    found = []
    for target in TARGETS:
        narrow, before, quiet = program(target, "int8-only")
        assert WIDER not in quiet
        wide, report, said = program(target, "int8")
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "t.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 24 of 24" in text, (target, said)
        assert {node["runs_on"] for node in report["nodes"]} <= {"npu", "folded"}
        assert report["cycles"] <= 1.1 * before["cycles"] + CYCLES_OF_START, target
        assert (WIDER in said) == (least_db(wanted, wide) > least_db(wanted, narrow) + 2), (target, said)
        found.append(wide)
    assert all(np.array_equal(one, other) for got in found for one, other in zip(found[0], got, strict=True))


def regression():
    return nn.Sequential(nn.Linear(10, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 3))


def test_a_regression_with_two_functions_has_16_bits_and_so_has_auto(program, tmp_path):
    torch.manual_seed(1)
    wanted = saved(tmp_path, regression())
    narrow, _, _ = program("ethos-u55-128", "int8-only")
    wide, report, said = program("ethos-u55-128", "int8")
    assert re.search(WIDER + r", and 8 bits leave \S+ dB: 16 bits where they cost little: \S+ dB", said)
    assert least_db(wanted, wide) > least_db(wanted, narrow) + 9
    for budget in ("100%", "105%", "150%"):
        found, chosen, _ = program("ethos-u55-128", "auto", "--max-cycles", budget)
        assert least_db(wanted, found) > least_db(wanted, narrow) + 9, budget
        assert chosen["cycles"] <= float(budget[:-1]) / 100 * report["cycles"], budget


def test_many_tables_and_what_the_user_asks_for_keep_8_bits(program, tmp_path):
    torch.manual_seed(1)
    layers = [layer for _ in range(4) for layer in (nn.Linear(10, 10), nn.SiLU())]
    saved(tmp_path, nn.Sequential(*layers, nn.Linear(10, 3)))
    narrow, wide = (program("ethos-u55-128", scheme)[1]["cycles"] for scheme in ("int8-only", "int8"))
    assert wide <= 1.1 * narrow
    torch.manual_seed(1)
    saved(tmp_path, regression())
    assert WIDER in program("ethos-u55-128", "int8")[2]
    assert WIDER not in program("ethos-u55-128", "int8+narrow-tail")[2]
    assert WIDER not in program("ethos-u55-128", "int16x8")[2]


class Deep(nn.Module):
    """Layers of equal cost, each of which adds noise: no 16 bits are cheap, and all together bring much."""

    def __init__(self):
        super().__init__()
        layers = [layer for _ in range(10) for layer in (nn.Conv2d(16, 16, 3, padding=1), nn.SiLU())]
        self.layers = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.SiLU(), *layers, nn.Conv2d(16, 16, 3, padding=1))

    def forward(self, x):
        return self.layers(x)


def test_compile_says_what_16_bits_everywhere_bring_and_auto_what_they_cost(run_carina, tmp_path):
    torch.manual_seed(0)
    model = Deep().eval()
    for parameter in model.parameters():
        if parameter.dim() == 4:
            torch.nn.init.kaiming_normal_(parameter, nonlinearity="relu")
    x = torch.randn(48, 1, 12, 12)
    torch.export.save(torch.export.export(model, (x[:1],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=x.numpy())
    words = ["compile", tmp_path / "m.pt2", "-t", "ethos-u55-128", "--calibrate", tmp_path / "c.npz"]
    words += ["-o", tmp_path / "m.pte", "--json"]
    said = run_carina([*words, "-q", "int8"]).stderr
    costly = re.search(r"8 bits leave (\d+) dB in an output, .* In all values, they would bring (\d+) dB", said)
    assert costly and int(costly[1]) < 30 and int(costly[2]) >= 6, said
    assert "would bring" not in run_carina([*words, "-q", "int8-only"]).stderr
    poor = run_carina([*words, "-q", "auto", "--max-cycles", "105%"]).stderr
    hint = re.search(r"too small for 16 bits everywhere, which bring (\d+) dB: --max-cycles (\d+)% allows them", poor)
    assert hint, poor
    enough = run_carina([*words, "-q", "auto", "--max-cycles", f"{hint[2]}%"]).stderr
    assert "too small" not in enough
    before, after = (float(re.search(r"SQNR (\S+) dB", text)[1]) for text in (poor, enough))
    assert after >= before + int(hint[1]) - 1
