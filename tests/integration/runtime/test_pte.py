"""Carina's .pte files and the official ExecuTorch: its reader accepts them, its runtime runs them, and their delegates are stored as in the
peer's files."""

import os
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from test_runtime import layer, module, official_outputs, official_program, seeded, x4, x24

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def pte_tool():
    carina = Path(os.environ["CARINA_BIN"])
    program = carina.parent / "pte_tool"
    assert program.exists(), f"{program} is missing: run `make build`"

    def run(*args):
        done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def deserialized(pte):
    from executorch.exir._serialize._program import deserialize_pte_binary

    return deserialize_pte_binary(bytes(pte)).program


def assert_close(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.is_floating_point():
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
        else:
            assert torch.equal(a, b)


def conv_block():
    return layer(nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.MaxPool2d(2)), x4)


# Exported modules, one for each row of facts/aten that torch.export can produce.
EMITTED = {
    "add": lambda: module(lambda x, y: (x + y, x + 1.5, torch.add(x, y, alpha=2)), x24, seeded(4)),
    "sub": lambda: module(lambda x, y: (x - y, x - 1.5), x24, seeded(4)),
    "mul": lambda: module(lambda x, y: (x * y, x * 0.3), x24, seeded(4)),
    "div": lambda: module(lambda x, y: (x / y, x / 3), x24, seeded(4)),
    "limits": lambda: module(
        lambda x, y: (
            torch.maximum(x, y),
            torch.minimum(x, y),
            torch.clamp(x, -0.2, 0.4),
            F.hardtanh(x),
            F.relu(x),
            F.relu6(x),
        ),
        x24,
        seeded(4),
    ),
    "curves": lambda: module(
        lambda x: (
            torch.sigmoid(x),
            torch.tanh(x),
            torch.exp(x),
            torch.neg(x),
            torch.abs(x),
            F.gelu(x),
            F.leaky_relu(x, 0.3),
        ),
        x24,
    ),
    "positive": lambda: module(
        lambda x: (torch.log(x), torch.sqrt(x), torch.rsqrt(x), torch.reciprocal(x), x**1.5), x24.abs() + 0.1
    ),
    "softmax": lambda: module(lambda x: (torch.softmax(x, 1), torch.log_softmax(x, -1)), x4),
    "reductions": lambda: module(
        lambda x: (x.mean([2, 3]), x.sum(1, keepdim=True), torch.amax(x, -1), torch.amin(x, [0, 1])), x4
    ),
    "pools": lambda: module(lambda x: (F.avg_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1), F.adaptive_avg_pool2d(x, 1)), x4),
    "layout": lambda: module(
        lambda x: (x.permute(0, 2, 3, 1) + 0.5, x.transpose(1, 2) + 0.5, x.reshape(2, -1) + 0.5, x.unsqueeze(1) + 0.5),
        x4,
    ),
    "parts": lambda: module(
        lambda x: (x[:, 1:, ::2] + 0.5, x[:, -1] + 0.5, torch.cat([x, x], 1), torch.constant_pad_nd(x, (1, 2), 0.5)), x4
    ),
    "expand": lambda: module(lambda x: (x.expand(3, 2, 4) * 1.5, x.t() * 1.5), x24),
    "conv_block": conv_block,
    "conv1d": lambda: layer(nn.Conv1d(3, 5, 3, stride=2, padding=1), seeded(2, 3, 11)),
    "conv_transpose": lambda: layer(nn.Conv2d(4, 4, 3, groups=4, dilation=2), seeded(1, 4, 8, 8)),
    "linear": lambda: layer(nn.Linear(7, 5), seeded(4, 7)),
    "mm": lambda: module(lambda x, y: (torch.mm(x, y), torch.bmm(x[None], y[None])), seeded(5, 7), seeded(7, 3)),
    "addmm": lambda: module(lambda b, x, y: torch.addmm(b, x, y), seeded(3), seeded(5, 7), seeded(7, 3)),
    "embedding": lambda: layer(nn.Embedding(10, 4), torch.tensor([[1, 9, 0]])),
    "where": lambda: module(lambda c, x, y: torch.where(c, x, y), x24 > 0, x24, x24 * 2),
    "compare": lambda: module(
        lambda x, y: (x == y, x != y, x < y, x <= y, x > y, x >= y, x < 0.5, x == 1.0), x24, x24.flip(0)
    ),
    "logic": lambda: module(
        lambda x, y: (
            torch.logical_and(x, y),
            torch.logical_or(x, y),
            torch.logical_xor(x, y),
            torch.logical_not(x),
            x & y,
            x | y,
            x ^ y,
            ~x,
        ),
        x24 > 0,
        x24 > 0.5,
    ),
    "rounding": lambda: module(
        lambda x: (torch.floor(x), torch.ceil(x), torch.round(x), torch.trunc(x), torch.sign(x)), x24 * 4
    ),
    "trigonometry": lambda: module(
        lambda x: (torch.sin(x), torch.cos(x), torch.tan(x), torch.asin(x), torch.atan(x), torch.sinh(x), torch.erf(x)),
        torch.tanh(x24),
    ),
    "quotients": lambda: module(
        lambda x, y: (
            torch.div(x, y, rounding_mode="floor"),
            torch.remainder(x, y),
            torch.fmod(x, 0.7),
            torch.pow(y, x),
        ),
        x24,
        x24.abs() + 0.1,
    ),
    "elu": lambda: module(lambda x: (F.elu(x), torch.clamp(x, torch.full((4,), -0.5))), x24),
    "places": lambda: module(
        lambda x: (
            torch.argmax(x, 1),
            torch.argmin(x, -1, keepdim=True),
            *torch.max(x, 1),
            *torch.min(x, 2),
            torch.max(x),
        ),
        x4,
    ),
    "spreads": lambda: module(
        lambda x: (torch.var(x, 1), torch.cumsum(x, 1), torch.prod(x, 1), torch.any(x > 0.5, 1), torch.mean(x)), x4
    ),
    "pieces": lambda: module(
        lambda x: (torch.stack([x, x], 1), x.repeat(2, 1), torch.flip(x, [1]), x[None].squeeze(0) + 0.5), x24
    ),
    "indices": lambda: module(
        lambda x, i: (torch.index_select(x, 1, i), torch.gather(x, 1, i[None]), x.masked_fill(x > 0, -1.0)),
        x24,
        torch.tensor([2, 0]),
    ),
    "pixel_shuffle": lambda: module(lambda x: F.pixel_shuffle(x, 2), seeded(2, 8, 3, 4)),
    "shared_output": lambda: module(lambda x: ((y := F.relu(x)), y), x24),
}


