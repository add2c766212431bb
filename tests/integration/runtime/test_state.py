"""Models that keep state: a buffer that a run overwrites is the next run's input. Step for step,
- the official ExecuTorch runtime and `carina run` give the same for ExecuTorch's programs, with names and initial values of the state or
  without;
- both give what eager PyTorch gives for Carina's programs, from both forms of a .pt2.
"""

import copy
import warnings

import numpy as np
import pytest
import torch
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from executorch.runtime import Runtime
from torch import nn

STEPS = 7


class Gru(nn.Module):
    """The state is read by a cell, and by the output."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(6, 5)
        self.register_buffer("h", torch.zeros(1, 5))

    def forward(self, x):
        self.h.copy_(self.cell(x, self.h))
        return self.h * 2


class Lstm(nn.Module):
    """Two states, one of them in a module inside, with initial values."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.cell = nn.LSTMCell(6, 5)
        self.inner.register_buffer("h", torch.linspace(-1, 1, 5)[None])
        self.register_buffer("c", torch.linspace(1, 2, 5)[None])

    def forward(self, x):
        h, c = self.cell(x, (self.inner.h, self.c))
        self.inner.h.copy_(h)
        self.c.copy_(c)
        return h


class Ring(nn.Module):
    """The oldest row goes, the new one comes; written through views of the buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(1, 4, 6))
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        self.ring[:, :-1] = self.ring[:, 1:].clone()
        self.ring[:, -1] = x
        return self.head(self.ring.flatten(1))


class Cat(Ring):
    """The same with cat."""

    def forward(self, x):
        self.ring.copy_(torch.cat([self.ring[:, 1:], x[:, None]], 1))
        return self.head(self.ring.flatten(1))


class Counter(nn.Module):
    """An integer that starts at 5, and a flag."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.tensor([5]))
        self.register_buffer("started", torch.tensor(False))

    def forward(self, x):
        first = torch.where(self.started, x, x * 10)
        self.n.add_(1)
        self.started.copy_(torch.ones((), dtype=torch.bool))
        return first + self.n


class Swap(nn.Module):
    """Each buffer becomes the other one, so that no order of write-backs is right without a copy."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(1, 6))
        self.register_buffer("b", torch.zeros(1, 6))

    def forward(self, x):
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        return x + self.a, x * b


class Before(nn.Module):
    """The result is the state before the write."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.full((1, 6), 3.0))

    def forward(self, x):
        before = self.last.clone()
        self.last.copy_(x)
        return before


MODULES = {module.__name__: module for module in (Gru, Lstm, Ring, Cat, Counter, Swap, Before)}


def made(name):
    torch.manual_seed(3)
    return MODULES[name]().eval().requires_grad_(False)


def exported(module):
    return torch.export.export(copy.deepcopy(module), (torch.ones(1, 6),))


def sequence():
    return torch.from_numpy(np.random.default_rng(4).standard_normal((STEPS, 1, 6)).astype(np.float32))


def outputs_of(run, steps):
    """The outputs of run(x) for each x, stacked."""
    got = []
    for x in steps:
        outputs = run(x)
        got.append([y.numpy().copy() for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])])
    return [np.stack(column) for column in zip(*got, strict=True)]


def eager(name):
    return outputs_of(made(name), sequence())


def official(path, steps):
    method = Runtime.get().load_program(path.read_bytes()).load_method("forward")
    return outputs_of(lambda x: method.execute([x.contiguous()]), steps)


@pytest.fixture
def run_steps(run_carina, tmp_path):
    def run(program, steps, *options):
        np.save(tmp_path / "steps.npy", steps.numpy())
        out = tmp_path / "outputs"
        run_carina(["run", program, "--sequence", tmp_path / "steps.npy", "-o", out, *options])
        return [np.load(file) for file in sorted(out.glob("output_*.npy"))]

    return run


