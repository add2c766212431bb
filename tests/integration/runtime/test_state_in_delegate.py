"""The state that only the NPU reads and writes stays in the memory of its delegate: Carina's runtime plans no other memory for it, and
copies none of it but what the step has moved. The official ExecuTorch runtime, which copies it to the delegate and back, gives the same
results for the same file, step for step."""

import json
import os
import random
import re

import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
STEPS = 12


class Spotter(nn.Module):
    """A ring of 49 frames of 10 features."""

    def __init__(self, rows=49, features=10):
        super().__init__()
        self.register_buffer("ring", torch.zeros(1, rows, features))
        self.head = nn.Linear(rows * features, 12)

    def forward(self, x):
        self.ring.copy_(torch.cat([self.ring[:, 1:], x[:, None]], 1))
        return self.head(self.ring.flatten(1))


class Mixed(nn.Module):
    """Cells, rings, sums and states that swap, in a random order."""

    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)
        self.kinds = [draw.choice(["gru", "lstm", "ring", "sum", "swap"]) for _ in range(draw.randint(1, 3))]
        self.parts = nn.ModuleList()
        for i, kind in enumerate(self.kinds):
            self.parts.append(
                {"gru": lambda: nn.GRUCell(10, 10), "lstm": lambda: nn.LSTMCell(10, 10)}.get(kind, nn.Identity)()
            )
            shape = (1, draw.randint(2, 9), 10) if kind == "ring" else (1, 10)
            self.register_buffer(f"s{i}", torch.zeros(shape) if draw.random() < 0.5 else torch.rand(shape) - 0.5)
            if kind in ("lstm", "swap"):
                self.register_buffer(f"t{i}", torch.zeros(1, 10))
        self.head = nn.Linear(10, 4)

    def forward(self, x):
        for i, (kind, part) in enumerate(zip(self.kinds, self.parts, strict=True)):
            s = getattr(self, f"s{i}")
            if kind == "gru":
                s.copy_(part(x, s))
                x = x + s
            elif kind == "lstm":
                h, c = part(x, (s, getattr(self, f"t{i}")))
                s.copy_(h)
                getattr(self, f"t{i}").copy_(c)
                x = x - h
            elif kind == "ring":
                s.copy_(torch.cat([s[:, 1:], x[:, None]], 1))
                x = s.mean(1) + x
            elif kind == "sum":
                s.copy_(0.5 * s + x)
                x = x * 0.5 + s
            else:
                t = getattr(self, f"t{i}")
                old, other = s.clone(), t.clone()
                s.copy_(other + x)
                t.copy_(old)
                x = x + old
        return self.head(x)


OFFICIAL = """
import sys
import numpy as np, torch
import carina.executorch as npu
npu.register(timed=False)
import executorch.kernels.quantized
from executorch.runtime import Runtime
program, steps, output = sys.argv[1:]
data = open(program, "rb").read()
method = Runtime.get().load_program(data).load_method("forward")
outputs = [method.execute([torch.from_numpy(x)])[0].numpy().copy() for x in np.load(steps)]
np.save(output, np.stack(outputs))
"""


@pytest.fixture
def official(carina, forked_python, tmp_path):
    def run(program):
        library = carina.parents[1] / "lib" / "libcarina_executorch.so"
        if not library.exists():
            pytest.fail(f"{library} is missing: run `make build`")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CARINA_EXECUTORCH_LIBRARY": str(library)}
        files = [program, tmp_path / "steps.npy", tmp_path / "official.npy"]
        done = forked_python("torch", "executorch.exir").run(OFFICIAL, *files, env=environment, timeout=300)
        assert done.returncode == 0, done.stderr[-3000:]
        return np.load(tmp_path / "official.npy")

    return run


@pytest.fixture
def steps(run_carina, tmp_path):
    """steps(module, target) -> the outputs over the sequence, the report of the run, what the compilation says."""

    def steps_(module, target, *options):
        x = torch.randn(STEPS, 1, 10, generator=torch.Generator().manual_seed(1))
        torch.export.save(torch.export.export(module.eval().requires_grad_(False), (x[0],)), tmp_path / "m.pt2")
        np.save(tmp_path / "steps.npy", x.numpy())
        said = run_carina(
            ["compile", tmp_path / "m.pt2", "-t", target, "-q", "int8", "--calibrate", tmp_path / "steps.npy"]
            + ["-o", tmp_path / "m.pte"]
        ).stderr
        command = ["run", tmp_path / "m.pte", "--sequence", tmp_path / "steps.npy", "-o", tmp_path / "out"]
        done = run_carina([*command, "--json", *options])
        return np.load(tmp_path / "out" / "output_0.npy"), json.loads(done.stdout), said

    return steps_


def test_a_ring_takes_its_bytes_once(run_carina, steps, official, tmp_path):
    torch.manual_seed(0)
    got, report, said = steps(Spotter(), "ethos-u55-128")
    memory = report["memory"]
    assert memory["method_state"] == memory["method_state_in_delegate"] == 490
    listed = run_carina(["inspect", tmp_path / "m.pte"]).stdout
    planned = int(re.search(r"method name=forward .*planned_bytes=(\d+)", listed)[1])
    assert memory["method_allocator_planned"] <= planned - 490
    assert "980 to the delegate's memory and back in ExecuTorch's runtime; in Carina's 490" in said
    assert "490 bytes stay in the delegate's memory, which ExecuTorch's runtime plans apart" in said
    np.testing.assert_array_equal(got, official(tmp_path / "m.pte").reshape(got.shape))


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_give_what_the_official_runtime_gives_at_each_step(seed, steps, official, tmp_path):
    torch.manual_seed(seed)
    target = TARGETS[seed % len(TARGETS)]
    got, report, said = steps(Mixed(seed), target)
    np.testing.assert_array_equal(got, official(tmp_path / "m.pte").reshape(got.shape))
    memory = report["memory"]
    assert 0 <= memory["method_state_in_delegate"] <= memory["method_state"]
    assert "the program keeps state from run to run" in said


def test_state_in_a_delegate_is_reset_saved_and_restored(run_carina, steps, tmp_path):
    torch.manual_seed(3)
    whole, report, _ = steps(Spotter(6), "ethos-u85-256")
    assert report["memory"]["method_state_in_delegate"] == 60
    x = np.load(tmp_path / "steps.npy")
    program, out, after = tmp_path / "m.pte", tmp_path / "out", tmp_path / "after"
    np.save(tmp_path / "first.npy", x[:5])
    np.save(tmp_path / "rest.npy", x[5:])
    run_carina(["run", program, "--sequence", tmp_path / "first.npy", "-o", out, "--state-out", after])
    assert np.load(after / "ring.npy").shape == (1, 6, 10)
    run_carina(["run", program, "--sequence", tmp_path / "rest.npy", "-o", out, "--state-in", after])
    np.testing.assert_array_equal(np.load(out / "output_0.npy"), whole[5:])
    run_carina(["run", program, "--sequence", tmp_path / "steps.npy", "-o", out, "--reset-every", "5"])
    np.testing.assert_array_equal(np.load(out / "output_0.npy")[:5], whole[:5])
    np.save(tmp_path / "again.npy", x[5:10])
    run_carina(["run", program, "--sequence", tmp_path / "again.npy", "-o", tmp_path / "fresh"])
    np.testing.assert_array_equal(np.load(out / "output_0.npy")[5:10], np.load(tmp_path / "fresh" / "output_0.npy"))
