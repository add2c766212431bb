"""Products of 16-bit values have sums of 48 bits. TOSA rescales them and does nothing else with them: what moves elements stays behind the RESCALE."""

import numpy as np
import pytest
import torch
from torch import nn


class Moved(nn.Module):
    """A product whose result is added to one with other axes."""

    def __init__(self, axes):
        super().__init__()
        self.layer, self.axes = nn.Linear(4, 4), axes

    def forward(self, x):
        product = torch.matmul(x, x.transpose(-1, -2))
        return torch.relu(product + self.layer(product.transpose(*self.axes)).transpose(*self.axes))


@pytest.mark.parametrize(("batch", "axes"), [(1, (0, 1)), (1, (1, 2)), (4, (0, 1)), (4, (0, 2))])
def test_axes_move_behind_the_rescale(run_carina, reference_model, tmp_path, batch, axes):
    torch.manual_seed(1)
    samples = torch.randn(4, batch, 4, 4)
    torch.export.save(torch.export.export(Moved(axes).eval(), (samples[0],)), tmp_path / "m.pt2")
    np.savez(tmp_path / "c.npz", x=samples.numpy())
    words = ["tosa", tmp_path / "m.pt2", "-q", "int16x8", "--io", "int16", "--calibrate", tmp_path / "c.npz"]
    run_carina([*words, "-o", tmp_path / "m.tosa"])
    x = np.random.default_rng(2).integers(-9000, 9000, samples[0].shape).astype(np.int16)
    np.save(tmp_path / "x.npy", x)
    run_carina(["interpret", tmp_path / "m.tosa", "-i", tmp_path / "x.npy", "-o", tmp_path / "out"])
    got = np.load(next((tmp_path / "out").glob("*.npy")))
    assert np.array_equal(got, reference_model(tmp_path / "m.tosa", [x])[0])
    for target in ("ethos-u55-128", "ethos-u85-256", "vgf"):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", "int16x8", "--calibrate", tmp_path / "c.npz"]
        run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / target])
        for dumped in (tmp_path / target).glob("*.tosa"):
            run_carina(["tosa", dumped, "--verify"])
