"""int16x16: layers with 16-bit weights, as two layers with 8-bit weights and a sum. Random networks of all layers with weights have the numbers
of the TOSA reference model on each family of NPUs, and are nearer to eager PyTorch than with 8-bit weights."""

import json
import random
import re

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
FEWEST_DB = 55  # 8-bit weights leave 30 to 50


class Recurrence(nn.Module):
    """Unrolled: each step has layers of its own."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(6, 12, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


def network(kind, draw):
    """A network, and the shape of its input."""
    width = draw.choice([8, 12, 20])
    images = {
        "conv2d": [nn.Conv2d(3, width, 3, stride=draw.choice([1, 2])), nn.ReLU(), nn.Conv2d(width, 5, 1)],
        "depthwise": [nn.Conv2d(3, width, 1), nn.Conv2d(width, width, 3, padding=1, groups=width), nn.ReLU6()],
        "transposed": [nn.ConvTranspose2d(3, width, 3, stride=2), nn.ReLU()],
        "without bias": [nn.Conv2d(3, width, 3, bias=False), nn.Hardswish(), nn.Conv2d(width, 4, 1, bias=False)],
    }
    if kind in images:
        return nn.Sequential(*images[kind]), (3, 9, 9)
    if kind == "conv1d":
        return nn.Sequential(nn.Conv1d(4, width, 5, dilation=draw.choice([1, 2])), nn.Tanh(), nn.Conv1d(width, 3, 3)), (
            4,
            20,
        )
    if kind == "gru":
        return Recurrence(), (5, 6)
    return nn.Sequential(nn.Linear(10, width), nn.SiLU(), nn.Linear(width, width), nn.Linear(width, 3)), (10,)


def decibels(wanted, got):
    noise = (wanted.astype(np.float64) - got.reshape(wanted.shape)) ** 2
    return 10 * np.log10((wanted.astype(np.float64) ** 2).sum() / noise.sum())


@pytest.fixture
def measured(run_carina, tmp_path):
    """measured(target, scheme, *options) -> the program's outputs, its report, and what the compilation says."""

    def run(target, scheme, *options):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "c.npz", *options]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json"])
        run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "t.npz", "-o", tmp_path / "out"])
        return np.load(next((tmp_path / "out").glob("*.npy"))), json.loads(done.stdout), done.stderr

    return run


def saved(folder, model, shape):
    model = model.eval().requires_grad_(False)
    x = torch.randn(24, *shape)
    torch.export.save(torch.export.export(model, (x[:1],), strict=False), folder / "m.pt2")
    np.savez(folder / "c.npz", x=x[:20].numpy())
    np.savez(folder / "t.npz", x=x[20:].numpy())
    return model(x[20:]).numpy()


@pytest.mark.parametrize("kind", ["linear", "conv2d", "depthwise", "transposed", "conv1d", "gru", "without bias"])
def test_both_layers_have_the_bits_of_the_reference_model(run_carina, measured, reference_model, tmp_path, kind):
    torch.manual_seed(5)
    wanted = saved(tmp_path, *network(kind, random.Random(kind)))
    coarse, _, _ = measured(TARGETS[0], "int16x8")
    found = []
    for target in TARGETS:
        fine, report, _ = measured(target, "int16x16")
        words = ["accuracy", tmp_path / "m.pt2", tmp_path / "m.pte", "--data", tmp_path / "t.npz"]
        text = run_carina([*words, "--dump", tmp_path / "dump"]).stdout
        assert "NPU bits = integer graph's bits: 4 of 4" in text, target
        assert {node["runs_on"] for node in report["nodes"]} <= {"npu", "folded"}
        found.append(fine)
    assert all(np.array_equal(found[0], other) for other in found[1:])
    assert decibels(wanted, found[0]) > max(FEWEST_DB, decibels(wanted, coarse) + 10)


@pytest.mark.parametrize("kind", ["linear", "conv2d", "transposed"])
def test_the_tosa_file_says_the_same(run_carina, reference_model, tmp_path, kind):
    torch.manual_seed(6)
    saved(tmp_path, *network(kind, random.Random(kind)))
    words = ["tosa", tmp_path / "m.pt2", "-q", "int16x16", "--io", "int16", "--calibrate", tmp_path / "c.npz"]
    run_carina([*words, "-o", tmp_path / "m.tosa"])
    shape = np.load(tmp_path / "t.npz")["x"].shape[1:]
    x = np.random.default_rng(0).integers(-9000, 9000, (1, *shape)).astype(np.int16)
    np.save(tmp_path / "x.npy", x)
    run_carina(["interpret", tmp_path / "m.tosa", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    got = np.load(next((tmp_path / "out").glob("*.npy")))
    assert np.array_equal(got, reference_model(tmp_path / "m.tosa", [x])[0])


def test_a_result_of_8_bits_keeps_8_bit_weights(measured, tmp_path):
    torch.manual_seed(7)
    saved(tmp_path, nn.Sequential(nn.Linear(10, 8), nn.Linear(8, 3)), (10,))
    _, _, said = measured(TARGETS[0], "int8-only", "--quantize-at", "node:linear=int16x16")
    assert "weights of 16 bits" not in said
    _, _, said = measured(TARGETS[0], "int16x16", "--quantize-at", "outputs=int8")
    assert re.search(r"linear_1: weights of 16 bits bring nothing to a result of 8 bits", said)


def test_clusters_and_rounding_are_rejected(run_carina, tmp_path):
    saved(tmp_path, nn.Linear(10, 3), (10,))
    for detail in ("clustered-16", "rounded-for-inputs"):
        words = ["compile", tmp_path / "m.pt2", "-t", TARGETS[0], "-q", f"int16x16+{detail}"]
        done = run_carina([*words, "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "m.pte"], expect=1)
        assert "a second layer adds what those lose" in done.stderr


def test_auto_takes_16_bit_weights_where_8_bits_spoil_the_results(measured, tmp_path):
    """A regression that is exact but for its weights: the more cycles, the more of them have 16 bits."""
    torch.manual_seed(8)
    wanted = saved(
        tmp_path, nn.Sequential(nn.Linear(10, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 3)), (10,)
    )
    found = []
    for budget in ("100%", "170%", "200%", "270%"):
        got, _, said = measured(TARGETS[0], "auto", "--max-cycles", budget)
        found.append(decibels(wanted, got))
    assert all(more > fewer + 5 for fewer, more in zip(found, found[1:], strict=False)), found
    assert "--quantize auto: int16x16:" in said


def test_compile_says_when_weights_of_8_bits_are_too_few(measured, tmp_path):
    """A product of many layers of unlike channels: its noise is that of the weights."""
    torch.manual_seed(9)
    layers = [nn.Linear(32, 32, bias=False) for _ in range(12)]
    for layer in layers:  # a few large weights among small ones
        layer.weight.data = torch.eye(32) + 0.02 * torch.randn(32, 32)
        layer.weight.data[:, :2] += 0.6 * torch.randn(32, 2)
    saved(tmp_path, nn.Sequential(*layers), (32,))
    assert "weights of 8 bits leave" in measured(TARGETS[0], "int8")[2]
