"""Makes the writes to a model's state functional, so that the quantizer annotates them like other operators.

A state is a buffer that the model overwrites. torchao puts quantize and dequantize nodes after the operands of an operator. An operator
that overwrites a view of the state would then overwrite a dequantized copy, and its write would be lost. So each state is written once,
by a copy_ of the whole, at the place of its last write:

    %view = slice(%state, 1, 0, 2)             %view = slice(%state, 1, 0, 2)
    %add = add_(%view, %x)               ->    %sum = add(%view, %x)
    %sin = sin(%state)                         %new = slice_scatter(%state, %sum, 1, 0, 2)
                                               %copy = copy_(%state, %new)
                                               %sin = sin(%new)

Views that a node reads after a write are computed again. A state stays as it is if one of its writes has no functional operator, changes
the type or shape, or goes through a view that is neither a slice nor one index of an axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from .annotation import Plan
from .exported import attribute_of
from .opaque import states_of
from .scatters import Builder
from .spelling import FROM

aten = torch.ops.aten

_SCATTERS = {aten.slice.Tensor: aten.slice_scatter.default, aten.select.int: aten.select_scatter.default}


@dataclass
class _State:
    """One state, while its writes are replaced."""

    base: Node  # the first node that reads the buffer
    value: Node  # the node with its current elements
    writes: list[Node] = field(default_factory=list)
    version: int = 0  # the number of writes that are replaced
    # Each node that aliases the state, with the views that lead to it from the whole state, in order.
    views: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    # Views that were computed again, with the version.
    renewed: dict[tuple[Node, ...], tuple[int, Node]] = field(default_factory=dict)


def make_writes_functional(module: GraphModule, plan: Plan) -> None:
    """Rewrites the states of which a view or a write has a config."""
    states = _states(module, plan)
    if not states:
        return
    owners = {node: state for state in states for node in state.views}
    replaced = []
    for node in list(module.graph.nodes):
        state = owners.get(node)
        if state is None:
            _read_current(module, node, owners, but=None)
        elif node in state.writes:
            _read_current(module, node, owners, but=node.args[0])
            _write(module, node, state)
            replaced.append(node)
        elif state.version and node.op != "get_attr":
            replaced.append(node)  # a view after a write: its readers compute it again
    for node in reversed(replaced):
        module.graph.erase_node(node)
    module.recompile()


def _states(module: GraphModule, plan: Plan) -> list[_State]:
    overwritten = states_of(module)
    found: dict[str, _State] = {}
    for node in module.graph.find_nodes(op="get_attr"):
        if node.name in overwritten:
            node.meta.setdefault("val", attribute_of(module, str(node.target)))
            found.setdefault(str(node.target), _State(node, node)).views[node] = ()
    return [state for state in found.values() if _follow(module, state, plan) and not _is_functional(module, state)]


def _follow(module: GraphModule, state: _State, plan: Plan) -> bool:
    """Collects the views and writes of a state. False if one of them cannot be rewritten, or if none has a config."""
    configured = False
    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not node.args or node.args[0] not in state.views:
            continue
        views = state.views[node.args[0]]
        if schema.is_mutable:
            if not all(view.target in _SCATTERS for view in views) or not _keeps_type(module, node):
                return False
            state.views[node] = views
            state.writes.append(node)
        elif any(result.alias_info is not None for result in schema.returns):
            if not isinstance(node.meta.get("val"), torch.Tensor):
                return False
            state.views[node] = (*views, node)
        else:
            continue
        configured = configured or plan.config_of(node.name) is not None
    return configured


def _is_functional(module: GraphModule, state: _State) -> bool:
    """Whether a copy_ of the whole state is its only write, and no node reads the state afterwards."""
    order = {node: place for place, node in enumerate(module.graph.nodes)}
    write = state.writes[-1]
    readers = [user for node in state.views for user in node.users]
    return (
        len(state.writes) == 1
        and write.target is aten.copy_.default
        and not state.views[write]
        and all(order[user] <= order[write] for user in readers)
    )


def _functional(target: Any) -> OpOverload | None:
    """aten.add_.Tensor -> aten.add.Tensor"""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return None
    name = target._schema.name.removeprefix("aten::")
    packet = getattr(aten, name.removesuffix("_"), None) if name.endswith("_") else None
    return getattr(packet, target._overloadname, None)


def _keeps_type(module: GraphModule, node: Node) -> bool:
    """Whether the write has a functional form whose result has the type and the shape of the view that is written."""
    written = node.meta.get("val")
    if not isinstance(written, torch.Tensor):
        return False
    if node.target is aten.copy_.default:
        new = node.args[1].meta.get("val") if isinstance(node.args[1], Node) else None
    else:
        functional = _functional(node.target)
        new = None if functional is None else Builder(module, node).value(functional, *node.args, **node.kwargs)
    return isinstance(new, torch.Tensor) and new.dtype == written.dtype and new.shape == written.shape


def _read_current(module: GraphModule, node: Node, owners: dict[Node, _State], *, but: Node | None) -> None:
    """Replaces the operands that alias a state, except `but`, by the state's current elements."""
    for operand in node.all_input_nodes:
        state = owners.get(operand)
        if state is not None and state.version and operand is not but:
            node.replace_input_with(operand, _current(module, node, state, state.views[operand]))


def _current(module: GraphModule, before: Node, state: _State, views: tuple[Node, ...]) -> Node:
    """The node with the current elements of this view of the state."""
    if not views:
        return state.value
    if not state.version:
        return views[-1]
    version, known = state.renewed.get(views, (0, state.base))
    if version == state.version:
        return known
    whole = _current(module, before, state, views[:-1])
    with module.graph.inserting_before(before):
        made = module.graph.node_copy(views[-1], lambda operand: operand)
    made.args = (whole, *made.args[1:])
    state.renewed[views] = (state.version, made)
    return made


def _write(module: GraphModule, node: Node, state: _State) -> None:
    views = state.views[node]
    parts = [_current(module, node, state, views[:depth]) for depth in range(len(views) + 1)]
    operands = [parts[-1] if operand is node.args[0] else operand for operand in node.args[1:]]
    build = Builder(module, node)
    build.meta[FROM] = node.meta.get(FROM, (node.name, node.target))
    with module.graph.inserting_before(node):
        if node.target is aten.copy_.default:
            # A later write to the storage of which the new elements are a view would change them.
            new: Any = build.call(aten.clone.default, operands[0]) if _is_alias(operands[0]) else operands[0]
        else:
            functional = _functional(node.target)
            assert functional is not None
            new = build.call(functional, parts[-1], *operands, **node.kwargs)
        for view, whole in zip(reversed(views), reversed(parts[:-1]), strict=True):
            new = build.call(_SCATTERS[view.target], whole, new, *view.args[1:], **view.kwargs)  # type: ignore[index]
        state.value = new
        state.version += 1
        if node is state.writes[-1]:
            copy = module.graph.call_function(aten.copy_.default, (state.base, new))
            copy.meta = {**build.meta, "val": new.meta["val"]}


def _is_alias(node: Any) -> bool:
    schema = getattr(node.target, "_schema", None)
    returns = [] if schema is None else schema.returns
    return node.op == "get_attr" or any(result.alias_info is not None for result in returns)


__all__ = ["make_writes_functional"]
