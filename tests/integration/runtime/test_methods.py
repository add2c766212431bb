"""A program with several methods. Each runs by its name, in Carina's and in the official runtime, and the report lists all methods and
their planned memory."""

import numpy as np
import pytest
import torch
from executorch.exir import to_edge
from executorch.runtime import Runtime
from torch import nn

INPUTS = {"forward": (2, 5), "encode": (3, 4, 6)}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """(path, {method: module})"""
    torch.manual_seed(5)
    modules = {
        "forward": nn.Sequential(nn.Linear(5, 7), nn.ReLU()).eval(),
        "encode": nn.Sequential(nn.Flatten(), nn.LayerNorm(24)).eval(),
    }
    edge = to_edge({name: torch.export.export(module, (torch.ones(INPUTS[name]),)) for name, module in modules.items()})
    path = tmp_path_factory.mktemp("methods") / "model.pte"
    edge.to_executorch().save(str(path))
    return path, modules


@pytest.mark.parametrize("name", INPUTS)
def test_each_method_gives_what_it_gives_in_the_official_runtime(program, run_carina, tmp_path, name):
    path, modules = program
    x = torch.randn(INPUTS[name])
    np.save(tmp_path / "x.npy", x.numpy())
    run_carina(["run", path, "--method", name, "-i", tmp_path / "x.npy", "-o", tmp_path])
    got = np.load(tmp_path / "output_0.npy")
    (official,) = Runtime.get().load_program(str(path)).load_method(name).execute([x])
    with torch.no_grad():
        for wanted in (official, modules[name](x)):
            np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_the_report_names_all_methods_and_what_they_plan(program, run_carina):
    path, _ = program
    reports = {name: run_carina(["run", path, "--method", name, "--json"]).json for name in INPUTS}
    planned = [report["memory"]["method_allocator_planned"] for report in reports.values()]
    for name, report in reports.items():
        assert report["method"] == name and sorted(report["methods"]) == sorted(INPUTS)
        assert report["memory"]["all_methods_planned_apart"] == sum(planned)
        assert report["memory"]["all_methods_planned_shared"] == max(planned)
    assert "method: forward (of " in run_carina(["run", path]).stdout


def test_an_unknown_method_is_rejected_with_the_names_of_all(program, run_carina):
    says = run_carina(["run", program[0], "--method", "decode"], expect=1).stderr
    assert "no method of this name" in says and all(name in says for name in INPUTS) and "decode" in says


def test_report_of_one_method_lists_no_methods(run_carina, tmp_path):
    to_edge(torch.export.export(nn.ReLU(), (torch.ones(3),))).to_executorch().save(str(tmp_path / "model.pte"))
    report = run_carina(["run", tmp_path / "model.pte", "--json"]).json
    assert "methods" not in report and "all_methods_planned_shared" not in report["memory"]
