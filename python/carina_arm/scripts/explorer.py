"""The file and the command that show a compiled model in Model Explorer."""

import importlib.util
import shlex
from pathlib import Path

from carina_arm.scripts.options import note

__all__ = ["show_in_explorer"]

_PTE, _TOSA = "pte_adapter_model_explorer", "tosa_adapter_model_explorer"


def show_in_explorer(program: Path, folder: Path, *, pte: bool) -> None:
    """Prints the command for the program, or for the TOSA file of the first delegate. Model Explorer is a server, which the user starts.

    Raises: ValueError if a TOSA file is requested and nothing is delegated.
    """
    graphs = sorted(folder.glob("output_tag0_TOSA*.tosa"))
    if not pte and not graphs:
        raise ValueError(
            f"--model_explorer: there is no TOSA file in {folder}, since nothing is delegated: use --visualize_pte"
        )
    file, adapter = (program, _PTE) if pte else (graphs[0], _TOSA)
    print("Model Explorer: " + shlex.join(["model-explorer", str(file), f"--extensions={adapter}"]), flush=True)
    if missing := [name for name in ("model_explorer", adapter) if importlib.util.find_spec(name) is None]:
        packages = {
            "model_explorer": "ai-edge-model-explorer",
            _PTE: "pte-adapter-model-explorer",
            _TOSA: "tosa-adapter-model-explorer",
        }
        note("Model Explorer is not installed: pip install " + " ".join(packages[name] for name in missing))
