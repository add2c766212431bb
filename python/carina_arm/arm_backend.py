"""`arm_backend` of ExecuTorch 0.4 to 0.6, where one backend compiled for all targets. Importing this loads ExecuTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram

from .backend import EthosUBackend, TOSABackend, VgfBackend
from .compile_spec_entry import CompileSpecEntry
from .specs import parse_compile_spec
from .targets import logger

_BACKENDS: dict[str, type[BackendDetails]] = {"vela": EthosUBackend, "vgf": VgfBackend, "tosa": TOSABackend}


@final
class ArmBackend(BackendDetails):  # type: ignore[misc]
    """Compiles delegates for the target of the compile specs. Partitioners name the backend of each target instead."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a delegate.

        Raises:
            ValueError: compile specs without a target.
        """
        backend = _BACKENDS[parse_compile_spec(compile_specs).get_output_format()]
        logger.warning(
            "delegates of ArmBackend have this name in the program; today's runtimes look for %s, which "
            "ArmPartitioner names",
            backend.__name__,
        )
        return backend.preprocess(edge_program, compile_specs)


def is_tosa(compile_spec: Sequence[CompileSpecEntry]) -> bool:
    """Whether delegates are TOSA graphs."""
    return parse_compile_spec(compile_spec).get_output_format() == "tosa"


def get_intermediate_path(compile_spec: Sequence[CompileSpecEntry]) -> str | None:
    """The folder of dump_intermediate_artifacts_to()."""
    return parse_compile_spec(compile_spec).get_intermediate_path()
