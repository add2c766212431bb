"""Finds the element types and values that each kernel supports: Carina's kernels and the official ones (official_kernels.cpp) on the same
calls.

For each ATen kernel and each type, the draws of kernel_samples.py use that type instead of their floats. If eager PyTorch has no kernel for
the type, the sizes of the outputs are those that it gives for floats.
"""

import warnings
from dataclasses import dataclass, field

import torch
from kernel_calls import TYPES, KernelCall, Out, run_calls, run_calls_of
from kernel_draws import as_schema_says
from kernel_eager import evaluated, operator_of
from kernel_official import Compared
from kernel_samples import NAMED, Random

TRIES = 12
FORCED = tuple(TYPES)
NAMES = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint16: "u16", torch.uint32: "u32", torch.bool: "bool",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.complex32: "c32", torch.complex64: "c64", torch.complex128: "c128",
}  # fmt: skip


class OfOneType(Random):
    """Draws that use one type wherever the type is free, and for every plain float. No edge cases, since they depend on more than the type."""

    def __init__(self, seed, kind):
        super().__init__(seed)
        self.kind = kind

    def dtype(self, kinds=()):
        return self.kind

    def tensor(self, shape, dtype=torch.float32, edges=True, scale=4.0):
        kind = self.kind if dtype == torch.float32 else dtype
        if kind in (torch.uint16, torch.uint32):
            return super().tensor(shape, torch.uint8, edges=False).to(kind)
        if kind == torch.complex32:
            return super().tensor(shape, torch.complex64, edges=False).to(kind)
        return super().tensor(shape, kind, edges=False, scale=scale)


def cast(value, kind, to):
    if isinstance(value, torch.Tensor):
        return value.to(to) if value.dtype == kind else value
    return [cast(v, kind, to) for v in value] if isinstance(value, list) else value


def expected(operator_, schema, arguments, kind):
    """(PyTorch's result for these arguments, True). If PyTorch has no kernel for the type: (its result for floats, converted to the type,
    False)."""
    done = evaluated(operator_, schema, arguments)
    if done is not None:
        return done[0], True
    for wide in (torch.float32, torch.int64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = evaluated(operator_, schema, [cast(a, kind, wide) for a in arguments])
        if done is not None:
            return [y.to(kind) if y.dtype == wide else y for y in done[0]], False
    return None


def call_of(name, kind, random):
    """(call, PyTorch's result, whether for this type), or None if no draw fits. Outputs have elements, because a kernel may accept any type
    for empty tensors."""
    operator_, schema = operator_of(name)
    for _ in range(TRIES):
        try:
            arguments = NAMED[name](random)
            found = expected(operator_, schema, arguments, kind)
        except (
            IndexError,
            ValueError,
            RuntimeError,
            TypeError,
            NotImplementedError,
        ):  # PyTorch has no such shape or type
            continue
        if found is None:
            continue
        wanted, is_eager = found
        if not any(y.numel() for y in wanted) or not any(
            isinstance(v, torch.Tensor) and v.dtype == kind
            for a in arguments
            for v in (a if isinstance(a, list) else [a])
        ):
            continue
        given = [as_schema_says(value, a) for value, a in zip(arguments, schema.arguments)]
        call = KernelCall(f"aten::{name}", given, repr(arguments))
        if any(a.is_out for a in schema.arguments):
            outs = [Out(y) for y in wanted]
            call.arguments += (
                [outs] if any(str(a.type) == "List[Tensor]" and a.is_out for a in schema.arguments) else outs
            )
        else:
            written = next(
                i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write
            )
            call.arguments[written] = Out(wanted[0], start=arguments[written])
        return call, wanted, is_eager
    return None


@dataclass
class Taken:
    """The types of one kernel and their calls."""

    official: list = field(default_factory=list)
    ours: list = field(default_factory=list)
    calls: list = field(default_factory=list)  # entries of class Compared


def plain_names():
    """All drawn kernels with a tensor whose type is free."""
    return sorted(name for name, draw in NAMED.items() if draw)


def types_taken(command, names, seed="types", draws=2):
    """{kernel: Taken}. A type is supported if no draw of it is rejected. `command`: from official_program()."""
    drawn = []
    for name in names:
        for kind in FORCED:
            random = OfOneType(f"{seed} {name} {kind}", kind)
            drawn += [
                (name, kind, *found)
                for found in (call_of(name, kind, random) for _ in range(draws))
                if found is not None
            ]
    calls = [call for _, _, call, *_ in drawn]
    taken = {name: Taken() for name in names}
    rejected, ours_rejected = set(), set()
    for (name, kind, call, wanted, is_eager), official, own in zip(
        drawn, run_calls_of(command, calls), run_calls(calls), strict=True
    ):
        taken[name].calls.append(Compared(name, call, wanted, official, own, is_eager))
        if isinstance(official, str):
            rejected.add((name, kind))
        if isinstance(own, str):
            ours_rejected.add((name, kind))
    for name, kind in dict.fromkeys((name, kind) for name, kind, *_ in drawn):
        if (name, kind) not in rejected:
            taken[name].official.append(kind)
        if (name, kind) not in ours_rejected:
            taken[name].ours.append(kind)
    return taken
