"""Nodes that partitioning delegates and a later stage rejects. They run on the CPU, the report has the reason, and the rest compiles."""

import numpy as np
import pytest

CHANNELS = 8192  # times 3 x 3 taps: sums of int8 products overflow 32 bits


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv2d = torch.nn.Conv2d(CHANNELS, 1, 3)
            with torch.no_grad():
                self.conv2d.weight.fill_(1.0)

        def forward(self, x):
            return torch.relu(self.conv2d(torch.relu(x)) - 1.0)

    folder = tmp_path_factory.mktemp("fallback")
    eager = Model().eval()
    x = torch.rand(1, CHANNELS, 3, 3, generator=torch.Generator().manual_seed(1))
    torch.export.save(torch.export.export(eager, (x,), strict=True), folder / "model.pt2")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "y.npy", eager(x).detach().numpy())
    return folder


def test_what_the_npu_compiler_rejects_runs_on_the_cpu(model, run_carina, tmp_path):
    program = tmp_path / "model.pte"
    report = run_carina(
        [
            "compile",
            model / "model.pt2",
            "--target",
            "ethos-u55-128",
            "--quantize",
            "int8",
            "--calibrate",
            model / "x.npy",
            "-o",
            program,
            "--json",
        ]
    ).json
    nodes = {node["name"]: node for node in report["nodes"]}
    assert nodes["conv2d"]["runs_on"] == "cpu", nodes["conv2d"]
    assert "the accumulators could overflow" in nodes["conv2d"]["reason"], nodes["conv2d"]
    assert nodes["relu"]["runs_on"] == "npu", nodes["relu"]
    run_carina(["run", program, "-i", model / "x.npy", "-o", tmp_path / "out"])
    expected = np.load(model / "y.npy")
    assert np.abs(np.load(tmp_path / "out" / "output_0.npy") - expected).max() <= 0.02 * np.abs(expected).max()


def put(x, at):
    import torch

    return torch.index_put(x, (at,), torch.ones(9, 4)) @ torch.ones(4, 2)


def select(x, at):
    import torch

    return (x * 2 + 1).matmul(torch.ones(4, 2)).index_select(0, at)


@pytest.mark.parametrize("function", [put, select])
def test_integers_stay_on_the_cpu_where_the_specification_has_floats_alone(
    function, run_carina, reference_model, tmp_path
):
    """int32 indices are computed with PRO-INT. The reference model accepts the TOSA file of the remaining delegate."""
    import torch
    from function_as_module import Fn

    x = torch.rand(12, 4, generator=torch.Generator().manual_seed(1))
    at = torch.tensor([0, 4, 2, 7, 11, 5, 1, 9, 3], dtype=torch.int32)  # up to 8 places would be selections
    torch.export.save(torch.export.export(Fn(function), (x, at)), tmp_path / "m.pt2")
    args = ["compile", tmp_path / "m.pt2", "--target", "TOSA-1.0+FP", "--delegate-all", "--dump", tmp_path / "dump"]
    nodes = {node["name"]: node for node in run_carina([*args, "-o", tmp_path / "m.pte", "--json"]).json["nodes"]}
    (kept,) = (node for node in nodes.values() if node["runs_on"] == "cpu")
    assert kept["name"] in ("index_put", "index_select") and "needs PRO-INT" in kept["reason"]
    for name, array in (("x", x), ("at", at)):
        np.save(tmp_path / f"{name}.npy", array.numpy())
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "x.npy", "-i", tmp_path / "at.npy", "-o", tmp_path / "out"])
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), function(x, at).numpy(), rtol=1e-6)
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    given = torch.index_put(x, (at,), torch.ones(9, 4)) if function is put else x
    computed = reference_model(tosa, [given.numpy()])[0]
    wanted = function(x, at) if function is put else function(x, torch.arange(12))
    np.testing.assert_allclose(computed, wanted.numpy(), rtol=1e-6)
