"""What models of public zoos have: batch norms without statistics, autocast that is off, a CONCAT of many inputs."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

TARGETS = ["ethos-u55-128", "ethos-u85-256"]


def compiled(run_carina, folder, model, samples, target="ethos-u55-128", decompose=False, expect=0):
    program = torch.export.export(model.eval(), (torch.tensor(samples[0]),), strict=False)
    torch.export.save(program.run_decompositions() if decompose else program, folder / "m.pt2")
    np.savez(folder / "c.npz", x=samples)
    args = ["--target", target, "--calibrate", folder / "c.npz", "--dump", folder / "d"]
    return run_carina(["compile", folder / "m.pt2", *args, "-o", folder / "o.pte"], expect=expect)


def accuracy(run_carina, folder):
    args = [
        "accuracy",
        folder / "m.pt2",
        folder / "o.pte",
        "--data",
        folder / "c.npz",
        "--dump",
        folder / "d",
        "--json",
    ]
    report = run_carina(args).json
    assert report["npu_equals_integer"] == report["samples"]
    return report["sqnr_db"]


def samples_of(*shape):
    return np.random.RandomState(0).randn(4, *shape).astype("f4")


class ScaledWeights(nn.Module):
    """The convolution of normalizer-free networks: a batch norm of the weights, whose only batch they are."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.c, self.gain = nn.Conv2d(3, 8, 3), nn.Parameter(torch.rand(8) + 0.5)

    def forward(self, x):
        rows = self.c.weight.reshape(1, 8, -1)
        weight = functional.batch_norm(rows, None, None, weight=self.gain, training=True, momentum=0.0, eps=1e-6)
        return functional.conv2d(x, weight.reshape_as(self.c.weight), self.c.bias)


@pytest.mark.parametrize("decompose", [False, True])
def test_normalized_weights_are_constants(run_carina, tmp_path, decompose):
    compiled(run_carina, tmp_path, ScaledWeights(), samples_of(1, 3, 8, 8), decompose=decompose)
    nodes = run_carina(["explain", tmp_path / "m.pt2", "--target", "ethos-u55-128", "--json"]).json["nodes"]
    assert accuracy(run_carina, tmp_path) > 35 and not [
        node for node in nodes if "mean" in node["op"] or "rsqrt" in node["op"]
    ]


class BatchStatistics(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.c, self.n = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)
        self.n.weight.data.uniform_(0.5, 2)
        self.n.bias.data.uniform_(-1, 1)

    def forward(self, x):
        return self.n(self.c(x))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("decompose", [False, True])
def test_a_batch_norm_without_statistics_computes_them(run_carina, tmp_path, target, decompose):
    compiled(run_carina, tmp_path, BatchStatistics(), samples_of(3, 3, 9, 7), target, decompose)
    assert accuracy(run_carina, tmp_path) > 30


def test_a_batch_norm_without_statistics_runs_on_the_cpu(run_carina, tmp_path):
    samples, model = samples_of(3, 3, 9, 7), BatchStatistics().eval()
    compiled(run_carina, tmp_path, model, samples)
    run_carina(["compile", tmp_path / "m.pt2", "--target", "ethos-u55-128", "-o", tmp_path / "f.pte"])
    np.savez(tmp_path / "in.npz", input_0=samples[0])
    run_carina(["run", tmp_path / "f.pte", "-i", tmp_path / "in.npz", "-o", tmp_path / "out"])
    wanted = model(torch.tensor(samples[0])).detach().numpy()
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), wanted, rtol=1e-4, atol=1e-5)


class Autocast(nn.Module):
    def __init__(self, enabled):
        super().__init__()
        self.linear, self.enabled = nn.Linear(8, 8), enabled

    def forward(self, x):
        with torch.autocast(device_type="cpu", enabled=self.enabled, dtype=torch.bfloat16):
            y = self.linear(x) * 2
        return y.float() + 1


def test_autocast_that_is_off_has_no_effect(run_carina, tmp_path):
    compiled(run_carina, tmp_path, Autocast(False), samples_of(2, 8))
    assert accuracy(run_carina, tmp_path) > 30


def test_autocast_that_is_on_is_rejected(run_carina, tmp_path):
    said = compiled(run_carina, tmp_path, Autocast(True), samples_of(2, 8), expect=1).stderr
    assert "it converts operands to another type" in said and "without torch.autocast" in said


class ManyGroups(nn.Module):
    def __init__(self, groups):
        super().__init__()
        torch.manual_seed(0)
        self.c = nn.Conv2d(2 * groups, 2 * groups, 3, padding=1, groups=groups)

    def forward(self, x):
        return self.c(x)


class ManyParts(nn.Module):
    """A concatenation of 130 parts, which is a tree of three CONCATs and one of them."""

    def forward(self, x):
        return torch.cat([x * (i % 7 - 3) for i in range(130)], 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("model", "shape"), [(ManyGroups(70), (1, 140, 5, 5)), (ManyParts(), (1, 2, 3))], ids=["groups", "parts"]
)
def test_a_concat_keeps_to_the_level_of_tosa(run_carina, tmp_path, target, model, shape):
    compiled(run_carina, tmp_path, model, samples_of(*shape), target)
    for graph in (tmp_path / "d").glob("*.tosa"):
        run_carina(["tosa", "--verify", graph])
    assert accuracy(run_carina, tmp_path) > 30
