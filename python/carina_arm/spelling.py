"""Operators spelled as the Arm backend spells them before it annotates: quantizers of users look for these.

    aten.lt.Scalar(x, 0.5) -> aten.lt.Tensor(x, tensor([0.5]))
    aten.ne.Tensor(x, y)   -> aten.logical_not(aten.eq.Tensor(x, y))
    aten.sqrt(x)           -> aten.pow.Tensor_Scalar(x, 0.5)
    aten.max.dim(x, 1)[0]  -> aten.amax(x, [1])
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from .annotation import Plan

aten = torch.ops.aten

FROM = "carina_from"  # in a node's meta: the name and the target of the node that it is a part of
DISALLOWED = "_arm_disallow_tfa"  # the Arm backend's mark of a node that stays as it is, since it stays float

# A number in the place of a tensor becomes a tensor.
_WITH_TENSOR = {
    aten.__rshift__.Scalar: aten.bitwise_right_shift.Tensor,
    aten.__lshift__.Scalar: aten.bitwise_left_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar: aten.bitwise_right_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar: aten.bitwise_left_shift.Tensor,
    aten.eq.Scalar: aten.eq.Tensor,
    aten.ne.Scalar: aten.ne.Tensor,
    aten.gt.Scalar: aten.gt.Tensor,
    aten.ge.Scalar: aten.ge.Tensor,
    aten.lt.Scalar: aten.lt.Tensor,
    aten.le.Scalar: aten.le.Tensor,
    aten.bitwise_and.Scalar: aten.bitwise_and.Tensor,
    aten.bitwise_or.Scalar: aten.bitwise_or.Tensor,
    aten.bitwise_xor.Scalar: aten.bitwise_xor.Tensor,
}


def respell(module: GraphModule, plan: Plan) -> None:
    """Rewrites the nodes that have a config."""
    for node in list(module.graph.nodes):
        node.meta[DISALLOWED] = plan.config_of(node.name) is None
    for node in list(module.graph.nodes):
        if node.op == "call_function" and not node.meta[DISALLOWED]:
            _respell(module, node)
    module.recompile()


def _respell(module: GraphModule, node: Node) -> None:
    tensor = _WITH_TENSOR.get(node.target) if isinstance(node.target, OpOverload) else None
    if tensor is not None and not isinstance(node.args[1], Node):
        _replace(module, node, lambda: _call(module, node, tensor, node.args[0], _constant(module, node)))
        return
    if node.target in (aten.max.dim, aten.min.dim):
        _without_indices(module, node, aten.amax.default if node.target is aten.max.dim else aten.amin.default)
    elif node.target in (aten.ne.Tensor, aten.ne_.Tensor):
        _replace(module, node, lambda: _not_equal(module, node))
    elif node.target in (aten.sqrt.default, aten.sqrt_.default):
        _replace(module, node, lambda: _call(module, node, aten.pow.Tensor_Scalar, node.args[0], 0.5))


def _without_indices(module: GraphModule, node: Node, target: OpOverload) -> None:
    """A maximum or minimum whose indices are not used."""
    used = [user for user in node.users if user.users]
    if len(used) != 1 or used[0].target is not operator.getitem or used[0].args[1] != 0:
        return
    value, axis, *keep = node.args
    with module.graph.inserting_before(node):
        made = _call(module, used[0], target, value, [axis], *keep)
    made.meta[FROM] = (node.name, node.target)
    used[0].replace_all_uses_with(made)
    for user in list(node.users):
        module.graph.erase_node(user)
    module.graph.erase_node(node)


def _replace(module: GraphModule, node: Node, make: Callable[[], Node]) -> None:
    with module.graph.inserting_before(node):
        made = make()
    node.replace_all_uses_with(made)
    module.graph.erase_node(node)
    _respell(module, made)


def _call(module: GraphModule, node: Node, target: Any, *args: Any) -> Node:
    made = module.graph.call_function(target, args)
    made.meta = {**node.meta, FROM: node.meta.get(FROM, (node.name, node.target))}
    return made


def _not_equal(module: GraphModule, node: Node) -> Node:
    return _call(module, node, aten.logical_not.default, _call(module, node, aten.eq.Tensor, *node.args))


def _constant(module: GraphModule, node: Node) -> Node:
    value = node.args[0].meta["val"]  # type: ignore[union-attr]
    number = node.args[1]
    tensor = torch.full((1,), number, dtype=torch.result_type(torch.empty(1, dtype=value.dtype), number))  # type: ignore[arg-type]
    name = f"_carina_{node.name}_other"
    module.register_buffer(name, tensor)
    made = module.graph.get_attr(name)
    made.meta["val"] = tensor
    return made
