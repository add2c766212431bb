"""Writes debug.json for `--enable_debug_mode`: for each operator of a delegate's TOSA file, the operator of the model that it comes from."""

import json
from pathlib import Path

from torch.export import ExportedProgram

from carina_arm.artifacts import event

__all__ = ["write_debug_info"]


def write_debug_info(exported: ExportedProgram, folder: str) -> None:
    """Writes debug.json: the operators of all delegates whose files are in `folder`, in the form of the Arm backend.

    exported: the program from which they were compiled. Raises: OSError.
    """
    nodes = {node.name: node for node in exported.graph.nodes}
    operators = [
        row
        for file in sorted(Path(folder).glob("output_tag*_operators.json"), key=_place)
        for row in json.loads(file.read_text())
    ]
    known = [row for row in operators if row["node"] in nodes]
    events = [
        event(
            number, nodes[row["node"]], {"node_name": row["result"], "operator_name": row["op"], "operator_id": number}
        )
        for number, row in enumerate(known)
    ]
    (Path(folder) / "debug.json").write_text(json.dumps(events, indent=4) + "\n")


def _place(file: Path) -> int:
    return int(file.name.removeprefix("output_tag").split("_")[0])
