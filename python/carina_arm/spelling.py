"""Spells operators as the Arm backend does before it annotates, because users' quantizers look for these operators.

aten.lt.Scalar(x, 0.5) -> aten.lt.Tensor(x, tensor([0.5]))
aten.ne.Tensor(x, y)   -> aten.logical_not(aten.eq.Tensor(x, y))
aten.sqrt(x)           -> aten.pow.Tensor_Scalar(x, 0.5)
aten.rsub.Scalar(x, 2) -> aten.sub.Tensor(tensor([2]), x)
aten.add.Tensor(x, 2)  -> aten.add.Tensor(x, tensor([2]))
aten.div.Tensor(x, 2)  -> aten.mul.Tensor(x, tensor([0.5]))
aten.celu(x, 2)        -> aten.elu(x, 2, 1, 0.5)
aten.index_copy(x, 1, i, y) -> aten.index_put(x, [None, i], y)
aten.floor_divide(x, y) -> aten.floor(aten.div.Tensor(x, y))
aten.max.dim(x, 1)[0]  -> aten.amax(x, [1])
aten.clamp.Tensor(x, low, high) -> aten.minimum(aten.maximum(x, low), high)
aten.add_.Tensor(x, y) -> aten.add.Tensor(x, y), so that calibration does not change its samples
aten.detach_(aten.lift_fresh_copy(constant)) -> constant
an int64 input that is an index -> its conversion to int32, which delegates support
tril, select_scatter, slice_scatter -> operators that select and move (carina_arm.scatters)
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_flatten

from .annotation import Plan
from .scatters import DECOMPOSED, Builder

aten = torch.ops.aten

FROM = "carina_from"  # key in a node's meta: the name and the target of the node that it replaces
_FULL = "carina_full"  # key in a module's meta
DISALLOWED = (
    "_arm_disallow_tfa"  # the Arm backend's mark of a node that must not be transformed, because it stays float
)

# Operators in which a number is replaced by a tensor.
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
    aten.add.Scalar: aten.add.Tensor,
    aten.sub.Scalar: aten.sub.Tensor,
    aten.mul.Scalar: aten.mul.Tensor,
    aten.div.Scalar: aten.div.Tensor,
}

# Operators with two operands, of which one can be a number.
_WITH_NUMBER = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)

# Operators with elements that are all alike, in the shape of their operand.
_LIKE = {aten.full_like.default: None, aten.zeros_like.default: 0.0, aten.ones_like.default: 1.0}

_PUTS = {
    aten.index_copy.default: aten.index_put.default,
    aten.index_copy_.default: aten.index_put_.default,
}

_IN_PLACE = {
    aten.add_.Tensor: aten.add.Tensor,
    aten.add_.Scalar: aten.add.Scalar,
    aten.sub_.Tensor: aten.sub.Tensor,
    aten.sub_.Scalar: aten.sub.Scalar,
    aten.mul_.Tensor: aten.mul.Tensor,
    aten.mul_.Scalar: aten.mul.Scalar,
    aten.div_.Tensor: aten.div.Tensor,
    aten.div_.Scalar: aten.div.Scalar,
}

# Operators with int64 or int32 indices, and the positions of these operands.
_INDICES = {
    aten.embedding.default: 1,
    aten.gather.default: 2,
    aten.index.Tensor: 1,
    aten.index_put.default: 1,
    aten.index_put_.default: 1,
    aten.index_select.default: 2,
}


def respell(module: GraphModule, plan: Plan, *, full: bool = False) -> None:
    """Rewrites the nodes that have a config. `full`: a number becomes a call of aten.full, as in the Arm backend, and not an attribute."""
    module.meta[_FULL] = full
    for node in list(module.graph.nodes):
        node.meta[DISALLOWED] = plan.config_of(node.name) is None
    for node in list(module.graph.nodes):
        if node.op == "call_function" and not node.meta[DISALLOWED]:
            _without_copy(module, node)
    for node in list(module.graph.nodes):
        if node.op == "call_function" and not node.meta[DISALLOWED]:
            _respell(module, node)
    for node in list(module.graph.nodes):
        if node.op in ("placeholder", "get_attr"):
            _narrow_index(module, node)
    module.recompile()


def _narrow_index(module: GraphModule, node: Node) -> None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dtype != torch.int64:
        return
    users = [user for user in node.users if not user.meta[DISALLOWED] and _is_index(node, user)]
    if not users:
        return
    to_int32 = (
        torch.ops.dim_order_ops._to_dim_order_copy.default
        if "executorch.exir" in sys.modules
        else aten._to_copy.default
    )
    with module.graph.inserting_after(node):
        made = module.graph.call_function(to_int32, (node,), {"dtype": torch.int32})
    made.meta = {"val": value.to(torch.int32), DISALLOWED: False}
    for user in users:
        user.replace_input_with(node, made)


_COPIES = (aten.lift_fresh_copy.default, aten.detach_.default)


def _without_copy(module: GraphModule, node: Node) -> None:
    """Removes the copy of a constant, unless a node overwrites it."""
    if node.target not in _COPIES or _is_overwritten(node):
        return
    (constant,) = node.args
    if isinstance(constant, Node) and constant.op == "get_attr":
        node.replace_all_uses_with(constant)
        module.graph.erase_node(node)


def _is_overwritten(node: Node) -> bool:
    return any(
        _is_overwritten(user)
        if user.target is aten.detach_.default
        else isinstance(user.target, OpOverload) and user.target._schema.is_mutable
        for user in node.users
    )


def _is_index(node: Node, user: Node) -> bool:
    """Whether the user reads the node only as an index."""
    place = _INDICES.get(user.target) if isinstance(user.target, OpOverload) else None
    if place is None or len(user.args) <= place:
        return False
    others = (*user.args[:place], *user.args[place + 1 :], *user.kwargs.values())
    return node in tree_flatten(user.args[place])[0] and node not in tree_flatten(others)[0]


def _respell(module: GraphModule, node: Node) -> None:
    tensor = _WITH_TENSOR.get(node.target) if isinstance(node.target, OpOverload) else None
    if tensor is not None and len(node.args) == 2 and not isinstance(node.args[1], Node):
        _replace(module, node, lambda: _call(module, node, tensor, node.args[0], _constant(module, node)))
        return
    if node.target in (aten.max.dim, aten.min.dim):
        _without_indices(module, node, aten.amax.default if node.target is aten.max.dim else aten.amin.default)
    elif node.target in (aten.ne.Tensor, aten.ne_.Tensor):
        _replace(module, node, lambda: _not_equal(module, node))
    elif node.target is aten.rsub.Scalar and len(node.args) == 2:
        _replace(module, node, lambda: _call(module, node, aten.sub.Tensor, _constant(module, node), node.args[0]))
    elif node.target in (aten.div.Tensor_mode, aten.floor_divide.default) and _is_float(node):
        _respell_division(module, node)
    elif node.target in _IN_PLACE and _is_alone(node):
        _replace(module, node, lambda: _call(module, node, _IN_PLACE[node.target], *node.args, **node.kwargs))  # type: ignore[index]
    elif node.target is aten.div.Tensor and isinstance(node.args[1], (int, float)) and _is_float(node):
        factor = 1.0 / node.args[1] if node.args[1] else math.inf
        _replace(module, node, lambda: _call(module, node, aten.mul.Tensor, node.args[0], factor))
    elif (
        node.target in _WITH_NUMBER and not all(isinstance(operand, Node) for operand in node.args) and _is_float(node)
    ):
        with module.graph.inserting_before(node):
            node.args = tuple(
                operand if isinstance(operand, Node) else _constant(module, node) for operand in node.args
            )
    elif node.target is aten.clamp.Tensor and _is_float(node):
        _replace(module, node, lambda: _clamped(module, node))
    elif node.target in _LIKE and module.meta[_FULL] and _is_float(node) and "memory_format" not in node.kwargs:
        number = node.args[1] if node.target is aten.full_like.default else _LIKE[node.target]
        shape, dtype = list(node.meta["val"].shape), node.meta["val"].dtype
        _replace(module, node, lambda: _call(module, node, aten.full.default, shape, number, dtype=dtype))
    elif node.target in _PUTS:
        _respell_copy(module, node)
    elif node.target is aten.celu.default:
        alpha = _alpha_of(node)
        _replace(module, node, lambda: _call(module, node, aten.elu.default, node.args[0], alpha, 1.0, 1.0 / alpha))
    elif node.target is aten.selu.default:
        _replace(module, node, lambda: _call(module, node, aten.elu.default, node.args[0], *_SELU))
    elif node.target in DECOMPOSED:
        _replace(module, node, lambda: _decomposed(module, node))
    elif node.target in (aten.sqrt.default, aten.sqrt_.default):
        _replace(module, node, lambda: _call(module, node, aten.pow.Tensor_Scalar, node.args[0], 0.5))


def _clamped(module: GraphModule, node: Node) -> Any:
    value, *limits = node.args
    limits += [node.kwargs.get(name) for name in ("min", "max")[len(limits) :]]
    for target, limit in zip((aten.maximum.default, aten.minimum.default), limits, strict=True):
        if limit is not None:
            value = _call(module, node, target, value, limit)
    return value


def _decomposed(module: GraphModule, node: Node) -> Node:
    build = Builder(module, node)
    build.meta[FROM] = node.meta.get(FROM, (node.name, node.target))
    return DECOMPOSED[node.target](build, *node.args, **node.kwargs)  # type: ignore[index]


def _respell_copy(module: GraphModule, node: Node) -> None:
    value, axis, index, source = node.args
    rank = value.meta["val"].dim()  # type: ignore[union-attr]
    if rank:
        assert isinstance(axis, int)
        indices = [None] * (axis % rank) + [index]
        _replace(module, node, lambda: _call(module, node, _PUTS[node.target], value, indices, source))  # type: ignore[index]


# alpha and scale. Source: aten/src/ATen/native/Activation.cpp
_SELU = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


def _alpha_of(node: Node) -> float:
    given = node.args[1] if len(node.args) > 1 else node.kwargs.get("alpha", 1.0)
    assert isinstance(given, (int, float))
    return float(given)


def _respell_division(module: GraphModule, node: Node) -> None:
    mode = "floor" if node.target is aten.floor_divide.default else node.kwargs.get("rounding_mode")
    if mode not in (None, "floor"):
        return

    def make() -> Node:
        divisor = node.args[1] if isinstance(node.args[1], Node) else _constant(module, node)
        quotient = _call(module, node, aten.div.Tensor, node.args[0], divisor)
        return quotient if mode is None else _call(module, node, aten.floor.default, quotient)

    _replace(module, node, make)


def _is_float(node: Node) -> bool:
    values = [operand.meta.get("val") for operand in node.all_input_nodes]
    return all(isinstance(value, torch.Tensor) and value.is_floating_point() for value in values)


def _is_alone(node: Node) -> bool:
    """Whether no other node sees that this node overwrites its operand: the operand has no view and no other reader."""
    operand = node.args[0]
    if not isinstance(operand, Node) or len(operand.users) > 1:
        return False
    schema = getattr(operand.target, "_schema", None)
    return operand.op == "placeholder" or (
        schema is not None and all(result.alias_info is None for result in schema.returns)
    )


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


def _call(module: GraphModule, node: Node, target: Any, *args: Any, **kwargs: Any) -> Node:
    made = module.graph.call_function(target, args, kwargs)
    made.meta = {**node.meta, FROM: node.meta.get(FROM, (node.name, node.target))}
    return made


def _not_equal(module: GraphModule, node: Node) -> Node:
    return _call(module, node, aten.logical_not.default, _call(module, node, aten.eq.Tensor, *node.args))


def _constant(module: GraphModule, node: Node) -> Node:
    """The number among the two operands of a node, as a tensor."""
    operand, number = node.args if isinstance(node.args[0], Node) else node.args[::-1]
    value = operand.meta["val"]  # type: ignore[union-attr]
    shape, dtype = (1,) if value.dim() else (), torch.result_type(torch.empty(1, dtype=value.dtype), number)  # type: ignore[arg-type]
    tensor = torch.full(shape, number, dtype=dtype)  # type: ignore[arg-type]
    if module.meta[_FULL]:
        made = module.graph.call_function(aten.full.default, (list(shape), number), {"dtype": dtype})
        made.meta = {
            "val": value.fake_mode.from_tensor(tensor),
            DISALLOWED: False,
        }  # torchao observes fake tensors only
        return made
    name = f"_carina_{node.name}_other"
    module.register_buffer(name, tensor)
    made = module.graph.get_attr(name)
    made.meta["val"] = tensor
    return made
