"""int8 gives 16 bits to what costs little where 8 bits leave too much noise in the steps of a network with state: decoders with a cache and
cells whose inputs come from loud to quiet. Random networks have the bits of the integer graph on each family of NPUs, lose less against eager
PyTorch, and keep 8 bits in the caches."""

import json
import random
import re

import numpy as np
import pytest
import torch
from torch import nn

TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
STEPS = 24
WIDER = "the network has state, in which errors stay"


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    """Attention over a cache, and gated layers."""

    def __init__(self, width, rows, draw):
        super().__init__()
        self.norms = nn.ModuleList([Norm(width), Norm(width)])
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        inner = draw.choice([32, 48])
        self.gate, self.up, self.down = nn.Linear(width, inner), nn.Linear(width, inner), nn.Linear(inner, width)
        self.act = draw.choice([nn.SiLU(), nn.GELU(), nn.Sigmoid()])
        self.register_buffer("keys", torch.zeros(1, rows, width))
        self.register_buffer("values", torch.zeros(1, rows, width))
        self.scale = width**-0.5

    def forward(self, x):
        y = self.norms[0](x)
        self.keys.copy_(torch.cat([self.keys[:, 1:], self.k(y)], 1))
        self.values.copy_(torch.cat([self.values[:, 1:], self.v(y)], 1))
        scores = torch.bmm(self.q(y), self.keys.transpose(1, 2)) * self.scale
        x = x + self.o(torch.bmm(torch.softmax(scores, -1), self.values))
        y = self.norms[1](x)
        return x + self.down(self.act(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    def __init__(self, seed):
        super().__init__()
        draw = random.Random(seed)
        width = draw.choice([16, 32])
        self.first = nn.Linear(12, width)
        self.blocks = nn.ModuleList(Block(width, draw.choice([4, 8]), draw) for _ in range(draw.randint(2, 3)))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        y = self.first(x)
        for block in self.blocks:
            y = block(y)
        return self.head(y)


class Mask(nn.Module):
    """A cell that finds a mask for the magnitudes of its input, as a noise suppressor does."""

    def __init__(self, width=64):
        super().__init__()
        self.cell = nn.LSTMCell(width, width)
        self.head = nn.Linear(width, width)
        self.register_buffer("h", torch.zeros(1, width))
        self.register_buffer("c", torch.zeros(1, width))

    def forward(self, x):
        h, c = self.cell(x, (self.h, self.c))
        self.h.copy_(h)
        self.c.copy_(c)
        return x * torch.sigmoid(self.head(h))


def outputs_of(model, data):
    """Eager outputs, step by step, from the initial state, which is zeros."""
    with torch.no_grad():
        wanted = [model(x[None]).numpy().copy() for x in data]
        for buffer in model.buffers():
            buffer.zero_()
    return wanted


def saved(folder, model, data):
    model = model.eval().requires_grad_(False)
    torch.export.save(torch.export.export(model, (data[:1],)), folder / "m.pt2")
    np.savez(folder / "c.npz", x=data.numpy())
    return outputs_of(model, data)


def decoder(folder, seed):
    torch.manual_seed(seed)
    model = Decoder(seed)
    for parameter in model.parameters():
        if parameter.dim() == 2:
            parameter.data *= 2.5
    return saved(folder, model, torch.randn(STEPS, 1, 12) * torch.logspace(0, -1, STEPS)[:, None, None])


def db_of_steps(wanted, got):
    got = got.reshape(len(wanted), -1).astype(np.float64)
    return [
        10 * np.log10((one.astype(np.float64) ** 2).sum() / ((one.ravel() - other) ** 2).sum())
        for one, other in zip(wanted, got, strict=True)
    ]


@pytest.fixture
def steps(run_carina, tmp_path):
    """steps(target, scheme, *options) -> the outputs of a program over the sequence, its report, what the compilation says."""

    def steps_(target, scheme, *options):
        words = ["compile", tmp_path / "m.pt2", "-t", target, "-q", scheme, "--calibrate", tmp_path / "c.npz", *options]
        done = run_carina([*words, "-o", tmp_path / "m.pte", "--dump", tmp_path / "dump", "--json"])
        run_carina(["run", tmp_path / "m.pte", "--sequence", tmp_path / "c.npz", "-o", tmp_path / "out"])
        return np.load(tmp_path / "out" / "output_0.npy"), json.loads(done.stdout), done.stderr

    return steps_


@pytest.mark.parametrize("seed", range(5))
def test_random_decoders_have_the_bits_of_the_integer_graph(run_carina, steps, tmp_path, seed):
    wanted = decoder(tmp_path, seed)
    found = {}
    for target in TARGETS:
        narrow, before, quiet = steps(target, "int8-only")
        assert WIDER not in quiet
        wide, report, said = steps(target, "int8")
        text = run_carina(
            [
                "accuracy",
                tmp_path / "m.pt2",
                tmp_path / "m.pte",
                "--data",
                tmp_path / "c.npz",
                "--dump",
                tmp_path / "dump",
            ]
        ).stdout
        assert f"NPU bits = integer graph's bits: {STEPS} of {STEPS}" in text, (target, said)
        assert {node["runs_on"] for node in report["nodes"]} == {node["runs_on"] for node in before["nodes"]}
        found[target] = wide
        if WIDER in said:
            before_db, after_db = db_of_steps(wanted, narrow), db_of_steps(wanted, wide)
            assert np.mean(after_db) > np.mean(before_db) + 2 or min(after_db) > min(before_db) + 2, target
            promised = [
                float(number) for number in re.findall(r"leave (\S+) dB in the worst .*: (\S+) dB in ", said)[0]
            ]
            assert promised == pytest.approx([min(before_db), min(after_db)], abs=0.1), target
    assert all(np.array_equal(found[TARGETS[0]], other) for other in found.values())  # one integer graph for all NPUs


def test_a_decoder_gains_decibels_and_its_caches_keep_8_bits(run_carina, steps, tmp_path):
    wanted = decoder(tmp_path, 0)
    narrow, _, _ = steps("ethos-u55-128", "int8-only")
    wide, report, said = steps("ethos-u55-128", "int8")
    assert WIDER in said
    assert np.mean(db_of_steps(wanted, wide)) > np.mean(db_of_steps(wanted, narrow)) + 3
    assert {node["runs_on"] for node in report["nodes"]} <= {"npu", "folded"}
    run_carina(["run", tmp_path / "m.pte", "--sequence", tmp_path / "c.npz", "--state-out", tmp_path / "state"])
    caches = sorted((tmp_path / "state").glob("*.npy"))
    assert caches
    assert {np.load(path).dtype for path in caches} == {np.dtype(np.int8)}


class Ring(nn.Module):
    """Layers over a ring of frames, and a softmax that saturates in most steps."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8 * 12, 48), nn.Linear(48, 48)
        self.head = nn.Linear(48, 3)
        self.register_buffer("frames", torch.zeros(1, 8, 12))

    def forward(self, x):
        self.frames.copy_(torch.cat([self.frames[:, 1:], x[:, None]], 1))
        y = torch.relu(self.second(torch.relu(self.first(self.frames.flatten(1)))))
        return torch.softmax(self.head(y) * 400, -1)


def test_one_bad_step_among_exact_ones_is_found(steps, tmp_path):
    """A softmax is exact where it saturates, and bad in the one step where two classes are near each other."""
    found = 0
    for seed in range(8):
        torch.manual_seed(seed)
        wanted = saved(tmp_path, Ring(), torch.randn(STEPS, 12))
        narrow, _, _ = steps("ethos-u85-256", "int8-only")
        wide, _, said = steps("ethos-u85-256", "int8")
        if WIDER in said:
            assert min(db_of_steps(wanted, wide)) > min(db_of_steps(wanted, narrow)) + 2.9
            found += np.median(db_of_steps(wanted, narrow)) > 40
        if found == 2:
            return
    pytest.fail("no such step in eight networks")


def test_quiet_frames_after_loud_ones_keep_their_precision(steps, tmp_path):
    torch.manual_seed(2)
    loudness = torch.cat([torch.ones(12), torch.full((6,), 0.02), torch.ones(6)])[:, None]
    wanted = saved(tmp_path, Mask(), torch.rand(STEPS, 64) * loudness)
    narrow, before, _ = steps("ethos-u55-128", "int8-only")
    wide, after, said = steps("ethos-u55-128", "int8")
    assert WIDER in said
    assert min(db_of_steps(wanted, wide)) > min(db_of_steps(wanted, narrow)) + 6
    assert after["cycles"] <= 1.06 * before["cycles"]


def test_good_steps_and_what_the_user_asks_for_keep_8_bits(steps, tmp_path):
    torch.manual_seed(3)
    saved(tmp_path, Mask(), torch.rand(STEPS, 64))
    assert WIDER not in steps("ethos-u55-128", "int8")[2]
    loudness = torch.cat([torch.ones(12), torch.full((12,), 0.02)])[:, None]
    saved(tmp_path, Mask(), torch.rand(STEPS, 64) * loudness)
    assert WIDER in steps("ethos-u55-128", "int8")[2]
    assert WIDER not in steps("ethos-u55-128", "int8+narrow-tail")[2]
    assert not re.search(WIDER, steps("ethos-u55-128", "int16x8")[2])
