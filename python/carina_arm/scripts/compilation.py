"""Compiles an exported program to an ExecuTorch program with the options of aot_arm_compiler.py."""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import carina
import torch
from carina import Target
from carina.errors import Diagnostic
from torch.export import ExportedProgram

from carina_arm.scripts.delegation import Delegation

__all__ = ["Compiled", "Request", "compile_model"]

_CPU_TARGET: Target = "ethos-u55-128"  # the target has no effect on a program without delegates


@dataclass(frozen=True)
class Request:
    """The output that is requested for a model.

    samples: calibration samples, each a list of the inputs' leaves; None: the model is not quantized. intermediates: a folder for TOSA
    files and command streams.
    """

    target: str
    delegate: bool = True
    samples: Sequence[Sequence[Any]] | None = None
    quantize: str | None = (
        None  # a scheme of `carina compile`; None: int8, or int16 activations if the target contains int16
    )
    system_config: str | None = None
    memory_mode: str | None = None
    config: str | None = None
    intermediates: str | None = None

    def scheme(self) -> str | None:
        """The quantization scheme; None: the model is not quantized."""
        if self.samples is None:
            return None
        return self.quantize or ("int16x8" if "int16" in self.target else "int8")

    def has_cortex_m_kernels(self) -> bool:
        """Whether nodes on the CPU use the int8 kernels of ExecuTorch's Cortex-M backend."""
        return self.target.startswith("cortex-m") and self.samples is not None


@dataclass(frozen=True)
class Compiled:
    """A program, and which nodes run where."""

    program: carina.Program
    delegation: Delegation

    def outputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """Runs the program: kernels on the CPU, delegates on the simulated NPU or in the interpreter. Raises: CarinaError."""
        return [torch.from_numpy(array) for array in self.program.run(*inputs)]


def _show(diagnostic: Diagnostic) -> None:
    print(f"carina: {diagnostic.severity}: {diagnostic}", file=sys.stderr)


def _memories(request: Request) -> dict[str, Any]:
    """The given options that apply to an NPU only."""
    given = {"system_config": request.system_config, "memory_mode": request.memory_mode}
    if request.target.startswith("ethos-u"):
        given["config"] = request.config
    return {name: value for name, value in given.items() if value is not None}


def _kernels(program: carina.Program) -> list[str]:
    """The kernels that a program calls on the CPU, in order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.pte"
        program.save(path)
        steps = [part["does"].split() for part in carina.inspect(path)["parts"] if part["kind"] == "instruction"]
    return [words[1] for words in steps if words[0] == "kernel"]


def compile_model(exported: ExportedProgram, request: Request) -> Compiled:
    """Compiles the model. Notes and warnings go to stderr. Raises: CarinaError, and exceptions of torch.export.save."""
    on_cpu = not request.delegate or request.target.startswith("cortex-m")
    program = carina.compile(
        exported,
        target=_CPU_TARGET if request.target.startswith("cortex-m") else cast(Target, request.target),
        quantize=request.scheme(),
        calibration=request.samples,
        no_delegate=on_cpu,
        cpu_kernels="cortex-m" if request.has_cortex_m_kernels() else "portable",
        delegate_all=not on_cpu,  # as the Arm backend's partitioner, which ignores costs
        dump=request.intermediates,
        note=_show,
        **_memories(request),
    )
    return Compiled(program, Delegation.of(program.report().details, _kernels(program)))
