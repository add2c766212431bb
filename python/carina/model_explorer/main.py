"""The extension that Model Explorer loads: asks for a target and calibration data, explains the model, and shows the result on its graph."""

from __future__ import annotations

from typing import Any

from model_explorer import (
    GetConfigEditorsResult,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
    config_editor,
    graph_builder,
    node_data_builder,
)

import carina
from carina.model_explorer import node_data

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


class CarinaProvider(NodeDataProvider):  # type: ignore[misc]
    """Provides what Carina finds out about each node."""

    metadata = NodeDataProviderMetadata(
        id="carina",
        name="Carina",
        description="Cycles, SRAM, and whether a node runs on an Ethos-U NPU or on the CPU (estimates)",
        icon="speed",
        filter=NodeDataProviderFilter(modelFileExts=["pt2", "tosa"]),
    )

    def get_config_editors(self, provider_id: str) -> GetConfigEditorsResult:
        targets = [config_editor.OptionItem(value=name, label=name) for name in carina.targets() if name.startswith("ethos-")]
        quantizations = [config_editor.OptionItem(value=name, label=name or "as in the model") for name in _QUANTIZATIONS]
        return GetConfigEditorsResult(
            configEditors=[
                config_editor.DropDownConfigEditor(id="target", label="NPU", required=True, defaultValue=_TARGET, options=targets),
                config_editor.DropDownConfigEditor(id="quantize", label="Quantization", defaultValue="", options=quantizations),
                config_editor.FileConfigEditor(id="calibration", label="Calibration data", description="Inputs of a float model", fileExts=["npz", "npy"]),
            ]
        )

    def run(self, provider_id: str, model_path: str, graph_id: str, config_values: dict[str, Any], graph: graph_builder.Graph | None) -> NodeDataProviderResult:
        chosen = {name: config_values[name] for name in ("quantize", "calibration") if config_values.get(name)}
        try:
            explanation = carina.explain(model_path, target=config_values.get("target", _TARGET), note=lambda note: None, **chosen)
        except carina.CarinaError as error:
            return NodeDataProviderResult(error=str(error))
        data = node_data(explanation.details, _ids_of(graph) if graph else None)
        return NodeDataProviderResult(result=[_graph_data(item) for item in data])
