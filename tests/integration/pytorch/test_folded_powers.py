"""Powers and shifts of constants are folded. Without a delegate they use their kernels. The operators' page lists what the runtime has."""

import re

import numpy as np
import torch
from conftest import ROOT
from torch import nn


class Positions(nn.Module):
    """The sine position embeddings of EdgeNeXt and XCiT."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.l = nn.Linear(32, 32)

    def forward(self, x):
        d = 10000.0 ** (2 * torch.div(torch.arange(32.0), 2, rounding_mode="floor") / 32)
        p = torch.arange(1, 65.0)[:, None] / d
        return self.l(x) + torch.stack((p[:, 0::2].sin(), p[:, 1::2].cos()), 2).flatten(1)


class Shifted(nn.Module):
    def forward(self, x):
        return x + (torch.arange(8) >> 1) + (torch.arange(8) << 1)


def compiled(run_carina, folder, model, samples, *args):
    np.savez(folder / "c.npz", x=samples)
    torch.export.save(torch.export.export(model.eval(), (torch.tensor(samples[0]),), strict=False), folder / "m.pt2")
    calibrate = [] if "--no-delegate" in args else ["--calibrate", folder / "c.npz"]
    run_carina(["compile", folder / "m.pt2", "--target", "ethos-u55-128", *calibrate, *args, "-o", folder / "o.pte"])
    return run_carina(["accuracy", folder / "m.pt2", folder / "o.pte", "--data", folder / "c.npz", "--json"]).json[
        "sqnr_db"
    ]


def test_a_power_of_a_constant_is_folded(run_carina, tmp_path):
    assert compiled(run_carina, tmp_path, Positions(), np.random.RandomState(0).randn(6, 1, 64, 32).astype("f4")) > 35
    nodes = run_carina(["explain", tmp_path / "m.pt2", "--target", "ethos-u55-128", "--json"]).json["nodes"]
    assert not [node for node in nodes if "pow" in node["op"] and node["runs_on"] == "npu"]


def test_a_shift_of_a_constant_is_folded(run_carina, tmp_path):
    assert compiled(run_carina, tmp_path, Shifted(), np.random.RandomState(0).randn(6, 1, 8).astype("f4")) > 35


def test_a_power_runs_on_the_cpu(run_carina, tmp_path):
    class Power(nn.Module):
        def forward(self, x):
            return 3.0**x

    assert (
        compiled(run_carina, tmp_path, Power(), np.random.RandomState(0).randn(6, 1, 8).astype("f4"), "--no-delegate")
        > 90
    )


def test_the_tables_of_operators_and_kernels_agree(run_carina):
    """An operator names its out variant if the runtime has that kernel, unless a reason says why it is not used."""
    kernels = set(re.findall(r'"(aten::[\w.]+)"', (ROOT / "runtime" / "kernels" / "portable_kernels.def").read_text()))
    rows = re.findall(r"^\| aten\.(\w+)\.(\w+) \| (.*) \| (.*) \|$", run_carina(["ops"]).stdout, re.M)
    assert len(rows) > 400
    silent = []
    for name, overload, npu, cpu in rows:
        if match := re.match(r"aten::[\w.]+$", cpu):
            assert match[0] in kernels or f"{match[0]}" in kernels, f"{name}.{overload}: the runtime has no {cpu}"
        out = f"aten::{name}.out" if overload == "default" else f"aten::{name}.{overload}_out"
        if cpu == "-" and out in kernels and not npu.startswith("no: "):
            silent.append(f"{name}.{overload}")
    assert not silent
