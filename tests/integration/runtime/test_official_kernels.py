"""Carina's kernels give the values of the official runtime's kernels, on the same random calls and for every type. If an official kernel
differs from eager PyTorch, a row of kernel_official.py describes the difference, and Carina's kernel must agree with PyTorch.

$CARINA_KERNEL_DRAWS: the number of random calls per kernel (24), $CARINA_RANDOM_SEED: their seed.
"""

import os

import pytest
import torch
from kernel_calls import KernelCall, Out, run_calls, run_calls_of
from kernel_eager import difference
from kernel_official import DEVIATIONS, compared_calls, drawn_names, verdict_of, official_program
from kernel_samples import Random
from kernel_types import plain_names, types_taken
from kernel_quantized_samples import DRAWS as QUANTIZED
from kernel_quantized_types import quantized_calls, taken_of

CALLS_EACH = int(os.environ.get("CARINA_KERNEL_DRAWS", "24"))
SEED = os.environ.get("CARINA_RANDOM_SEED", "1")


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    return [official_program(tmp_path_factory.mktemp("official"))]


@pytest.fixture(scope="module")
def of_all_types(command):
    """Calls of each kernel with each type."""
    return [call for row in types_taken(command, plain_names()).values() for call in row.calls]


@pytest.fixture(scope="module")
def drawn(command):
    """Calls with random shapes, axis orders, types and edge values. Kernels with rows get more calls, because rows are about rare values."""
    with_rows = sorted({name for row in DEVIATIONS for name in row.kernels})
    return compared_calls(command, drawn_names(), CALLS_EACH, SEED) + compared_calls(
        command, with_rows, 2 * CALLS_EACH, f"{SEED} rows"
    )


def problems(calls):
    fired = set()
    said = [(call, verdict_of(call, fired)) for call in calls]
    return [f"{call.name}: {what[:300]}\n  {call.call.note[:300]}" for call, what in said if what], fired


def test_values_of_every_type(of_all_types):
    answered = [call for call in of_all_types if not isinstance(call.official, str)]
    assert len(answered) > 3000, "the official kernels reject nearly everything: the probe is wrong"
    wrong, _ = problems(answered)
    assert not wrong, "\n".join(wrong[:12])


def test_values_of_random_calls(drawn):
    answered = [call for call in drawn if not isinstance(call.official, str)]
    assert len(answered) > 0.85 * len(drawn), "the official kernels reject nearly everything: the calls are wrong"
    wrong, _ = problems(answered)
    assert not wrong, "\n".join(wrong[:12])


def test_every_row_is_needed(of_all_types, drawn):
    if CALLS_EACH >= 24 and SEED == "1":
        _, fired = problems(of_all_types + drawn)
        stale = {row.reason for row in DEVIATIONS} - fired
        assert not stale, "\n".join(stale)
    assert all(name in drawn_names() for row in DEVIATIONS for name in row.kernels)


def test_a_wrong_value_is_seen(drawn):
    """Tests the comparison itself: a wrong value is found for a kernel without a row and for one with a row."""
    rows = {name for row in DEVIATIONS for name in row.kernels}
    for has_row in (False, True):
        call = next(
            c
            for c in drawn
            if (c.name in rows) == has_row
            and not isinstance(c.official, str)
            and not isinstance(c.ours, str)
            and c.ours[0].numel()
            and c.ours[0].dtype == torch.float32
            and c.ours[0].isfinite().all()
        )
        right = call.ours
        call.ours = [right[0] + 1, *right[1:]]
        assert verdict_of(call, set())
        call.ours = right


def test_quantized_kernels_have_the_types_and_bits_of_the_official_ones(command):
    calls = quantized_calls(SEED)
    official, ours = (
        taken_of(run_calls_of(command, [c for *_, c in calls]), calls),
        taken_of(run_calls([c for *_, c in calls]), calls),
    )
    assert set(official) == set(QUANTIZED) and sum(len(values) for values in official.values()) > 150
    for name, of_types in official.items():
        for types, results in of_types.items():
            assert types in ours[name], f"{name} of {types}: rejected"
            for mine, theirs in zip(ours[name][types], results, strict=True):
                # Sums of fp16 numbers in another order round differently.
                same = (
                    (lambda a, b, name=name: difference(a, b, name) is None)
                    if name.startswith("mixed_")
                    else torch.equal
                )
                assert all(same(a, b) for a, b in zip(mine, theirs, strict=True)), f"{name} of {types}"


def test_integers_of_resizes_and_grids_are_the_official_ones(command):
    """Except for resizes of bytes, eager PyTorch has no such kernels, so the official kernel is the only reference."""
    kinds = (torch.int8, torch.int16, torch.int32, torch.int64)
    calls = [
        call for _ in range(CALLS_EACH) for kind in kinds for call in integer_calls(Random(f"{SEED} {kind} {_}"), kind)
    ]
    for call, theirs, ours in zip(calls, run_calls_of(command, calls), run_calls(calls), strict=True):
        assert not isinstance(theirs, str) and not isinstance(ours, str), (call.name, theirs, ours)
        assert torch.equal(theirs[0], ours[0]), f"{call.name}\n{call.note}\n{theirs[0]}\n{ours[0]}"


def integer_calls(r, kind):
    x = r.tensor((r.randint(1, 2), r.randint(1, 3), r.randint(2, 7), r.randint(2, 7)), kind, edges=False) * 3
    size, corners = [r.randint(1, 11), r.randint(1, 11)], bool(r.randint(0, 1))
    resized = Out(torch.zeros(*x.shape[:2], *size, dtype=kind))
    grid = r.tensor((x.shape[0], 3, 4, 2), kind, edges=False) // r.choice((1, 5, 20))
    mode, padding = r.randint(0, 2), r.randint(0, 2)
    sampled = Out(torch.zeros(*x.shape[:2], 3, 4, dtype=kind))
    yield KernelCall("aten::upsample_bilinear2d.vec_out", [x, size, corners, None, resized], f"{x} {size} {corners}")
    yield KernelCall(
        "aten::_upsample_bilinear2d_aa.out", [x, size, corners, None, None, resized], f"{x} {size} {corners}"
    )
    yield KernelCall(
        "aten::grid_sampler_2d.out",
        [x, grid, mode, padding, corners, sampled],
        f"{x} {grid} {mode} {padding} {corners}",
    )


def test_eager_pytorch_has_no_such_integers():
    """The reason for the rows above. If PyTorch supports one of these some day, it becomes the reference."""
    x, grid = torch.ones(1, 1, 3, 3), torch.zeros(1, 2, 2, 2)
    for kind in (torch.int8, torch.int16, torch.int32, torch.int64):
        for call in (
            lambda kind=kind: torch.ops.aten.upsample_bilinear2d(x.to(kind), [4, 4], False),
            lambda kind=kind: torch.ops.aten._upsample_bilinear2d_aa(x.to(kind), [4, 4], False),
            lambda kind=kind: torch.ops.aten.grid_sampler_2d(x.to(kind), grid.to(kind), 0, 0, False),
        ):
            with pytest.raises(RuntimeError, match="not implemented"):
                call()
