"""to_edge_transform_and_lower() without ExecuTorch's graphs: an exported program is passed to Carina unchanged.

Arguments and results have ExecuTorch's names. Arguments that act on ExecuTorch's graphs are rejected with a message, because there are no
such graphs here. ExecuTorch's own function accepts them (docs/guide/from-the-arm-backend.md).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import carina
from carina import Program, _native
from carina._listeners import Notes
from carina._options import request_of
from carina.errors import UsageError, usage_error

from .artifacts import locations_of, write_debug_info
from .compile_spec import ArmCompileSpec, DebugMode
from .ethosu_compile_spec import EthosUCompileSpec
from .partitioner import TOSAPartitioner
from .vgf_compile_spec import VgfCompileSpec

if TYPE_CHECKING:
    from carina import Target
    from carina._native import CompileRequest, Diagnostic
    from torch.export import ExportedProgram

_ANY_TARGET: Target = "ethos-u55-128"  # the target has no effect on a program without delegates
_THROUGH_EXECUTORCH = "executorch.exir.to_edge_transform_and_lower takes it, with carina.arm's partitioner"


def to_edge_transform_and_lower(
    programs: ExportedProgram | Mapping[str, ExportedProgram],
    transform_passes: object = None,
    partitioner: Sequence[TOSAPartitioner] | Mapping[str, Sequence[TOSAPartitioner]] | None = None,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: object = None,
    generate_etrecord: bool = False,
    *,
    note: Callable[[Diagnostic], None] | None = None,
) -> EdgeProgramManager:
    """Compiles an exported program for the target of its partitioner.

    Args:
        programs: the program, float or from convert_pt2e; or {"forward": program}.
        transform_passes, constant_methods, generate_etrecord: rejected; see the module.
        partitioner: one, in a list. Without one, all nodes stay on the CPU.
        compile_config: no effect, since it configures checks of ExecuTorch's graphs.
        note: called with each note and warning; by default warnings are Python warnings.

    Raises:
        carina.UsageError: rejected arguments, wrong flags.
        carina.InputError: all operators that neither the target nor a kernel of ExecuTorch can run.
    """
    del compile_config
    for name, given in (
        ("transform_passes", transform_passes),
        ("constant_methods", constant_methods),
        ("generate_etrecord", generate_etrecord or None),
    ):
        if given is not None:
            raise usage_error(name, "Carina does not build the graphs that this is about", hint=_THROUGH_EXECUTORCH)
    program = _only("programs", programs)
    partitioners = list(_only("partitioner", partitioner) or ()) if partitioner is not None else []
    if len(partitioners) > 1 or not all(isinstance(given, TOSAPartitioner) for given in partitioners):
        raise usage_error(
            "partitioner",
            "one partitioner of carina.arm",
            got=", ".join(type(p).__name__ for p in partitioners),
            hint=_THROUGH_EXECUTORCH,
        )
    return EdgeProgramManager(program, _compiled(program, partitioners[0] if partitioners else None, note))


class EdgeProgramManager:
    """A compiled program, by the names of ExecuTorch's manager."""

    def __init__(self, program: ExportedProgram, compiled: Program) -> None:
        self._program = program
        self._compiled = compiled

    @property
    def methods(self) -> set[str]:
        """Always "forward"."""
        return {"forward"}

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """The given program; there is no other graph in PyTorch's form."""
        _check_method(method_name)
        return self._program

    def to_executorch(self, config: object = None) -> ExecutorchProgramManager:
        """The program for the runtime. `config` has no effect: memory is planned, and delegates are aligned."""
        del config
        return ExecutorchProgramManager(self._program, self._compiled)


class ExecutorchProgramManager(EdgeProgramManager):
    """A program for the runtime, by the names of ExecuTorch's manager."""

    @property
    def buffer(self) -> bytes:
        """The bytes of the .pte."""
        return self._compiled.pte

    @property
    def program(self) -> Program:
        """The carina.Program, which can be run, explained and reported."""
        return self._compiled

    def write_to_file(self, open_file: IO[bytes]) -> None:
        """Writes the .pte to a file that is open in binary mode."""
        open_file.write(self.buffer)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the .pte to a path. A failed write leaves an existing file unchanged."""
        self._compiled.save(os.fspath(path))


def _only(name: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    for method in given:
        _check_method(method, name)
    return given["forward"]


def _check_method(method: str, where: str = "method_name") -> None:
    if method != "forward":
        raise usage_error(
            where, "a program has one method here", expected="forward", got=method, hint=_THROUGH_EXECUTORCH
        )


def _compiled(program: ExportedProgram, partitioner: TOSAPartitioner | None, note: Any) -> Program:
    if partitioner is None:
        return carina.compile(program, target=_ANY_TARGET, no_delegate=True, note=note)
    spec = partitioner.compile_spec
    folder = spec._get_intermediate_path()
    options: dict[str, Any] = {"dump": folder or None}
    if isinstance(spec, EthosUCompileSpec):
        options["extra_flag"] = spec.compiler_flags
    request = request_of(program, None, _target_of(spec), None, None, options)
    if folder and spec.tosa_debug_mode is DebugMode.TOSA:
        request.locations = locations_of(program)
    compiled = _without_nothing(request, partitioner.kept_on_cpu(program), note)
    if folder and spec.tosa_debug_mode is DebugMode.JSON:
        write_debug_info(program, Path(folder))
    return compiled


def _target_of(spec: ArmCompileSpec) -> str:
    if isinstance(spec, EthosUCompileSpec):
        return spec.target
    return "vgf" if isinstance(spec, VgfCompileSpec) else str(spec.tosa_spec)


def _without_nothing(request: CompileRequest, kept: list[str], note: Any) -> Program:
    """Compiles with these nodes on the CPU. Nodes without an effect are omitted, because the library does not have them."""
    while True:
        request.cpu_nodes = kept
        notes = Notes(note)
        try:
            done = _native.compile(request, note=notes)
        except UsageError as error:
            rest = [name for name in kept if name not in {diagnostic.got for diagnostic in error.diagnostics}]
            if rest == kept:
                raise
            kept = rest
        else:
            return Program(done.program, done.report, notes.all)
