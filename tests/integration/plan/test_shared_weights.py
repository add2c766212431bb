"""A layer that is called twice: both calls read the same weights, each in the form that its NPU operation has."""

import pytest
import torch
from torch import nn


class Twice(nn.Module):
    """One channel: the NPU may read neighboring pixels as channels, so that the kernel of a call has another form."""

    def __init__(self, kernel):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, kernel, bias=False)

    def forward(self, x):
        return self.layer(self.layer(x))


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("kernel", [(2, 3), (3, 2), (1, 4), (4, 1), (3, 3)])
def test_calls_of_a_layer_have_weights_of_their_form(run_carina, tmp_path, kernel, target):
    torch.manual_seed(0)
    x = torch.randn(1, 1, 9, 11)
    torch.export.save(torch.export.export(Twice(kernel).eval(), (x,)), tmp_path / "m.pt2")
    words = ["compile", tmp_path / "m.pt2", "-t", target, "--calibrate", "random", "--check", "full"]
    assert "checked: all operators" in run_carina([*words, "-o", tmp_path / "m.pte"]).stdout
