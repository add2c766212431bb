"""A .pte as a graph: its kernels and delegates in the order of execution, and each delegate's NPU operations inside of it.

program_graphs() and program_data() take what `carina inspect --json` and `carina run --timed --json` print, and give Model Explorer's formats
as JSON.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from carina_plugins.model_explorer import columns_of

__all__ = ["layers_of_calls", "program_data", "program_graphs"]

_INSTRUCTION = re.compile(r"(kernel|delegate) (\S+)(?: (\S+))? \(([-\d, ]*)\)")
_PLANNED = re.compile(r".* at \d+:\d+$")


def _methods(parts: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The methods of a program, each with its values, delegates and instructions."""
    methods: list[dict[str, Any]] = []
    delegates: dict[str, list[dict[str, Any]]] = {}  # by method; they stand before the methods
    last: list[dict[str, Any]] = []
    for part in parts:
        match part["kind"]:
            case "method":
                ends = {kind: part[kind] for kind in ("inputs", "outputs")}
                methods.append(
                    {
                        "name": part["name"],
                        **ends,
                        "values": {},
                        "delegates": delegates.get(part["name"], []),
                        "instructions": [],
                    }
                )
            case "value":
                methods[-1]["values"][part["index"]] = str(part["is"])
            case "delegate":
                last = delegates.setdefault(part["method"], [])
                last.append({"backend": part["backend"], "bytes": part["bytes"], "operations": None})
            case "compile_spec" if part["key"] == "carina_layers":
                last[-1]["operations"] = len(part["value"].split("\n")) - part["value"].endswith("\n")
            case "instruction":
                if found := _INSTRUCTION.fullmatch(part["does"]):
                    methods[-1]["instructions"].append((f"{part['index']}", *found.groups()))
    return methods


def _calls(method: Mapping[str, Any]) -> list[tuple[str, int]]:
    """(id of the node, number of the delegate) of each call of a delegate."""
    return [(index, int(number)) for index, kind, number, _, _ in method["instructions"] if kind == "delegate"]


def layers_of_calls(
    method: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]
) -> dict[str, list[Mapping[str, Any]]]:
    """The operations of a timed run by the call that ran them. Programs of other compilers do not tell where a delegate's operations end: with
    several calls there, the result is empty."""
    calls = _calls(method)
    if len(calls) == 1:
        return {calls[0][0]: list(layers)}
    counts = [method["delegates"][number]["operations"] for _, number in calls]
    if None in counts or sum(counts) != len(layers):
        return {}
    divided, start = {}, 0
    for (call, _), count in zip(calls, counts, strict=True):
        divided[call] = list(layers[start : start + count])
        start += count
    return divided


def _attributes(values: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"key": key, "value": f"{value}"} for key, value in values.items()]


def _edges(sources: Iterable[str]) -> list[dict[str, str]]:
    return [
        {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": f"{place}"}
        for place, source in enumerate(sources)
    ]


def _node(name: str, label: str, sources: Iterable[str], **attributes: Any) -> dict[str, Any]:
    return {"id": name, "label": label, "incomingEdges": _edges(sources), "attrs": _attributes(attributes)}


def _operation_nodes(
    call: str, namespace: str, layers: Sequence[Mapping[str, Any]], sources: list[str]
) -> list[dict[str, Any]]:
    """The operations of a delegate. They run in the order of the command stream, which the edges show."""
    nodes = []
    for place, layer in enumerate(layers):
        node = _node(
            f"{call}/{place}",
            layer["operation"],
            sources,
            layer=layer["name"],
            MACs=layer["macs"],
            bottleneck=layer["bottleneck"],
        )
        nodes.append({**node, "namespace": namespace})
        sources = [node["id"]]
    return nodes


def _graph(method: Mapping[str, Any], layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values, divided = method["values"], layers_of_calls(method, layers)
    writers = {index: f"input {index}" for index in method["inputs"]}
    nodes = [_node(name, "input", [], type=values[index]) for index, name in writers.items()]
    for index, kind, name, backend, text in method["instructions"]:
        arguments = [int(word) for word in text.split(",") if word.strip()]
        sources = list(dict.fromkeys(writers[argument] for argument in arguments if argument in writers))
        written = list(
            dict.fromkeys(
                argument
                for argument in arguments
                if argument not in writers and _PLANNED.match(values.get(argument, ""))
            )
        )
        if inside := divided.get(index):
            made = _operation_nodes(index, f"{backend} {name}", inside, sources)
        else:
            label = f"{backend} {name}" if kind == "delegate" else name
            made = [
                _node(
                    index,
                    label,
                    sources,
                    **{f"output {place}": values[argument] for place, argument in enumerate(written)},
                )
            ]
        nodes += made
        writers |= {argument: made[-1]["id"] for argument in written}
    nodes += [
        _node(f"output {index}", "output", [writers[index]] if index in writers else [], type=values[index])
        for index in method["outputs"]
    ]
    return {"id": method["name"], "nodes": nodes}


def program_graphs(
    parts: Iterable[Mapping[str, Any]], layers: Sequence[Mapping[str, Any]] = ()
) -> list[dict[str, Any]]:
    """A graph for each method. parts: `carina.inspect(file)["parts"]`. layers: ["npu"]["layers"] of a timed run of the first method."""
    return [_graph(method, () if place else layers) for place, method in enumerate(_methods(parts))]


def program_data(parts: Iterable[Mapping[str, Any]], layers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The node data of the first method: where a node runs, its cycles, the SRAM in use."""
    method = _methods(parts)[0]
    divided = layers_of_calls(method, layers)
    rows = []
    for index, kind, _, backend, _ in method["instructions"]:
        if inside := divided.get(index):
            rows += [
                (f"{index}/{place}", "npu", layer["cycles"], layer["held_sram_bytes"])
                for place, layer in enumerate(inside)
            ]
        elif kind == "kernel" or backend == "EthosUBackend":
            rows.append((index, "cpu" if kind == "kernel" else "npu", 0, 0))
    return columns_of(
        (name, place, {"NPU cycles": cycles, "SRAM in use (bytes)": held or 0}) for name, place, cycles, held in rows
    )
