"""If int8 has no step for a value, the node stays float or the compiler warns. No number is silently wrong. Checked against eager PyTorch."""

import numpy as np
import pytest
import torch
from function_as_module import Fn

TARGET = ["--target", "ethos-u55-128", "--quantize", "int8"]


def compiled(run_carina, folder, function, *inputs):
    """(eager's result, the program's result, the compiler's messages)."""
    module = Fn(function).eval()
    torch.export.save(torch.export.export(module, inputs), folder / "m.pt2")
    names = [n.name for n in torch.export.load(folder / "m.pt2").graph.nodes if n.op == "placeholder"]
    np.savez(folder / "cal.npz", **{name: x.numpy() for name, x in zip(names, inputs, strict=True)})
    said = run_carina(
        ["compile", folder / "m.pt2", *TARGET, "--calibrate", folder / "cal.npz", "-o", folder / "m.pte"]
    ).stderr
    args = ["run", folder / "m.pte", "-o", folder / "out"]
    for i, x in enumerate(inputs):
        np.save(folder / f"x{i}.npy", x.numpy())
        args += ["-i", folder / f"x{i}.npy"]
    run_carina(args)
    return module(*inputs).numpy(), np.load(folder / "out" / "output_0.npy"), said


@pytest.mark.parametrize("function", [torch.tan, torch.sin, torch.cos])
def test_a_function_of_many_periods_stays_float(function, run_carina, tmp_path):
    wanted, got, said = compiled(run_carina, tmp_path, function, torch.linspace(-1e4, 1e4, 64))
    assert "stays float" in said
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


def test_a_division_that_the_npu_does_not_have_is_one_of_floats(run_carina, tmp_path):
    generator = torch.Generator().manual_seed(1)
    x, y = torch.rand((5, 40), generator=generator) * 200, torch.rand((5, 40), generator=generator).clamp(1e-5)
    wanted, got, _ = compiled(run_carina, tmp_path, torch.floor_divide, x, y)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


HIDDEN = [-1e4, -1e9, torch.finfo(torch.float16).min, torch.finfo(torch.float32).min, float("-inf")]
MASKED = {
    "added": lambda x, m: torch.softmax(x + m, -1),
    "where": lambda x, m: torch.softmax(torch.where(m < 0, m, x), -1),
    "built": lambda x, m: torch.softmax(x + torch.where(m < 0, HIDDEN[1], 0.0), -1),
    "viewed": lambda x, m: torch.softmax((x[:, None] + m[:, None]).squeeze(1), -1),
}


@pytest.mark.parametrize("form", MASKED)
@pytest.mark.parametrize("hidden", HIDDEN)
def test_a_mask_of_large_numbers_takes_no_steps(hidden, form, run_carina, tmp_path):
    x, mask = 3 * torch.randn(4, 16, generator=torch.Generator().manual_seed(2)), torch.zeros(4, 16)
    mask[:, 12:] = hidden
    wanted, got, said = compiled(run_carina, tmp_path, MASKED[form], x, mask)
    assert "takes nearly all steps" not in said
    assert 10 * np.log10((wanted**2).sum() / ((wanted - got) ** 2).sum()) > 30
    assert not got[:, 12:].any()


def test_a_large_number_that_other_nodes_read_is_warned_about(run_carina, tmp_path):
    x, mask = torch.randn(4, 16, generator=torch.Generator().manual_seed(2)), torch.zeros(4, 16)
    mask[:, 12:] = -1e9
    *_, said = compiled(run_carina, tmp_path, lambda x, m: torch.softmax(x + m, -1) + (x + m) * 1e-9, x, mask)
    assert "takes nearly all steps" in said and "-inf" in said


def test_fp64_between_is_computed(run_carina, tmp_path):
    x = torch.randn(4, 16, generator=torch.Generator().manual_seed(3)) * 20
    wanted, got, _ = compiled(run_carina, tmp_path, lambda x: torch.round(x.double()).float(), x)
    assert np.abs(got - wanted).max() <= 1


def test_the_norm_of_an_empty_row_takes_no_steps_from_the_others(run_carina, tmp_path):
    rows = torch.randn(16, 32, generator=torch.Generator().manual_seed(4))
    rows[3] = 0  # its norm is 0, which normalize() replaces with 1e-12
    wanted, got, said = compiled(run_carina, tmp_path, lambda x: torch.nn.functional.normalize(x, dim=-1), rows)
    assert "divide by nearly 0" in said
    assert 10 * np.log10((wanted**2).sum() / ((wanted - got) ** 2).sum()) > 30
    assert not got[3].any()