@pytest.mark.parametrize("name", EMITTED)
def test_emitted_programs_run_in_the_official_runtime(name, pte_tool, tmp_path):
    import executorch.kernels.quantized  # noqa: F401

    model, inputs = EMITTED[name]()
    torch.export.save(torch.export.export(model, tuple(inputs), strict=False), tmp_path / "model.pt2")
    pte_tool("emit", tmp_path / "model.pt2", tmp_path / "model.pte")
    pte = (tmp_path / "model.pte").read_bytes()
    deserialized(pte)
    wanted = model(*inputs)
    wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
    assert_close(official_outputs(pte, inputs), [y.detach() for y in wanted])


def network():
    return layer(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
            nn.Softmax(-1),
        ),
        seeded(1, 3, 8, 8),
    )


def test_an_official_program_survives_our_reader_and_writer(pte_tool, tmp_path):
    model, inputs = network()
    pte = official_program(model, inputs)
    (tmp_path / "in.pte").write_bytes(pte)
    pte_tool("rewrite", tmp_path / "in.pte", tmp_path / "out.pte", "inline")
    ours = (tmp_path / "out.pte").read_bytes()
    a, b = deserialized(pte).execution_plan[0], deserialized(ours).execution_plan[0]
    for field in ("name", "inputs", "outputs", "operators", "delegates", "non_const_buffer_sizes"):
        assert getattr(a, field) == getattr(b, field), field
    assert [c.instructions for c in a.chains] == [c.instructions for c in b.chains]
    assert len(a.values) == len(b.values)
    for x, y in zip(a.values, b.values):
        assert type(x.val) is type(y.val)
    assert_close(official_outputs(ours, inputs), official_outputs(pte, inputs))


