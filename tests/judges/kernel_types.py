"""Which element types each kernel takes: ours, and the official runtime's own (official_kernels.cpp), on the same calls.

For each ATen kernel and each type, the draws of kernel_samples.py with that type in place of their floats. Where eager PyTorch has no such
kernel, the sizes of the outputs are those that it gives for floats.
"""

import os
import subprocess
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import torch
from kernel_calls import ROOT, TYPES, KernelCall, Out, run_calls, run_calls_of
from kernel_eager import difference, evaluated, operator_of
from kernel_samples import NAMED, Random

TRIES = 12
FORCED = tuple(TYPES)
NAMES = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint16: "u16", torch.uint32: "u32", torch.bool: "bool",
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.complex32: "c32", torch.complex64: "c64", torch.complex128: "c128",
}  # fmt: skip


def official_program(folder):
    """bin/call_kernels' sibling on the official runtime, built there."""
    import executorch

    package, path = Path(executorch.__path__[0]), folder / "official_kernels"
    includes = ["-isystem", package / "include", "-isystem", package / "include/executorch/runtime/core/portable_type/c10"]
    libraries = [f"-L{package}/lib", "-Wl,--no-as-needed", *(f"-lexecutorch{name}" for name in ("", "_kernels_optimized", "_kernels_quantized", "_threadpool")), f"-Wl,-rpath,{package}/lib"]
    source = ROOT / "tests" / "judges" / "official_kernels.cpp"
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-DC10_USING_CUSTOM_GENERATED_MACROS", *includes, source, "-o", path, *libraries], check=True)
    return path


class OfOneType(Random):
    """Draws where every type that is open, and every plain float, is this one; without edges, which ask for more than a type."""

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


def as_schema_says(value, argument):
    """A number that the schema calls a float, as one: the official runtime tells them apart."""
    kind = str(argument.type)
    if "float" in kind and type(value) in (int, bool):
        return float(value)
    if "float" in kind and isinstance(value, (list, tuple)):
        return [float(v) for v in value]
    return value


def expected(operator_, schema, arguments, kind):
    """What PyTorch gives for these arguments; where it has none of this type, for floats, in this type."""
    done = evaluated(operator_, schema, arguments)
    if done is not None:
        return done[0]
    for wide in (torch.float32, torch.int64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            done = evaluated(operator_, schema, [cast(a, kind, wide) for a in arguments])
        if done is not None:
            return [y.to(kind) if y.dtype == wide else y for y in done[0]]
    return None


def call_of(name, kind, random):
    """(call, whether it is written to its own argument), or None where no draw fits."""
    operator_, schema = operator_of(name)
    for _ in range(TRIES):
        try:
            arguments = NAMED[name](random)
            wanted = expected(operator_, schema, arguments, kind)
        except (IndexError, ValueError, RuntimeError, TypeError, NotImplementedError):  # no such shape, or no such type here
            continue
        if wanted is None or not any(isinstance(v, torch.Tensor) and v.dtype == kind for a in arguments for v in (a if isinstance(a, list) else [a])):
            continue
        given = [as_schema_says(value, a) for value, a in zip(arguments, schema.arguments)]
        call = KernelCall(f"aten::{name}", given, repr(arguments))
        if any(a.is_out for a in schema.arguments):
            outs = [Out(y) for y in wanted]
            call.arguments += [outs] if any(str(a.type) == "List[Tensor]" and a.is_out for a in schema.arguments) else outs
        else:
            written = next(i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write)
            call.arguments[written] = Out(wanted[0], start=arguments[written])
        return call
    return None


@dataclass
class Taken:
    """What became of the types of one kernel."""

    official: list = field(default_factory=list)
    ours: list = field(default_factory=list)
    differ: list = field(default_factory=list)  # (type, what differs), where both take it


def plain_names():
    """Kernels with tensors of a type to choose: of all that are drawn for."""
    return sorted(name for name, draw in NAMED.items() if draw)


def types_taken(command, names, seed="types", draws=2):
    """{kernel: Taken}: a type is taken when no draw of it is refused; `command`: of official_program()."""
    pairs = []
    for name in names:
        for kind in FORCED:
            random = OfOneType(f"{seed} {name} {kind}", kind)
            calls = [call for call in (call_of(name, kind, random) for _ in range(draws)) if call is not None]
            pairs += [(name, kind, call) for call in calls]
    calls = [call for _, _, call in pairs]
    theirs, ours = run_calls_of(command, calls), run_calls(calls)
    taken = {name: Taken() for name in names}
    refused = {(name, kind) for (name, kind, _), got in zip(pairs, theirs) if isinstance(got, str)}
    ours_refused = {(name, kind) for (name, kind, _), got in zip(pairs, ours) if isinstance(got, str)}
    for (name, kind, call), official, own in zip(pairs, theirs, ours):
        row = taken[name]
        if (name, kind) not in refused and kind not in row.official:
            row.official.append(kind)
        if (name, kind) not in ours_refused and kind not in row.ours:
            row.ours.append(kind)
        if isinstance(official, str) or isinstance(own, str):
            continue
        said = [difference(a, b, name) for a, b in zip(own, official) if isinstance(b, torch.Tensor)]
        if any(said):
            row.differ.append((kind, next(s for s in said if s), call.note))
    return taken
