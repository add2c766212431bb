"""The layout of what delegates take and give.

A delegate gets the bytes of tensors as they lie in memory. ExecuTorch says of each in which order its axes lie there; a
channels-last one [N,C,H,W] is the plain tensor [N,H,W,C]. So a delegate's boundaries have their axes in the order of memory,
and permutations behind the inputs and in front of the outputs, which the compiler merges with what is next to them.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.export.graph_signature import ExportGraphSignature, InputKind, TensorArgument
from torch.fx import Graph, Node


def lay_out_boundary(graph: Graph, signature: ExportGraphSignature) -> ExportGraphSignature:
    """Permutes the inputs and outputs of a delegate's graph to their order of axes in memory, outermost first.

    Returns:
        The signature of the changed graph.
    """
    _lay_out_inputs(graph, signature)
    results = list(graph.output_node().args[0])  # type: ignore[arg-type]
    specs = list(signature.output_specs)
    for number, result in enumerate(results):
        order = _order_of(result)
        if order is None:
            continue
        with graph.inserting_before(graph.output_node()):
            results[number] = _permuted(graph, result, order)
        specs[number] = replace(specs[number], arg=TensorArgument(results[number].name))
    graph.output_node().args = (tuple(results),)
    return ExportGraphSignature(list(signature.input_specs), specs)


def _lay_out_inputs(graph: Graph, signature: ExportGraphSignature) -> None:
    given = {spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT}
    for node in graph.find_nodes(op="placeholder"):
        order = _order_of(node) if node.name in given else None
        if order is None:
            continue
        users = list(node.users)
        node.meta["val"] = node.meta["val"].permute(order)
        with graph.inserting_after(node):
            logical = _permuted(graph, node, [order.index(axis) for axis in range(len(order))])
        for user in users:
            user.replace_input_with(node, logical)


def _order_of(node: object) -> list[int] | None:
    """The axes of a node's tensor in memory order; None: they are in logical order, or the node is not a tensor."""
    tensor = node.meta.get("val") if isinstance(node, Node) else None
    if not isinstance(tensor, torch.Tensor) or tensor.is_contiguous():
        return None
    return list(tensor.dim_order())


def _permuted(graph: Graph, node: Node, axes: list[int]) -> Node:
    permuted = graph.call_function(torch.ops.aten.permute.default, (node, axes))
    permuted.meta = {**node.meta, "val": node.meta["val"].permute(axes)}
    return permuted
