"""Messages name the cause: the weights, a layer without statistics, a bracket, a type that NumPy lacks."""

import numpy as np
import pytest
import torch
from torch import nn

TARGET = "ethos-u55-128"


def rejected_or_warned(run_carina, folder, model, example, samples, expect, decompose=False):
    program = torch.export.export(model.eval(), example, strict=False)
    torch.export.save(program.run_decompositions() if decompose else program, folder / "m.pt2")
    np.savez(folder / "c.npz", x=samples)
    return run_carina(
        ["compile", folder / "m.pt2", "--target", TARGET, "--calibrate", folder / "c.npz", "-o", folder / "o.pte"],
        expect=expect,
    ).stderr


def network(value):
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    model[0].weight.data[0, 0] = value
    return model


def test_weights_that_are_nan_are_named(run_carina, tmp_path):
    said = rejected_or_warned(
        run_carina, tmp_path, network(float("nan")), (torch.randn(1, 8),), np.random.randn(8, 1, 8).astype("f4"), 1
    )
    assert "linear" in said and "weights are not a number (NaN)" in said and "samples" not in said


def test_weights_so_large_that_values_are_infinite_are_warned_of(run_carina, tmp_path):
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 4))
    model[0].weight.data.fill_(3e38)
    said = rejected_or_warned(run_carina, tmp_path, model, (torch.ones(1, 8),), np.ones((8, 1, 8), "f4") * 2, None)
    assert "computes infinities here" in said and "linear" in said


def test_a_batch_norm_in_training_mode_is_named(run_carina, tmp_path):
    class Normalized(nn.Module):
        def __init__(self):
            super().__init__()
            self.c, self.n = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

        def forward(self, x):
            n = self.n
            return nn.functional.batch_norm(
                self.c(x), n.running_mean.clone(), n.running_var.clone(), n.weight, n.bias, training=True
            )

    said = rejected_or_warned(
        run_carina, tmp_path, Normalized(), (torch.randn(2, 3, 9, 9),), np.random.randn(4, 2, 3, 9, 9).astype("f4"), 1
    )
    assert "batch_norm is in training mode" in said and "model.eval()" in said


def test_no_mask_is_blamed_where_there_is_none_and_nothing_is_said_twice(run_carina, tmp_path):
    class Quantile(nn.Module):
        def forward(self, x):
            return x.quantile(0.5, dim=-1)

    said = rejected_or_warned(
        run_carina, tmp_path, Quantile(), (torch.randn(3, 4),), np.random.randn(6, 3, 4).astype("f4"), 0, decompose=True
    )
    assert "mask" not in said and said.count("takes nearly all steps") <= 1


@pytest.mark.parametrize(
    "function", [torch.sign, lambda x: torch.heaviside(x, torch.tensor(0.0))], ids=["sign", "heaviside"]
)
def test_functions_of_two_values_are_not_warned_of(run_carina, tmp_path, function):
    class Jump(nn.Module):
        def forward(self, x):
            return function(x)

    samples = np.random.RandomState(0).randn(6, 3, 4).astype("f4")
    said = rejected_or_warned(run_carina, tmp_path, Jump(), (torch.randn(3, 4),), samples, 0, decompose=True)
    assert "takes nearly all steps" not in said


def test_a_bracket_that_is_not_closed(run_carina, tmp_path):
    (tmp_path / "b.ini").write_text("[System_Config.X")
    args = [
        "compile",
        tmp_path / "b.ini",
        "--target",
        TARGET,
        "--config",
        tmp_path / "b.ini",
        "--system-config",
        "X",
        "-o",
        tmp_path / "o.pte",
    ]
    said = run_carina(["targets", "--config", tmp_path / "b.ini"], expect=1).stderr
    assert args and "not closed" in said and "too long" not in said


def test_bf16_models_get_the_advice_that_helps(run_carina, tmp_path):
    said = rejected_or_warned(
        run_carina,
        tmp_path,
        nn.Linear(8, 4).to(torch.bfloat16),
        (torch.randn(1, 8, dtype=torch.bfloat16),),
        np.zeros((8, 1, 8), "f4"),
        1,
    )
    assert "model.float()" in said


def test_many_samples_are_counted(run_carina, tmp_path):
    said = rejected_or_warned(
        run_carina, tmp_path, nn.Linear(2, 2), (torch.randn(1, 2),), np.random.randn(10_000, 1, 2).astype("f4"), 0
    )
    assert "all 10000 samples" in said


@pytest.mark.parametrize("name", ["extra", "other"])
def test_arrays_of_calibration_data_that_nobody_reads_are_named(run_carina, tmp_path, name):
    torch.export.save(torch.export.export(nn.Linear(8, 4).eval(), (torch.randn(1, 8),)), tmp_path / "m.pt2")
    np.savez(
        tmp_path / "c.npz", **{"input": np.random.randn(4, 1, 8).astype("f4"), "labels": np.zeros(4), name: np.zeros(3)}
    )
    said = run_carina(
        ["compile", tmp_path / "m.pt2", "--target", TARGET, "--calibrate", tmp_path / "c.npz", "-o", tmp_path / "o.pte"]
    ).stderr
    assert f"{name}: not an input of the model, and not read" in said and "labels:" not in said


class LogOfProduct(nn.Module):
    """run_decompositions() writes a choice of NaN where y is NaN, which no sample takes."""

    def forward(self, x):
        return torch.xlogy(x, x.abs() + 0.1)


def test_a_nan_that_no_sample_chooses_is_no_error(run_carina, tmp_path):
    samples = np.random.RandomState(0).randn(6, 3, 4).astype("f4")
    rejected_or_warned(run_carina, tmp_path, LogOfProduct(), (torch.randn(3, 4),), samples, 0, decompose=True)
    report = run_carina(
        ["accuracy", tmp_path / "m.pt2", tmp_path / "o.pte", "--data", tmp_path / "c.npz", "--json"]
    ).json
    assert report["sqnr_db"] > 30


def test_a_nan_that_is_added_is_an_error(run_carina, tmp_path):
    class Added(nn.Module):
        def forward(self, x):
            return x + torch.tensor([1.0, float("nan")])

    said = rejected_or_warned(
        run_carina, tmp_path, Added(), (torch.randn(3, 2),), np.random.randn(6, 3, 2).astype("f4"), 1
    )
    assert "not a number (NaN)" in said
