"""Quantizers and partitioners by the kind of a compile spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .compile_spec import ArmCompileSpec
from .compile_spec_entry import CompileSpecEntry
from .ethosu_compile_spec import EthosUCompileSpec
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

if TYPE_CHECKING:
    from torch.fx.passes.operator_support import OperatorSupportBase

    from .partitioner import TOSAPartitioner
    from .quantizer import TOSAQuantizer

_KINDS: tuple[type[ArmCompileSpec], ...] = (TosaCompileSpec, EthosUCompileSpec, VgfCompileSpec)


def parse_compile_spec(compile_specs: Sequence[CompileSpecEntry]) -> ArmCompileSpec:
    """The spec of entries as a program stores them.

    Raises:
        ValueError: entries that no class wrote.
    """
    output_format = next((bytes(spec.value).decode() for spec in compile_specs if spec.key == "output_format"), None)
    if output_format is None:
        raise ValueError("Compile spec without output format.")
    for kind in _KINDS:
        if kind._get_output_format() == output_format:
            return kind._from_list(compile_specs)
    raise ValueError(f"Unknown output format {output_format}")


def spec_of(given: ArmCompileSpec | Sequence[CompileSpecEntry]) -> ArmCompileSpec:
    """A compile spec, or the entries that older scripts pass in its place."""
    return given if isinstance(given, ArmCompileSpec) else parse_compile_spec(given)


def create_partitioner(
    compile_spec: ArmCompileSpec, additional_checks: list[OperatorSupportBase] | None = None
) -> TOSAPartitioner:
    """The partitioner of the spec's target.

    Raises:
        ValueError: not a compile spec.
    """
    from .partitioner import EthosUPartitioner, TOSAPartitioner, VgfPartitioner

    if isinstance(compile_spec, TosaCompileSpec):
        return TOSAPartitioner(compile_spec, additional_checks)
    if isinstance(compile_spec, EthosUCompileSpec):
        return EthosUPartitioner(compile_spec, additional_checks)
    if isinstance(compile_spec, VgfCompileSpec):
        return VgfPartitioner(compile_spec, additional_checks)
    raise ValueError("compile spec doesn't target any Arm Partitioner")


def create_quantizer(compile_spec: ArmCompileSpec) -> TOSAQuantizer:
    """The quantizer of the spec's target.

    Raises:
        ValueError: not a compile spec.
    """
    from .quantizer import EthosUQuantizer, TOSAQuantizer, VgfQuantizer

    if isinstance(compile_spec, TosaCompileSpec):
        return TOSAQuantizer(compile_spec)
    if isinstance(compile_spec, EthosUCompileSpec):
        return EthosUQuantizer(compile_spec)
    if isinstance(compile_spec, VgfCompileSpec):
        return VgfQuantizer(compile_spec)
    raise ValueError("compile spec doesn't target any Arm Quantizer")
