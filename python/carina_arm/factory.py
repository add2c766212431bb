"""Quantizers and partitioners for compile specs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compile_spec import ArmCompileSpec
from .ethosu_compile_spec import EthosUCompileSpec
from .specs import parse_compile_spec as parse_compile_spec  # also exported by the Arm backend's factory
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

if TYPE_CHECKING:
    from torch.fx.passes.operator_support import OperatorSupportBase

    from .partitioner import TOSAPartitioner
    from .quantizer import TOSAQuantizer


def create_partitioner(
    compile_spec: ArmCompileSpec, additional_checks: list[OperatorSupportBase] | None = None
) -> TOSAPartitioner:
    """The partitioner of the spec's target.

    Raises:
        ValueError: the argument is not a compile spec.
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
        ValueError: the argument is not a compile spec.
    """
    from .quantizer import EthosUQuantizer, TOSAQuantizer, VgfQuantizer

    if isinstance(compile_spec, TosaCompileSpec):
        return TOSAQuantizer(compile_spec)
    if isinstance(compile_spec, EthosUCompileSpec):
        return EthosUQuantizer(compile_spec)
    if isinstance(compile_spec, VgfCompileSpec):
        return VgfQuantizer(compile_spec)
    raise ValueError("compile spec doesn't target any Arm Quantizer")