def executorch_program(name, path, **config):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = to_edge(exported(made(name))).to_executorch(ExecutorchBackendConfig(**config))
    path.write_bytes(program.buffer)
    return path


def placeholders(name):
    return [f"b_{key.replace('.', '_')}" for key, _ in made(name).named_buffers()]


FORMS = {
    "plain": lambda name: {},
    "named": lambda name: {"emit_mutable_buffer_names": True},
    "initial": lambda name: {
        "emit_mutable_buffer_names": True,
        "passes": [InitializedMutableBufferPass(placeholders(name))],
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MODULES)
def test_a_program_of_executorch_gives_what_the_official_runtime_gives(name, form, run_steps, tmp_path):
    program = executorch_program(name, tmp_path / "model.pte", **FORMS[form](name))
    got = run_steps(program, sequence())
    for mine, theirs in zip(got, official(program, sequence()), strict=True):
        np.testing.assert_allclose(mine, theirs.reshape(mine.shape), rtol=1e-5, atol=1e-6)


def test_state_is_listed_saved_and_restored(run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte", **FORMS["initial"]("Lstm"))
    steps, after = sequence(), tmp_path / "after"
    whole = run_steps(program, steps)
    first = run_steps(program, steps[:3], "--state-out", after)
    assert sorted(file.name for file in after.iterdir()) == ["c.npy", "inner.h.npy"]
    np.testing.assert_array_equal(np.load(after / "inner.h.npy"), first[0][-1])
    rest = run_steps(program, steps[3:], "--state-in", after)
    np.testing.assert_array_equal(np.concatenate([first[0], rest[0]]), whole[0])


def test_state_without_names_is_numbered(run_steps, tmp_path):
    program = executorch_program("Lstm", tmp_path / "model.pte")
    run_steps(program, sequence(), "--state-out", tmp_path / "after")
    assert sorted(file.name for file in (tmp_path / "after").iterdir()) == ["state_0.npy", "state_1.npy"]


def test_reset_every_begins_again_with_the_initial_values(run_steps, tmp_path):
    program = executorch_program("Counter", tmp_path / "model.pte", **FORMS["initial"]("Counter"))
    x = torch.zeros(6, 1, 6)
    assert run_steps(program, x)[0][:, 0, 0].tolist() == [6, 7, 8, 9, 10, 11]
    assert run_steps(program, x, "--reset-every", 2)[0][:, 0, 0].tolist() == [6, 7, 6, 7, 6, 7]


def test_a_program_without_state_has_none_to_write(run_carina, tmp_path):
    path = tmp_path / "model.pte"
    path.write_bytes(to_edge(torch.export.export(nn.ReLU(), (torch.ones(3),))).to_executorch().buffer)
    says = run_carina(["run", path, "--state-out", tmp_path / "after"], expect=2).stderr
    assert "keeps no state" in says


def carina_program(name, form, run_carina, folder, *options):
    program = exported(made(name))
    if form == "functional":
        program = program.run_decompositions({})
        assert program.graph_signature.buffers_to_mutate
    else:
        assert not program.graph_signature.buffers_to_mutate
    torch.export.save(program, folder / "model.pt2")
    options = options or ("--quantize", "none", "--no-delegate")
    run_carina(
        ["compile", folder / "model.pt2", "--target", "ethos-u55-128", "-o", folder / "model.pte", *map(str, options)]
    )
    return folder / "model.pte"


@pytest.mark.parametrize("form", ["functional", "in_place"])
@pytest.mark.parametrize("name", MODULES)
def test_a_program_of_carina_gives_what_eager_gives_in_both_runtimes(name, form, run_carina, run_steps, tmp_path):
    program = carina_program(name, form, run_carina, tmp_path)
    wanted = eager(name)
    for got in (run_steps(program, sequence()), official(program, sequence())):
        for mine, truth in zip(got, wanted, strict=True):
            np.testing.assert_allclose(mine, truth.reshape(mine.shape), rtol=1e-5, atol=1e-5)
