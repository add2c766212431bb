"""Finds the element types that ExecuTorch's quantized kernels support, by calling each kernel with all pairs of number type and code type."""

import torch
from kernel_calls import TYPES, KernelCall, Out
from kernel_quantized_samples import CODES, DRAWS, NUMBERS
from kernel_samples import Random
from kernel_types import NAMES

NUMBERS_TRIED = (*NUMBERS, torch.int8, torch.int64, torch.bool)
CODES_TRIED = tuple(kind for kind in TYPES if not kind.is_complex)


def quantized_calls(seed):
    """[(kernel, type of the numbers, type of the codes, call)]"""
    calls = []
    for name, draw in DRAWS.items():
        for number in NUMBERS_TRIED:
            for code in CODES_TRIED:
                random = Random(f"{seed} {name} {number} {code}")
                drawn = [found for found in (draw(random, number, code) for _ in range(2)) if found is not None]
                calls += [
                    (
                        name,
                        number,
                        code,
                        KernelCall(f"quantized_decomposed::{name}", [*given, *(Out(y) for y in outs)], repr(given)),
                    )
                    for given, outs in drawn
                ]
    return calls


def taken_of(results, calls):
    """{kernel: {(number, code): results}} for the pairs that no call rejected."""
    taken, rejected = {}, set()
    for (name, number, code, _), got in zip(calls, results, strict=True):
        if isinstance(got, str):
            rejected.add((name, number, code))
        else:
            taken.setdefault(name, {}).setdefault((number, code), []).append(got)
    return {
        name: {types: got for types, got in rows.items() if (name, *types) not in rejected}
        for name, rows in taken.items()
    }


def text_of(pairs):
    """The (number, code) pairs as text for a page: "f16, f32 with u8, i8"."""
    codes_of = {}
    for number, code in pairs:
        codes_of.setdefault(number, set()).add(code)
    groups = {}
    for number in NUMBERS_TRIED:
        if number in codes_of:
            groups.setdefault(
                tuple(NAMES[code] for code in CODES_TRIED if code in codes_of[number] and code in CODES), []
            ).append(NAMES[number])
    return "; ".join(f"{', '.join(numbers)} with {', '.join(codes)}" for codes, numbers in groups.items())
