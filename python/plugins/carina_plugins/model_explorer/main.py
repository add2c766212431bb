"""The extension that Model Explorer loads: asks for a target and calibration data, explains the model, and shows the result on its graph. It draws
.pte files, too."""

from __future__ import annotations

from typing import Any

import carina
from model_explorer import (
    Adapter,
    AdapterMetadata,
    GetConfigEditorsResult,
    ModelExplorerGraphs,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
    config_editor,
    graph_builder,
    node_data_builder,
)

from carina_plugins.model_explorer import node_data
from carina_plugins.model_explorer.program_graph import program_data, program_graphs

_TARGET = "ethos-u55-128"
_QUANTIZATIONS = ("", "int8", "int16x8", "int8x4", "none")


def _ids_of(graph: graph_builder.Graph) -> dict[str, list[str]]:
    """For each name of a node or of a tensor that it writes, the ids of the graph's nodes. In .tosa files, tensors have names and nodes have numbers."""
    ids: dict[str, list[str]] = {}
    for node in graph.nodes:
        for name in {node.id, *(output.id for output in node.outputsMetadata)}:
            ids.setdefault(name, []).append(node.id)
    return ids


def _graph_data(data: dict[str, Any]) -> node_data_builder.GraphNodeData:
    results = {name: node_data_builder.NodeDataResult(**result) for name, result in data["results"].items()}
    gradient = [node_data_builder.GradientItem(**item) for item in data.get("gradient", ())]
    return node_data_builder.GraphNodeData(results=results, name=data["name"], gradient=gradient)


def _graph_of(data: dict[str, Any]) -> graph_builder.Graph:
    kinds = {"incomingEdges": graph_builder.IncomingEdge, "attrs": graph_builder.KeyValue}

    def node(row: dict[str, Any]) -> graph_builder.GraphNode:
        return graph_builder.GraphNode(
            **{key: [kinds[key](**item) for item in value] if key in kinds else value for key, value in row.items()}
        )

    return graph_builder.Graph(id=data["id"], nodes=[node(row) for row in data["nodes"]])


def _timed(program: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parts of a program, and the operations of its delegates in one run on ones."""
    parts = carina.inspect(program, note=lambda note: None)["parts"]
    layers = carina.run(program, timed=True, note=lambda note: None).details.get("npu", {}).get("layers", [])
    return parts, layers


class CarinaAdapter(Adapter):  # type: ignore[misc]
    """Draws a .pte: kernels, delegates, and the operations of the NPU."""

    metadata = AdapterMetadata(
        id="carina_pte",
        name="Carina's reader of .pte",
        description="ExecuTorch programs with the operations of the NPU",
        fileExts=["pte"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> ModelExplorerGraphs:
        return {"graphs": [_graph_of(graph) for graph in program_graphs(*_timed(model_path))]}


class CarinaProvider(NodeDataProvider):  # type: ignore[misc]
    """Provides what Carina finds out about each node."""

    metadata = NodeDataProviderMetadata(
        id="carina",
        name="Carina",
        description="Cycles, SRAM, and whether a node runs on an Ethos-U NPU or on the CPU (estimates)",
        icon="speed",
        filter=NodeDataProviderFilter(modelFileExts=["pt2", "tosa", "pte"]),
    )

    def get_config_editors(self, provider_id: str) -> GetConfigEditorsResult:
        targets = [
            config_editor.OptionItem(value=name, label=name) for name in carina.targets() if name.startswith("ethos-")
        ]
        quantizations = [
            config_editor.OptionItem(value=name, label=name or "as in the model") for name in _QUANTIZATIONS
        ]
        return GetConfigEditorsResult(
            configEditors=[
                config_editor.DropDownConfigEditor(
                    id="target", label="NPU", required=True, defaultValue=_TARGET, options=targets
                ),
                config_editor.DropDownConfigEditor(
                    id="quantize", label="Quantization", defaultValue="", options=quantizations
                ),
                config_editor.FileConfigEditor(
                    id="calibration",
                    label="Calibration data",
                    description="Inputs of a float model",
                    fileExts=["npz", "npy"],
                ),
            ]
        )

    def run(
        self,
        provider_id: str,
        model_path: str,
        graph_id: str,
        config_values: dict[str, Any],
        graph: graph_builder.Graph | None,
    ) -> NodeDataProviderResult:
        if model_path.endswith(".pte"):
            return self._of_program(model_path)
        chosen = {name: config_values[name] for name in ("quantize", "calibration") if config_values.get(name)}
        try:
            explanation = carina.explain(
                model_path, target=config_values.get("target", _TARGET), note=lambda note: None, **chosen
            )
        except carina.CarinaError as error:
            return NodeDataProviderResult(error=str(error))
        data = node_data(explanation.details, _ids_of(graph) if graph else None)
        return NodeDataProviderResult(result=[_graph_data(item) for item in data])

    def _of_program(self, path: str) -> NodeDataProviderResult:
        """Of a .pte, which says itself for which NPU it is."""
        try:
            return NodeDataProviderResult(result=[_graph_data(item) for item in program_data(*_timed(path))])
        except carina.CarinaError as error:
            return NodeDataProviderResult(error=str(error))
