"""Norms of rows whose sizes are far apart, as those of a transformer's tokens: quantized results beside eager PyTorch, row by row."""

import numpy as np
import pytest
import torch


class Root(torch.nn.Module):
    """An RMS norm as language models write it."""

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


NORMS = {
    "layer": lambda: torch.nn.LayerNorm(32),
    "rms": lambda: torch.nn.RMSNorm(32),
    "by_hand": Root,
    "group": lambda: torch.nn.GroupNorm(8, 8),  # [1,8,32]: each row is a group
}
SIZES = torch.logspace(-2, 0, 8)[:, None]


def sqnr_db(wanted, got):
    return 10 * np.log10(np.square(wanted).sum() / np.square(wanted - got).sum())


def model_of(norm, sizes, folder):
    """Writes m.pt2 and x.npy, 16 samples [1,8,32]. Returns the results of eager PyTorch [16,8,32]."""
    torch.manual_seed(0)
    model, x = NORMS[norm]().eval(), torch.randn(16, 1, 8, 32) * sizes
    torch.export.save(torch.export.export(model, (x[0],)), folder / "m.pt2")
    np.save(folder / "x.npy", x[:, 0].numpy())
    return torch.stack([model(sample)[0] for sample in x]).detach().numpy()


def by_row(run_carina, folder, scheme, target, wanted):
    """The SQNR of each of the 8 rows, and what compile prints to stderr."""
    args = ["compile", folder / "m.pt2", "-t", target, "-q", scheme, "--calibrate", folder / "x.npy"]
    notes = run_carina([*args, "-o", folder / "m.pte"]).stderr
    run_carina(["run", folder / "m.pte", "-i", folder / "x.npy", "-o", folder / "out"])
    got = np.load(folder / "out" / "output_0.npy").reshape(wanted.shape)
    return [sqnr_db(wanted[:, row], got[:, row]) for row in range(wanted.shape[1])], notes


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
@pytest.mark.parametrize("norm", NORMS)
def test_small_rows_keep_their_precision(run_carina, tmp_path, norm, target):
    """The smallest rows are 1/100 of the largest, 100 to 300 steps of int16. Without the division their results were noise, of -10 dB."""
    wanted = model_of(norm, SIZES, tmp_path)
    rows, notes = by_row(run_carina, tmp_path, "int16x8", target, wanted)
    assert min(rows) > 38 and "times as large as others" in notes, rows


@pytest.mark.parametrize("norm", NORMS)
def test_rows_of_one_size_are_left_alone(run_carina, tmp_path, norm):
    wanted = model_of(norm, torch.ones(8, 1), tmp_path)
    rows, notes = by_row(run_carina, tmp_path, "int16x8", "ethos-u55-128", wanted)
    assert min(rows) > 55 and "times as large" not in notes, rows


def test_eight_bits_gain_too(run_carina, tmp_path):
    """A row of 1/100 has one step of int8; those of a tenth and more are what can be kept."""
    wanted = model_of("layer", SIZES, tmp_path)
    rows, _ = by_row(run_carina, tmp_path, "int8", "ethos-u55-128", wanted)
    assert min(rows[4:]) > 15 and min(rows[6:]) > 25, rows
