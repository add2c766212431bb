"""Functions with steps are exact in int16x8. Such functions, and others without their own kernel, run in float on the CPU."""

import numpy as np
import pytest
import torch
from torch import nn


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *x):
        return self.function(*x)


def compiled(run_carina, folder, model, sample, args):
    torch.export.save(
        torch.export.export(model.eval(), tuple(torch.tensor(x) for x in sample), strict=False), folder / "m.pt2"
    )
    run_carina(["compile", folder / "m.pt2", *args, "-o", folder / "o.pte"])


def outputs(run_carina, folder, arrays):
    np.savez(folder / "in.npz", **{f"input_{i}": x for i, x in enumerate(arrays)})
    run_carina(["run", folder / "o.pte", "-i", folder / "in.npz", "-o", folder / "out"])
    return np.load(folder / "out" / "output_0.npy")


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc"])
def test_functions_that_jump_are_exact_in_16_bits(run_carina, tmp_path, name, target):
    x = np.random.RandomState(0).randn(8, 1, 64).astype("f4") * 3
    np.savez(tmp_path / "c.npz", x=x)
    function = getattr(torch, name)
    compiled(
        run_carina,
        tmp_path,
        Function(function),
        [x[0]],
        ["--target", target, "--quantize", "int16x8", "--calibrate", tmp_path / "c.npz"],
    )
    wanted, got = function(torch.tensor(x)).numpy(), outputs(run_carina, tmp_path, [x]).reshape(x.shape)
    step = np.abs(x).max() / 32767
    # If the input's rounding does not move it across a step, the only error is the output's rounding.
    near = np.abs(x * 2 - np.round(x * 2)) < 2 * step
    assert (~near).sum() > 400 and np.abs(got - wanted)[~near].max() < 2 * step


def special(count):
    return np.array([-1.5, -1, -0.999, -0.5, 0, 1e-3, 0.5, 0.9, 0.99999, 1, 1.5, np.nan] * count, "f4")


CPU = {
    "erfinv": (lambda x: torch.erfinv(x), [special(2)]),
    "fmax": (lambda x, y: torch.fmax(x, y), [special(12), np.repeat(special(1), 12)]),
    "fmin": (lambda x, y: torch.fmin(x, y), [special(12), np.repeat(special(1), 12)]),
    "conv3d": (nn.Conv3d(4, 6, 3, padding=1), [np.random.RandomState(0).randn(2, 4, 5, 6, 7).astype("f4")]),
    "conv3d_strides": (
        nn.Conv3d(4, 6, (2, 3, 1), stride=(2, 1, 3), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
        [np.random.RandomState(1).randn(1, 4, 7, 6, 5).astype("f4")],
    ),
}


@pytest.mark.parametrize("name", CPU)
def test_functions_run_in_floats_on_the_cpu(run_carina, tmp_path, name):
    function, arrays = CPU[name]
    model = function if isinstance(function, nn.Module) else Function(function)
    compiled(run_carina, tmp_path, model, arrays, ["--target", "ethos-u55-128", "--no-delegate"])
    with torch.no_grad():
        wanted = model(*(torch.tensor(x) for x in arrays)).numpy()
    np.testing.assert_allclose(outputs(run_carina, tmp_path, arrays), wanted, rtol=1e-4, atol=1e-5)
