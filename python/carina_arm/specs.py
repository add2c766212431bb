"""Compile specs from the entries that a program stores."""

from __future__ import annotations

from collections.abc import Sequence

from .compile_spec import ArmCompileSpec
from .compile_spec_entry import CompileSpecEntry
from .ethosu_compile_spec import EthosUCompileSpec
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

_KINDS: tuple[type[ArmCompileSpec], ...] = (TosaCompileSpec, EthosUCompileSpec, VgfCompileSpec)


def parse_compile_spec(compile_specs: Sequence[CompileSpecEntry]) -> ArmCompileSpec:
    """The compile spec of stored entries.

    Raises:
        ValueError: malformed entries.
    """
    output_format = next((bytes(spec.value).decode() for spec in compile_specs if spec.key == "output_format"), None)
    if output_format is None:
        raise ValueError("Compile spec without output format.")
    for kind in _KINDS:
        if kind._get_output_format() == output_format:
            return kind._from_list(compile_specs)
    raise ValueError(f"Unknown output format {output_format}")


def spec_of(given: ArmCompileSpec | Sequence[CompileSpecEntry]) -> ArmCompileSpec:
    """A compile spec, or the entries that older scripts pass instead."""
    return given if isinstance(given, ArmCompileSpec) else parse_compile_spec(given)
