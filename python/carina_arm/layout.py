"""The axis order of the inputs and outputs of delegates.

A delegate gets the bytes of tensors as they are in memory. ExecuTorch gives the axis order in memory of each tensor. A channels-last tensor
[N,C,H,W] is a contiguous tensor [N,H,W,C]. So the inputs and outputs of a delegate have their axes in memory order. Its graph has
permutations after the inputs and before the outputs, which the compiler merges with their neighbors.

PyTorch itself runs TOSA graphs, with the reference model for delegates. As in the Arm backend's tester, channels-last inputs and outputs
are in memory order, and all others are in the order of their shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch.export.graph_signature import ExportGraphSignature, InputKind, TensorArgument
from torch.fx import Graph, Node

Order = Callable[[torch.Tensor], list[int] | None]

_CHANNELS_LAST = ([0, 2, 3, 1], [0, 1, 3, 4, 2])


def order_of_memory(tensor: torch.Tensor) -> list[int] | None:
    """The axes of a tensor from the outermost in memory; None: the order of the shape."""
    return None if tensor.is_contiguous() else list(tensor.dim_order())


def order_of_reference_model(tensor: torch.Tensor) -> list[int] | None:
    """The axis order in which the Arm backend's tester passes tensors to the TOSA reference model; None: the order of the shape."""
    order = list(tensor.dim_order())
    return order if order in _CHANNELS_LAST else None


def lay_out_boundary(graph: Graph, signature: ExportGraphSignature, order_of: Order) -> ExportGraphSignature:
    """Changes the axes of a delegate's inputs and outputs to this order, outermost first.

    Returns:
        The signature of the changed graph.
    """
    _lay_out_inputs(graph, signature, order_of)
    results = list(graph.output_node().args[0])  # type: ignore[arg-type]
    specs = list(signature.output_specs)
    for number, result in enumerate(results):
        order = _order_of(result, order_of)
        if order is None:
            continue
        with graph.inserting_before(graph.output_node()):
            results[number] = _laid_out(graph, result, order)
        specs[number] = replace(specs[number], arg=TensorArgument(results[number].name))
    graph.output_node().args = (tuple(results),)
    return ExportGraphSignature(list(signature.input_specs), specs)


def _lay_out_inputs(graph: Graph, signature: ExportGraphSignature, order_of: Order) -> None:
    given = {spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT}
    for node in graph.find_nodes(op="placeholder"):
        order = _order_of(node, order_of) if node.name in given else None
        if order is None:
            continue
        users = list(node.users)
        node.meta["val"] = node.meta["val"].permute(order)
        with graph.inserting_after(node):
            logical = _permuted(graph, node, [order.index(axis) for axis in range(len(order))])
        for user in users:
            user.replace_input_with(node, logical)


def _order_of(node: object, order_of: Order) -> list[int] | None:
    """The axis order of a node's tensor; None: the order of the shape, or the node has no tensor."""
    tensor = node.meta.get("val") if isinstance(node, Node) else None
    return order_of(tensor) if isinstance(tensor, torch.Tensor) else None


def _laid_out(graph: Graph, result: Node, order: list[int]) -> Node:
    """Permutes an output. If it is dequantized, its integers are permuted, so that the dequantize node stays the last one."""
    if "quantized_decomposed::dequantize_per_tensor" not in str(getattr(result.target, "_schema", "")):
        return _permuted(graph, result, order)
    integers = result.args[0]
    assert isinstance(integers, Node)
    permuted = _permuted(graph, integers, order)
    made = graph.node_copy(result, lambda node: permuted if node is integers else node)
    made.meta = {**result.meta, "val": result.meta["val"].permute(order)}
    return made


def _permuted(graph: Graph, node: Node, axes: list[int]) -> Node:
    permuted = graph.call_function(torch.ops.aten.permute.default, (node, axes))
    permuted.meta = {**node.meta, "val": node.meta["val"].permute(axes)}
    return permuted
