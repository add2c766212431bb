"""Writes an ETRecord: the data on the original model for ExecuTorch's Inspector."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram

__all__ = ["record_path", "write_etrecord"]


def record_path(program: Path) -> Path:
    """The record's path in the style of aot_arm_compiler.py: net_etrecord.bin beside net.pte."""
    return program.with_name(f"{program.stem}_etrecord.bin")


def write_etrecord(exported: ExportedProgram, inputs: Sequence[Any], path: Path) -> None:
    """Exports the model again with ExecuTorch and writes its record, with the inputs as a test case.

    Raises: ImportError without the package executorch, and ExecuTorch's exceptions for a model that it cannot export.
    """
    try:
        from executorch.exir import EdgeCompileConfig, to_edge
    except ImportError as error:
        raise ImportError(
            f"--etrecord needs the package executorch, which writes records: pip install executorch ({error})"
        ) from error
    edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False), generate_etrecord=True)
    record = edge.to_executorch().get_etrecord()
    record.update_representative_inputs([tuple(inputs)])
    record.save(str(path))
