"""Integers beyond int32, which an NPU cannot hold: `compile` warns, and `accuracy` computes with PyTorch's int64."""

import numpy as np
import pytest
import torch
from torch import nn


class Integers(nn.Module):
    def forward(self, i):
        return i // 3, i + 1


def save(path, model, *inputs):
    torch.export.save(torch.export.export(model.eval(), inputs, strict=False), path)


def wide_integers(folder, largest):
    samples = np.random.RandomState(0).randint(-largest, largest, (5, 1, 9))
    np.savez(folder / "c.npz", i=samples)
    save(folder / "m.pt2", Integers(), torch.tensor(samples[0]))
    return samples


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_integers_beyond_int32_are_seen(run_carina, tmp_path, target):
    """The result is exact on the CPU of a U55 and wraps on a U85. compile warns and names the node, and accuracy uses int64."""
    wide_integers(tmp_path, 2**40)
    done = run_carina(
        ["compile", tmp_path / "m.pt2", "--target", target, "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "o.pte"]
    )
    report = run_carina(
        ["accuracy", tmp_path / "m.pt2", tmp_path / "o.pte", "--data", tmp_path / "c.npz", "--json"]
    ).json
    if target == "ethos-u55-128":
        assert "int32" not in done.stderr and report["sqnr_db"] == 300
    else:
        assert (
            "beyond int32 in the samples" in done.stderr
            and "floor_divide" in done.stderr
            and "--cpu-node" in done.stderr
        )
        assert report["sqnr_db"] < 10, "the float model computes with int64"


def test_integers_within_int32_are_not_warned_of(run_carina, tmp_path):
    wide_integers(tmp_path, 2**30)
    done = run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "--target",
            "ethos-u85-256",
            "--calibrate",
            tmp_path / "c.npz",
            "-o",
            tmp_path / "o.pte",
        ]
    )
    report = run_carina(
        ["accuracy", tmp_path / "m.pt2", tmp_path / "o.pte", "--data", tmp_path / "c.npz", "--json"]
    ).json
    assert "int32" not in done.stderr and report["sqnr_db"] == 300


def test_a_constant_beyond_int32_is_warned_of(run_carina, tmp_path):
    class Added(nn.Module):
        def forward(self, i):
            return i + torch.tensor([2**40, 1])

    save(tmp_path / "m.pt2", Added(), torch.tensor([[1, 2]]))
    done = run_carina(
        ["compile", tmp_path / "m.pt2", "--target", "ethos-u85-256", "--delegate-all", "-o", tmp_path / "o.pte"]
    )
    assert "has integers beyond int32: the NPU computes with int32" in done.stderr


def test_a_node_that_becomes_several_is_warned_of_once(run_carina, tmp_path):
    class Sums(nn.Module):
        def forward(self, i):
            return torch.cumsum(i * 20000, -1)

    samples = np.full((3, 1, 4), 100_000)
    np.savez(tmp_path / "c.npz", i=samples)
    save(tmp_path / "m.pt2", Sums(), torch.tensor(samples[0]))
    done = run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "--target",
            "ethos-u85-256",
            "--calibrate",
            tmp_path / "c.npz",
            "-o",
            tmp_path / "o.pte",
        ]
    )
    assert done.stderr.count("--cpu-node cumsum") == 1