TARGET = "ethos-u55-128"


def blocks_of(blob):
    """A vela_bin_stream as (name, payload). Checks its layout byte by byte."""
    at, blocks = 0, []
    while at < len(blob):
        name = blob[at : at + 16].rstrip(b"\0").decode()
        size, external = struct.unpack_from("<IB", blob, at + 16)
        assert external == 0 and blob[at + 21 : at + 32] == bytes(11)
        padded = (size + 15) // 16 * 16
        blocks.append((name, blob[at + 32 : at + 32 + size]))
        assert blob[at + 32 + size : at + 32 + padded] == bytes(padded - size)
        at += 32 + padded
    assert at == len(blob)
    return blocks


def delegates_of(pte):
    program = deserialized(pte)
    found = []
    for delegate in program.execution_plan[0].delegates:
        assert delegate.processed.location.name == "INLINE"
        found.append((delegate.id, bytes(program.backend_delegate_data[delegate.processed.index].data)))
    return found


def check_layout(blob):
    blocks = blocks_of(blob)
    names = [name for name, _ in blocks]
    assert names == [
        "vela_bin_stream",
        "cmd_data",
        "weight_data",
        "scratch_size",
        "inputs",
        "outputs",
        "vela_end_stream",
    ]
    content = dict(blocks)
    assert content["cmd_data"][:4] == b"COP1"
    assert len(content["scratch_size"]) == 4
    for kind in ("inputs", "outputs"):
        (count,) = struct.unpack_from("<i", content[kind])
        assert len(content[kind]) == 4 + 36 * count
    return content


def test_peers_delegates_are_read(case, pte_tool):
    peer = case.path / TARGET / "model.pte"
    if not peer.exists():
        pytest.skip(f"not run: no {TARGET}/model.pte for {case.name}")
    delegates = delegates_of(peer.read_bytes())
    assert delegates and all(id == "EthosUBackend" for id, _ in delegates)
    content = check_layout(delegates[0][1])
    lines = pte_tool("blob", peer).splitlines()
    (scratch,) = struct.unpack("<I", content["scratch_size"])
    assert lines[0] == f"commands {len(content['cmd_data'])} weights {len(content['weight_data'])} scratch {scratch}"
    rows = [
        (kind[:-1], struct.unpack_from("<9i", content[kind], 4 + 36 * i))
        for kind in ("inputs", "outputs")
        for i in range(struct.unpack_from("<i", content[kind])[0])
    ]
    assert lines[1:] == [f"{kind} {' '.join(map(str, row))}" for kind, row in rows]


def test_peers_programs_survive_our_reader_and_writer(case, pte_tool, tmp_path):
    peer = case.path / TARGET / "model.pte"
    if not peer.exists():
        pytest.skip(f"not run: no {TARGET}/model.pte for {case.name}")
    pte_tool("rewrite", peer, tmp_path / "inline.pte", "inline")
    pte_tool("rewrite", peer, tmp_path / "segment.pte", "segment")
    assert delegates_of((tmp_path / "inline.pte").read_bytes()) == delegates_of(peer.read_bytes())
    # If it is not inside the FlatBuffer, the blob starts at a multiple of 128 bytes of the file.
    segment = (tmp_path / "segment.pte").read_bytes()
    blob = delegates_of(peer.read_bytes())[0][1]
    assert segment.find(blob) % 128 == 0
    a, b = (deserialized(p.read_bytes()).execution_plan[0] for p in (peer, tmp_path / "inline.pte"))
    for field in ("name", "inputs", "outputs", "operators", "non_const_buffer_sizes"):
        assert getattr(a, field) == getattr(b, field), field


