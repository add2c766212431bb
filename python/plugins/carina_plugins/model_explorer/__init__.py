"""Cycles, SRAM and the place of each node in Model Explorer, over .pt2, .tosa and .pte files.

    model-explorer model.pt2 --extensions=carina_plugins.model_explorer

Model Explorer (PyPI: ai-edge-model-explorer) imports the module `main` of this package, and offers "Carina" among its
providers of node data. It also draws .pte files. node_data() needs only the report of a compilation.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["columns_of", "node_data"]

_PLACES = {"npu": ("NPU", "#0091bd"), "cpu": ("CPU", "#ffc700"), "folded": ("folded", "#e0e0e0")}
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#ff6b00"}]


def _held_sram(details: Mapping[str, Any]) -> dict[str, int]:
    """The largest number of SRAM bytes that is in use while an operation of a node runs, by node."""
    held: dict[str, int] = {}
    for delegate in details["delegates"]:
        for layer in delegate.get("npu", {}).get("layers", ()):
            held[layer["name"]] = max(held.get(layer["name"], 0), layer["held_sram_bytes"] or 0)
    return held


def columns_of(rows: Iterable[tuple[str, str, Mapping[str, int]]]) -> list[dict[str, Any]]:
    """Node data from (id of a node, where it runs, its values by column). Zeros and empty columns are left out."""
    columns: dict[str, dict[str, Any]] = {"Runs on": {}, "NPU cycles": {}, "CPU cycles": {}, "SRAM in use (bytes)": {}}
    for node_id, runs_on, values in rows:
        place, color = _PLACES[runs_on]
        columns["Runs on"][node_id] = {"value": place, "bgColor": color}
        for column, value in values.items():
            if value:
                columns[column][node_id] = {"value": value}
    return [
        {"name": name, "results": results, **({} if name == "Runs on" else {"gradient": _GRADIENT})}
        for name, results in columns.items()
        if results
    ]


def node_data(details: Mapping[str, Any], ids: Mapping[str, Iterable[str]] | None = None) -> list[dict[str, Any]]:
    """Model Explorer's node data (GraphNodeData, as JSON) from the report of a compilation.

    details: `carina.explain(...).details`, or the output of `carina explain --json`.
    ids: for each node's name the ids of its nodes in Model Explorer's graph; by default the name is the id, as in .pt2 files.
    Returns data with the names "Runs on", "NPU cycles", "CPU cycles" and "SRAM in use (bytes)". Data without values are left out.
    """
    held = _held_sram(details)

    def rows() -> Iterable[tuple[str, str, Mapping[str, int]]]:
        for node in details["nodes"]:
            values = {
                "NPU cycles": node["cycles"],
                "CPU cycles": node["cpu_cycles"],
                "SRAM in use (bytes)": held.get(node["name"], 0),
            }
            for node_id in (node["name"],) if ids is None else ids.get(node["name"], ()):
                yield node_id, node["runs_on"], values

    return columns_of(rows())
