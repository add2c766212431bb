"""Operators that PyTorch composes of others are rejected with advice, and following the advice works."""

import re

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn
from torch.nn.utils import parametrizations

TARGET = "ethos-u85-256"
FUNCTIONS = {
    "clip": lambda x: x.clip(-1, 1),
    "outer": lambda x: torch.outer(x[0], x[1]),
    "diff": lambda x: torch.diff(x),
    "inner": lambda x: torch.inner(x, x),
    "tensordot": lambda x: torch.tensordot(x, x, dims=([1], [1])),
    "linalg_cross": lambda x: torch.linalg.cross(x[:, :3], x[:, 1:]),
    "dstack": lambda x: torch.dstack([x, x]),
    "column_stack": lambda x: torch.column_stack([x, x]),
    "block_diag": lambda x: torch.block_diag(x, x),
    "kron": lambda x: torch.kron(x, torch.ones(2, 2)),
    "count_nonzero": lambda x: torch.count_nonzero(x > 0, -1),
    "atleast_3d": lambda x: torch.atleast_3d(x),
    "linalg_matrix_norm": lambda x: torch.linalg.matrix_norm(x),
    "addr": lambda x: torch.addr(x, x[:, 0], x[0]),
    "trapezoid": lambda x: torch.trapezoid(x),
    "diag_embed": lambda x: torch.diag_embed(x),
    "msort": lambda x: torch.msort(x),
    "special_entr": lambda x: torch.special.entr(x.abs()),
    "xlogy": lambda x: torch.xlogy(x.abs(), x.abs() + 0.1),
    "kl_div": lambda x: torch.nn.functional.kl_div(x, x.softmax(-1)),
    "mse_loss": lambda x: torch.nn.functional.mse_loss(x, x + 1),
}


class Function(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.function = FUNCTIONS[name]

    def forward(self, x):
        return self.function(x)


def exported(model):
    return torch.export.export(model.eval(), (torch.randn(3, 4),), strict=False)


def compiled(run_carina, folder, program, expect):
    np.savez(folder / "c.npz", x=np.random.RandomState(0).randn(6, 3, 4).astype("f4"))
    torch.export.save(program, folder / "m.pt2")
    return run_carina(
        ["compile", folder / "m.pt2", "--target", TARGET, "--calibrate", folder / "c.npz", "-o", folder / "o.pte"],
        expect=expect,
    )


def check_advice(run_carina, folder, program):
    rejected = compiled(run_carina, folder, program, 1)
    assert "run_decompositions()" in rejected.stderr and "replace it" not in rejected.stderr
    compiled(run_carina, folder, program.run_decompositions(), 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_advice_for_a_composite_helps(run_carina, tmp_path, name):
    check_advice(run_carina, tmp_path, exported(Function(name)))


def test_the_advice_for_weight_norm_helps(run_carina, tmp_path):
    check_advice(run_carina, tmp_path, exported(parametrizations.weight_norm(nn.Linear(4, 6))))


@pytest.mark.parametrize(
    "function",
    [lambda x: torch.linalg.inv(x[:, :3]), torch.signbit, lambda x: torch.vander(x[0])],
    ids=["inv", "signbit", "vander"],
)
def test_other_operators_get_other_advice(run_carina, tmp_path, function):
    class Other(nn.Module):
        def forward(self, x):
            return function(x)

    rejected = compiled(run_carina, tmp_path, exported(Other()), 1)
    assert "run_decompositions()" not in rejected.stderr and "supported operators" in rejected.stderr


def is_decomposed(name, table):
    packet = getattr(torch.ops.aten, name)
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    return any(
        op in table or torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")
        for op in overloads
    )


def test_the_list_is_of_pytorch_and_in_order():
    names = re.findall(r'"(\w+)",', (ROOT / "facts" / "aten_composites.h").read_text().split("to_array")[1])
    table = torch.export.default_decompositions()
    assert names == sorted(names) and len(names) > 100
    assert not [name for name in names if not hasattr(torch.ops.aten, name) or not is_decomposed(name, table)]
