"""`carina accuracy` compares every output, and the bits of every delegate."""

import numpy as np
import pytest
import torch
from torch import nn


class TwoOutputs(nn.Module):
    def __init__(self, factor):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.factor = nn.Linear(8, 4), nn.Linear(8, 4), factor

    def forward(self, x):
        return self.a(x), self.b(x) * self.factor


def save(path, model, *inputs):
    torch.export.save(torch.export.export(model.eval(), inputs, strict=False), path)


@pytest.fixture(scope="module")
def two_outputs(run_carina, tmp_path_factory):
    """right.pt2, and wrong.pte, whose second output has the opposite sign."""
    folder = tmp_path_factory.mktemp("outputs")
    for name, factor in (("right", 1.0), ("wrong", -1.0)):
        save(folder / f"{name}.pt2", TwoOutputs(factor), torch.randn(1, 8))
    np.savez(folder / "c.npz", x=np.random.RandomState(0).randn(16, 1, 8).astype("f4"))
    args = ["--target", "ethos-u55-128", "--calibrate", folder / "c.npz", "--dump", folder / "d"]
    run_carina(["compile", folder / "wrong.pt2", *args, "-o", folder / "wrong.pte"])
    return folder


def test_a_wrong_second_output_is_seen(run_carina, two_outputs):
    args = ["accuracy", two_outputs / "right.pt2", two_outputs / "wrong.pte", "--data", two_outputs / "c.npz"]
    report = run_carina([*args, "--json"]).json
    first, second = report["outputs"]
    assert first["sqnr_db"] > 35 and second["sqnr_db"] == pytest.approx(-6, abs=0.5)
    assert report["sqnr_db"] == second["sqnr_db"], "the summary shows the worst"
    text = run_carina(args).stdout
    assert "the lowest of 2 outputs" in text and f"{second['name']}: -6.0 dB" in text and f"{first['name']}: " in text


def test_the_page_shows_each_output(run_carina, two_outputs, tmp_path):
    args = ["accuracy", two_outputs / "right.pt2", two_outputs / "wrong.pte", "--data", two_outputs / "c.npz"]
    run_carina([*args, "--report", tmp_path / "page.html"])
    assert '"outputs":[{"name":' in (tmp_path / "page.html").read_text()


def test_bits_of_all_outputs_are_compared(run_carina, two_outputs):
    args = ["accuracy", two_outputs / "wrong.pt2", two_outputs / "wrong.pte", "--data", two_outputs / "c.npz", "--dump", two_outputs / "d"]
    report = run_carina([*args, "--json"]).json
    assert report["npu_equals_integer"] == report["samples"] == 16
    assert all(output["sqnr_db"] > 35 for output in report["outputs"])


def test_a_program_with_fewer_outputs_is_refused(run_carina, two_outputs, tmp_path):
    save(tmp_path / "one.pt2", nn.Linear(8, 4), torch.randn(1, 8))
    run_carina(["compile", tmp_path / "one.pt2", "--target", "ethos-u55-128", "--calibrate", two_outputs / "c.npz", "-o", tmp_path / "one.pte"])
    done = run_carina(["accuracy", two_outputs / "right.pt2", tmp_path / "one.pte", "--data", two_outputs / "c.npz"], expect=1)
    assert "not as many outputs" in done.stderr
