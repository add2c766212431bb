"""Conversion of a compile spec to Carina's options."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carina import _native

from .compile_spec import ArmCompileSpec

if TYPE_CHECKING:
    from carina._native import Diagnostic, Model
    from torch.export import ExportedProgram

_LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "note": logging.INFO}

logger = logging.getLogger("carina.arm")


def note(diagnostic: Diagnostic) -> None:
    """Forwards the library's messages to Python's logging."""
    logger.log(_LEVELS[diagnostic.severity], "%s", diagnostic)


@dataclass(frozen=True)
class Aim:
    """A target, and the objective of its schedules."""

    target: _native.Target
    optimize: str = "speed"


def aim_of(spec: ArmCompileSpec, program: ExportedProgram) -> Aim:
    """The target for a program with this compile spec.

    If a program is not quantized, its integers, such as indices, are computed with TOSA's integer operators in any profile. The Arm
    backend's delegates do the same, and the reference model supports it.

    Raises:
        carina.UsageError: Vela flags that Carina does not know or support.
    """
    kind = spec._get_output_format()
    if kind == "vela":
        flags = _native.read_flags(" ".join(spec.compiler_flags), note=note)
        return Aim(flags.target, flags.optimize)
    if kind == "vgf":
        return Aim(_native.Target("vgf"))
    text = str(spec.tosa_spec)
    if not spec.tosa_spec.support_integer() and not is_quantized(program):
        text = text.replace("+FP", "+INT+FP", 1)
    return Aim(_native.Target(text))


def partition_target(spec: ArmCompileSpec, program: ExportedProgram) -> _native.Target:
    """The target that decides which nodes become delegates. For VGF without floats it is the specification, so that floats
    stay on the CPU.

    Raises:
        carina.UsageError: as aim_of().
    """
    if spec._get_output_format() == "vgf" and not spec.tosa_spec.support_float():
        return _native.Target(str(spec.tosa_spec))
    return aim_of(spec, program).target


def is_quantized(program: ExportedProgram) -> bool:
    """Whether a program quantizes or dequantizes tensors."""
    return any("quantized_decomposed." in str(node.target) for node in program.graph.nodes)


def read_model(pt2: bytes) -> Model:
    """The model in a .pt2, with its quantization."""
    return _native.quantize(_native.import_pt2(pt2, "delegate", note=note), [], note=note)
