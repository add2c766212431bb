"""Inputs and results of rank 0, and delegates that only move data, on the CPU and on the NPU."""

import numpy as np
import pytest
import torch

X = np.linspace(-2, 3, 6, dtype=np.float32).reshape(2, 3)
TARGETS = ("ethos-u55-128", "ethos-u85-128")


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


FUNCTIONS = {
    "mean": lambda x: x.mean(),
    "least": lambda x: x.amin(),
    "element": lambda x: x[1, 2],
    "sum_of_relu": lambda x: torch.relu(x).sum(),
    "turned": lambda x: x.permute(1, 0),
}
MOVEMENT = ("element", "turned")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rank_zero")
    np.save(folder / "x.npy", X)
    for name, function in FUNCTIONS.items():
        torch.export.save(torch.export.export(Of(function), (torch.from_numpy(X),)), folder / f"{name}.pt2")
    return folder


def computed(run_carina, models, program, folder):
    run_carina(["run", program, "-i", models / "x.npy", "-o", folder / "out"])
    return np.load(folder / "out" / "output_0.npy")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_float_on_the_cpu_as_in_the_official_runtime(name, models, run_carina, et_runtime, tmp_path):
    run_carina(["compile", models / f"{name}.pt2", "-t", TARGETS[0], "--no-delegate", "-o", tmp_path / "m.pte"])
    expected = FUNCTIONS[name](torch.from_numpy(X)).numpy()
    (official,) = et_runtime(tmp_path / "m.pte", [X])
    for result in (computed(run_carina, models, tmp_path / "m.pte", tmp_path), official):
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_quantized_all_on_the_npu(name, target, models, run_carina, tmp_path):
    options = ["-t", target, "--calibrate", models / "x.npy", "-o", tmp_path / "m.pte", "--json"]
    report = run_carina(["compile", models / f"{name}.pt2", *options, "--delegate-movement"]).json
    assert [node["runs_on"] for node in report["nodes"] if node["runs_on"] == "cpu"] == []
    assert len(report["delegates"]) == 1
    expected = FUNCTIONS[name](torch.from_numpy(X)).numpy()
    result = computed(run_carina, models, tmp_path / "m.pte", tmp_path)
    assert result.shape == expected.shape
    assert np.abs(result - expected).max() <= 0.04  # two steps


@pytest.mark.parametrize("name", MOVEMENT)
def test_movement_alone_stays_on_the_cpu_unless_asked(name, models, run_carina, tmp_path):
    report = run_carina(
        [
            "compile",
            models / f"{name}.pt2",
            "-t",
            TARGETS[0],
            "--calibrate",
            models / "x.npy",
            "-o",
            tmp_path / "m.pte",
            "--json",
        ]
    ).json
    assert report["delegates"] == []
    assert all("--delegate-all" in node["hint"] for node in report["nodes"] if node["runs_on"] == "cpu")


@pytest.mark.parametrize("function", [lambda x: torch.softmax(x, 0), lambda x: torch.nn.functional.softmin(x, 1)])
@pytest.mark.parametrize("target", ["vgf", TARGETS[0]])
def test_softmax_of_nothing_is_nothing(function, target, run_carina, tmp_path):
    nothing = torch.zeros(0, 21, 1)
    torch.export.save(torch.export.export(Of(function), (nothing,)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", nothing.numpy())
    options = ["--quantize", "none"] if target == "vgf" else ["--no-delegate"]
    run_carina(["compile", tmp_path / "m.pt2", "-t", target, *options, "-o", tmp_path / "m.pte"])
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    assert np.load(tmp_path / "out" / "output_0.npy").shape == function(nothing).shape