def test_our_delegates_have_the_layout_of_the_peers(case, run_carina, tmp_path):
    peer = case.path / TARGET / "model.pte"
    if not peer.exists():
        pytest.skip(f"not run: no {TARGET}/model.pte for {case.name}")
    source = case.model_int8 if case.model_int8.exists() else case.model
    run_carina(["compile", source, "--target", TARGET, "-o", tmp_path / "model.pte"])
    ours = delegates_of((tmp_path / "model.pte").read_bytes())
    theirs = delegates_of(peer.read_bytes())
    assert [id for id, _ in ours] == ["EthosUBackend"] * len(ours) and ours
    for _, blob in ours + theirs:
        check_layout(blob)
    # If both have one delegate, it has the same number of inputs and outputs, with the same sizes and types. Axes of
    # size one may have other positions.
    if len(ours) == len(theirs) == 1:
        for kind in ("inputs", "outputs"):
            ours_io, theirs_io = (check_layout(x[0][1])[kind] for x in (ours, theirs))
            count = struct.unpack_from("<i", ours_io)[0]
            shapes = [[struct.unpack_from("<7i", io, 4 + 36 * i) for i in range(count)] for io in (ours_io, theirs_io)]
            assert len(ours_io) == len(theirs_io)
            sizes = [sorted((int(np.prod(shape[:6])), shape[6]) for shape in io) for io in shapes]
            assert sizes[0] == sizes[1]


DIGITS = ROOT / "models" / "digits"
LINES = [("ethos-u65-256", "Dedicated_Sram_384KB"), ("ethos-u65-512", "Dedicated_Sram"), ("ethos-u85-128", "Sram_Only"),
         ("ethos-u85-256", "Shared_Sram"), ("ethos-u85-2048", "Dedicated_Sram_512KB")]  # fmt: skip


@pytest.mark.parametrize(("target", "mode"), LINES)
def test_programs_of_every_line_are_read_and_give_the_integer_graphs_bits(target, mode, run_carina, tmp_path):
    """The official reader accepts the programs, their delegates satisfy the device's reader, and the NPU computes the graph."""
    args = [
        "compile",
        DIGITS / "digits.pt2",
        "-t",
        target,
        "--memory-mode",
        mode,
        "--calibrate",
        DIGITS / "calibration.npz",
    ]
    run_carina([*args, "--dump", tmp_path / "dump", "-o", tmp_path / "x.pte"])
    ((backend, blob),) = delegates_of((tmp_path / "x.pte").read_bytes())
    assert backend == "EthosUBackend"
    content = check_layout(blob)
    (count,) = struct.unpack_from("<i", content["inputs"])
    for kind in ("inputs", "outputs"):
        for row in struct.iter_unpack("<9i", content[kind][4:]):
            size, offset, region = row[6:]
            assert region == 1 and offset % 16 == 0
            assert offset + int(np.prod(row[:6])) * size <= struct.unpack("<I", content["scratch_size"])[0]
    assert count == 1
    flags = {
        s.key: bytes(s.value).decode()
        for s in deserialized((tmp_path / "x.pte").read_bytes()).execution_plan[0].delegates[0].compile_specs
    }
    assert (
        f"--accelerator-config={target}" in flags["compile_flags"] and f"--memory-mode={mode}" in flags["compile_flags"]
    )
    accuracy = run_carina(
        [
            "accuracy",
            DIGITS / "digits.pt2",
            tmp_path / "x.pte",
            "--data",
            DIGITS / "test.npz",
            "--dump",
            tmp_path / "dump",
        ]
    ).stdout
    assert "NPU bits = integer graph's bits: 450 of 450" in accuracy


def test_undelegated_programs_of_the_cases_run_in_the_official_runtime(case, run_carina, et_runtime, tmp_path):
    run_carina(["compile", case.model, "--no-delegate", "--target", TARGET, "-o", tmp_path / "model.pte"])
    outputs = et_runtime(tmp_path / "model.pte", case.inputs)
    wanted = case.arrays("out_torch_float_")
    assert len(outputs) == len(wanted)
    for ours, theirs in zip(outputs, wanted):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(theirs).max())))
