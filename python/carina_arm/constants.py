"""Computes the parts of a graph that depend on constants only, as the Arm backend does before it annotates.

    full([7, 7], -inf) -> triu(.., 1) -> a constant [7, 7], which attention reads as a mask

A constructor alone (full, arange) stays. What depends on a parameter stays too, because it may be trained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from .exported import attribute_of


def fold_constants(module: GraphModule, is_left: Callable[[Node], bool]) -> None:
    """Replaces nodes that depend on constants only by constants. `is_left`: nodes that are not replaced."""
    known = _known(module, is_left)
    ends = [node for node in known if node.all_input_nodes and any(user not in known for user in node.users)]
    if not ends:
        return
    values: dict[Node, Any] = {}
    for node in ends:
        _replace(module, node, _computed(module, node, values))
    module.graph.eliminate_dead_code()
    module.recompile()


def _known(module: GraphModule, is_left: Callable[[Node], bool]) -> dict[Node, None]:
    """The nodes whose values are known before the model runs, in order."""
    overwritten = _overwritten(module)
    known: dict[Node, None] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value = attribute_of(module, str(node.target))
            is_known = type(value) is torch.Tensor and node not in overwritten
        else:
            is_known = (
                node.op == "call_function"
                and _is_function(node)
                and not is_left(node)
                and all(x in known for x in node.all_input_nodes)
            )
        if is_known:
            known[node] = None
    return known


def _is_function(node: Node) -> bool:
    """Whether the node's result depends on its arguments only, and is a tensor."""
    target = node.target
    if (
        not isinstance(target, OpOverload)
        or target._schema.is_mutable
        or torch.Tag.nondeterministic_seeded in target.tags
    ):
        return False
    return isinstance(node.meta.get("val"), torch.Tensor) and not _has_free_sizes(node.meta["val"])


def _has_free_sizes(value: torch.Tensor) -> bool:
    return any(not isinstance(size, int) for size in value.shape)


def _overwritten(module: GraphModule) -> set[Node]:
    """The nodes that a node may overwrite: its operands, and all of which they may be views."""
    left = [
        source
        for node in module.graph.nodes
        if getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        for source in node.all_input_nodes
    ]
    found: set[Node] = set()
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += node.all_input_nodes
    targets = {node.target for node in found if node.op == "get_attr"}
    return found | {node for node in module.graph.find_nodes(op="get_attr") if node.target in targets}


def _computed(module: GraphModule, node: Node, values: dict[Node, Any]) -> torch.Tensor:
    left = [node]
    while left:
        at = left[-1]
        missing = [source for source in at.all_input_nodes if source not in values]
        if missing:
            left += missing
            continue
        if at not in values:
            values[at] = attribute_of(module, str(at.target)) if at.op == "get_attr" else _called(at, values)
        left.pop()
    result: torch.Tensor = values[node]
    return result


def _called(node: Node, values: dict[Node, Any]) -> Any:
    with torch.no_grad(), torch.utils._python_dispatch._disable_current_modes():
        return node.target(*map_arg(node.args, values.__getitem__), **map_arg(node.kwargs, values.__getitem__))  # type: ignore[operator]


def _replace(module: GraphModule, node: Node, tensor: torch.Tensor) -> None:
    name = f"_carina_{node.name}_folded"
    module.register_buffer(name, tensor.detach().clone().contiguous())
    with module.graph.inserting_before(node):
        made = module.graph.get_attr(name)
    made.meta["val"] = getattr(module, name)
    node.replace_all_uses_with(made)
