"""16-bit values reach beyond what calibration saw, also those that tables read: samples that are larger keep their decibels."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


FUNCTIONS = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "hardswish": functional.hardswish,
    "elu": functional.elu,
    "swish": lambda x: x * torch.sigmoid(x),
    "glu": lambda x: functional.glu(x, -1),
    "softplus": functional.softplus,
    "square": lambda x: x**2,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sine": lambda x: torch.sin(4 * x),
    "cosine": lambda x: torch.cos(x * x.flip(-1)),
    "gaussian": lambda x: torch.exp(-x.square()),
    "log_softmax": lambda x: functional.log_softmax(x, -1),
    "log": lambda x: torch.log(x.square().mean(-1) + 0.2),
    "log1p": lambda x: torch.log1p(x.abs()),
    "root": lambda x: torch.sqrt(x.square().sum(-1) + 0.5),
    "hypot": lambda x: torch.hypot(x, x.flip(-1)),
    "rms_norm": lambda x: functional.rms_norm(x, [12]),
}
# What is twice the range is not twice the input.
STEEP = ("cosine", "exp", "square", "log", "root", "hypot", "rms_norm")
CALIBRATED = 8


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_larger_samples_keep_their_decibels(run_carina, tmp_path, name, target):
    model, rng = Applied(FUNCTIONS[name]).eval(), np.random.default_rng(3)
    x = rng.uniform(-2, 2, (CALIBRATED, 4, 12)).astype(np.float32)
    torch.export.save(torch.export.export(model, (torch.from_numpy(x[:1]),)), tmp_path / "m.pt2")
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "larger.npy", x * (1.3 if name in STEEP else 1.5))
    run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "-t",
            target,
            "-q",
            "int16x8",
            "--calibrate",
            tmp_path / "x.npy",
            "-o",
            tmp_path / "m.pte",
        ]
    )
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "larger.npy", "-o", tmp_path / "out"])
    with torch.no_grad():
        wanted = model(torch.from_numpy(np.load(tmp_path / "larger.npy"))).numpy().astype(np.float64)
    (file,) = (tmp_path / "out").glob("*.npy")
    noise = (np.load(file).reshape(wanted.shape) - wanted) ** 2
    # The first segment of the root's table reaches from 0 to where it is 1/11 of its largest result.
    least = 50 if name == "hypot" else 55
    assert 10 * np.log10((wanted**2).sum() / noise.sum()) > least
