"""Nodes of which Carina's library sees the operands and results only. They stay on the CPU, and the rest of the graph can be read.

These are conditions and loops with a constant in a branch, which torch cannot save, and nodes that overwrite the state of a model (a buffer).
In the copy of a graph that the library reads, they call an operator without a meaning, and a state is an input:

    cond(%p, %true_graph_0, %false_graph_0, [%x])  -> carina_arm.opaque.many([%p, %x])
    copy_(%state, %x)                              -> carina_arm.opaque([%state, %x])
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import torch
from torch._ops import HigherOrderOperator
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, OutputKind
from torch.fx import Graph, GraphModule, Node

_library = torch.library.Library("carina_arm", "FRAGMENT")  # type: ignore[no-untyped-call]
_library.define("opaque(Tensor[] operands) -> Tensor")  # type: ignore[no-untyped-call]
_library.define("opaque.many(Tensor[] operands) -> Tensor[]")  # type: ignore[no-untyped-call]


def opaque_nodes(module: GraphModule, states: Collection[str]) -> dict[str, str]:
    """The names of these nodes, with the reason. `states`: the names of the nodes that read the state."""
    found = {
        node.name: "a constant in one of its branches"
        for node in module.graph.nodes
        if _has_constants_in_branches(module, node)
    }
    return found | dict.fromkeys(_overwriting(module.graph, states), "the state of the model, which it overwrites")


def make_opaque(graph: Graph, names: Collection[str]) -> None:
    """Replaces the operators of these nodes."""
    for node in [node for node in graph.nodes if node.name in names]:
        tensors = [operand for operand in node.all_input_nodes if isinstance(operand.meta.get("val"), torch.Tensor)]
        many = isinstance(node.meta.get("val"), (tuple, list))
        if many:
            node.meta["val"] = list(node.meta["val"])
        branches = [operand for operand in node.all_input_nodes if operand.op == "get_attr" and operand not in tensors]
        node.target = torch.ops.carina_arm.opaque.many if many else torch.ops.carina_arm.opaque.default
        node.args, node.kwargs = (tensors,), {}
        for branch in branches:
            if not branch.users:
                graph.erase_node(branch)


def overwritten_buffers(graph: Graph, signature: ExportGraphSignature) -> set[str]:
    """The names of the inputs of a program that are buffers which the program overwrites."""
    buffers = {spec.arg.name: spec.target for spec in signature.input_specs if spec.kind is InputKind.BUFFER}
    changed = {spec.target for spec in signature.output_specs if spec.kind is OutputKind.BUFFER_MUTATION}
    changed |= {buffers[name] for name in buffers if _overwriting(graph, {name})}
    return {name for name, target in buffers.items() if target in changed}


def without_state(signature: ExportGraphSignature, states: Collection[str]) -> ExportGraphSignature:
    """The signature with these buffers as inputs, and their new contents as outputs."""
    inputs = [
        InputSpec(InputKind.USER_INPUT, spec.arg, target=None) if spec.arg.name in states else spec
        for spec in signature.input_specs
    ]
    outputs = [
        replace(spec, kind=OutputKind.USER_OUTPUT, target=None) if spec.kind is OutputKind.BUFFER_MUTATION else spec
        for spec in signature.output_specs
    ]
    return ExportGraphSignature(inputs, outputs)


def states_of(module: GraphModule) -> set[str]:
    """The names of the nodes that read an attribute which the graph overwrites."""
    reads = module.graph.find_nodes(op="get_attr")
    targets = {node.target for node in reads if _overwriting(module.graph, {node.name})}
    return {node.name for node in reads if node.target in targets}


def _has_constants_in_branches(module: GraphModule, node: Node) -> bool:
    return isinstance(node.target, HigherOrderOperator) and any(
        operand.op == "get_attr" and _has_constants(getattr(module, str(operand.target), None))
        for operand in node.all_input_nodes
    )


def _has_constants(branch: object) -> bool:
    if not isinstance(branch, GraphModule):
        return False
    attributes = [getattr(branch, str(node.target), None) for node in branch.graph.find_nodes(op="get_attr")]
    return any(isinstance(attribute, torch.Tensor) or _has_constants(attribute) for attribute in attributes)


def _overwriting(graph: Graph, states: Collection[str]) -> list[str]:
    """The nodes that overwrite one of these nodes, or a view of one."""
    found: list[str] = []
    views: set[Node] = set()
    for node in graph.nodes:
        if node.name in states:
            views.add(node)
        schema = getattr(node.target, "_schema", None)
        if schema is None or not node.args or node.args[0] not in views:
            continue
        if schema.is_mutable:
            found.append(node.name)
        elif any(result.alias_info is not None for result in schema.returns):
            views.add(node)
    return found
