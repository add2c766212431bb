"""Names and folders of the output files, as in aot_arm_compiler.py, and values in the format of ExecuTorch's runner."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import carina
import numpy as np

__all__ = ["default_name", "output_path", "print_inputs", "print_outputs"]


def default_name(model: str, target: str, *, delegated: bool, bundled: bool) -> str:
    """mv2_arm_delegate_ethos-u55-128.pte"""
    way = "arm_delegate" if delegated else "arm"
    return f"{model}_{way}_{target}{'.bpte' if bundled else '.pte'}"


def output_path(output: str | None, model: str, target: str, *, delegated: bool, bundled: bool) -> Path:
    """The path of the output file. Creates its folder.

    output: a .pte or .bpte, a folder, or None for the current one. model: its name without a suffix.
    Raises: ValueError for a suffix that contradicts `bundled`; OSError.
    """
    if output is None:
        return Path(default_name(model, target, delegated=delegated, bundled=bundled))
    if output.endswith((".pte", ".bpte")):
        if bundled and not output.endswith(".bpte"):
            raise ValueError(f"--bundleio expects a .bpte file ending to --output and not .pte {output}")
        if not bundled and output.endswith(".bpte"):
            raise ValueError(f"When not using --bundleio a .bpte file should not be use as --output {output}")
        path = Path(output)
    else:
        path = Path(output) / default_name(model, target, delegated=delegated, bundled=bundled)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


_KINDS = {"f": "float", "i": "int", "u": "int", "b": "int"}


def _print_values(name: str, number: int, array: np.ndarray[Any, Any]) -> None:
    kind = _KINDS.get(array.dtype.kind, "float")
    for place, value in enumerate(array.reshape(-1)):
        shown = f"{float(value):.6f}" if kind == "float" else str(int(value))
        print(f"{name}[{number}][{place}]: ({kind}) {shown}")


def print_outputs(folder: Path) -> None:
    """Prints every value of output_N.npy in the format of ExecuTorch's runner: "Output[0][3]: (float) 0.500000"."""
    for number, file in enumerate(sorted(folder.glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))):
        _print_values("Output", number, np.load(file))


def _inputs_of_ones(program: Path) -> Iterable[np.ndarray[Any, Any]]:
    """The inputs that a program gets if none are given."""
    parts = carina.inspect(program)["parts"]
    values = {part["index"]: part["is"] for part in parts if part["kind"] == "value"}
    (method, *_) = (part for part in parts if part["kind"] == "method")
    for index in method["inputs"]:
        found = re.match(r"(\w+) \[([\d,]*)\]", str(values[index]))
        if found:  # otherwise a number, which the export has fixed
            yield np.ones(
                [int(size) for size in found[2].split(",") if size],
                np.float32 if found[1].startswith(("fp", "bf")) else np.int64,
            )


def print_inputs(program: Path, files: Iterable[str]) -> None:
    """Prints every value of the inputs in these files; without files, of the ones that the program gets instead."""
    for number, array in enumerate([np.load(file) for file in files] or _inputs_of_ones(program)):
        _print_values("Input", number, array)
