"""The files of dump_intermediate_artifacts_to() and dump_debug_info() for a delegate."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from carina import _native
from torch.export import ExportedProgram
from torch.fx import Node

from .compile_spec import ArmCompileSpec, DebugMode


class Artifacts:
    """The files of one delegate; empty if the spec names no folder."""

    def __init__(self, program: ExportedProgram, spec: ArmCompileSpec) -> None:
        path = spec._get_intermediate_path()
        self._folder = Path(path) if path else None
        self._spec = spec
        self._program = program
        self._nodes = {node.name: node for node in program.graph.nodes}
        tags = (node.meta.get("delegation_tag") for node in program.graph.nodes)
        self._stem = "_".join(filter(None, ("output", next(filter(None, tags), ""))))

    @property
    def name(self) -> str:
        """The start of the names of the delegate's files: "output_tag0"."""
        return self._stem

    @property
    def wanted(self) -> bool:
        """Whether any files are written."""
        return self._folder is not None

    def locations(self) -> dict[str, str]:
        """With DebugMode.TOSA: the location of each operator in the .tosa file, by node."""
        if self._folder is None or self._spec.tosa_debug_mode is not DebugMode.TOSA:
            return {}
        return locations_of(self._program)

    def write_tosa(self, traced: _native.TracedTosa) -> None:
        """Writes the delegate's graph. With DebugMode.JSON, also adds its operators to debug.json."""
        if self._folder is None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / f"{self._stem}_{self._spec.tosa_spec}.tosa").write_bytes(traced.tosa)
        if self._spec.tosa_debug_mode is DebugMode.JSON:
            self._write_events(traced)

    def write(self, blob: _native.DelegateBlob) -> None:
        """Writes the output of the target's compiler."""
        if self._folder is None:
            return
        for suffix, data in blob.artifacts:
            (self._folder / f"{self._stem}_{suffix}").write_bytes(data)

    def _write_events(self, traced: _native.TracedTosa) -> None:
        events = [
            _operator_event(number, self._nodes[operator.node], operator.result, operator.op)
            for number, operator in enumerate(traced.operators)
            if operator.node in self._nodes
        ]
        assert self._folder is not None
        _write_events(self._folder, self._stem, events)


def locations_of(program: ExportedProgram) -> dict[str, str]:
    """The locations of operators in a .tosa file with DebugMode.TOSA, by node."""
    return {
        node.name: json.dumps(event(number, node, None))
        for number, node in enumerate(program.graph.nodes)
        if node.op == "call_function"
    }


def write_debug_info(program: ExportedProgram, folder: Path) -> None:
    """Writes output_tagN_debug.json for each delegate of a compilation to the folder, and debug.json for the last one."""
    nodes = {node.name: node for node in program.graph.nodes}
    for index in itertools.count():
        dumped = folder / f"output_tag{index}_operators.json"
        if not dumped.exists():
            return
        operators = [operator for operator in json.loads(dumped.read_text()) if operator["node"] in nodes]
        _write_events(
            folder,
            f"output_tag{index}",
            [
                _operator_event(number, nodes[operator["node"]], operator["result"], operator["op"])
                for number, operator in enumerate(operators)
            ],
        )


def _operator_event(number: int, node: Node, result: str, op: str) -> dict[str, Any]:
    return event(number, node, {"node_name": result, "operator_name": op.removeprefix("tosa."), "operator_id": number})


def _write_events(folder: Path, stem: str, events: list[dict[str, Any]]) -> None:
    for name in (f"{stem}_debug.json", "debug.json"):
        (folder / name).write_text(json.dumps(events, indent=4))


def event(number: int, node: Node, tosa: dict[str, Any] | None) -> dict[str, Any]:
    """The entry of an operator in debug.json: its node, with module and line. tosa: the operator of the .tosa."""
    target = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))
    event: dict[str, Any] = {
        "event_id": number,
        "aten_info": {"node_name": node.name, "operator_name": target},
        "tosa_info": tosa,
        "torch_info": {
            "stack_trace": str(node.meta.get("stack_trace", "No stack trace available")).split("\n"),
            "node_trace": _trace(node),
            "nn_module_stack": _plain(node.meta.get("nn_module_stack", "No module stack trace available")),
            "torch_fn": node.meta.get("torch_fn", "No torch_fn available"),
        },
    }
    if tosa is None:
        del event["tosa_info"]
    return event


def _trace(node: Node) -> list[dict[str, Any]] | str:
    """The nodes from which a node was made, each with the index of the graph of its successor (-1: the last graph)."""
    if "from_node" not in node.meta:
        return "No node trace available."
    rows = []
    left = [(source, -1) for source in node.meta["from_node"]]
    while left:
        source, led_to = left.pop()
        rows.append(
            {
                "name": source.name,
                "target": source.target,
                "graph_id": source.graph_id,
                "pass_name": source.pass_name,
                "action": source._get_action_string(),
                "parent_graph_id": led_to,
            }
        )
        left += [(earlier, source.graph_id) for earlier in source.from_node]
    return rows


def _plain(stack: Any) -> Any:
    if not isinstance(stack, dict):
        return stack
    return {key: [path, kind if isinstance(kind, str) else kind.__name__] for key, (path, kind) in stack.items()}
