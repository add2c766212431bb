"""Decomposes nodes, so that torchao can observe the values within them.

C++ decides which nodes, and the nodes that replace them (carina._native.expand). This module writes them into the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from carina import _native
from torch._ops import OpOverload
from torch.fx import GraphModule, Node

from .annotation import Plan, number_of
from .exported import save_module
from .spelling import FROM

_LEFT_OUT = ("layout", "device", "pin_memory", "memory_format", "non_blocking")
# Source: ScalarType.h of c10
_DTYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
    15: torch.bfloat16,
}


def expand(module: GraphModule, plan: Plan) -> None:
    """Replaces each node whose internal values have their own parameters by several nodes."""
    model, by_name = save_module(module)
    found = _native.expand(
        model,
        "model",
        general=number_of(plan.general),
        of_node={name: number_of(scheme) for name, scheme in plan.of_node.items()},
    )
    for expansion in found:
        _Expander(module, expansion, by_name).run()
    if found:
        module.graph.eliminate_dead_code()
        module.recompile()


class _Expander:
    def __init__(self, module: GraphModule, expansion: _native.Expansion, by_name: dict[str, Node]) -> None:
        self.module, self.expansion, self.by_name = module, expansion, by_name
        self.node = by_name[expansion.node]
        self.names = list(expansion.values)
        self.made: dict[int, Any] = {}

    def run(self) -> None:
        for index in self.expansion.inputs:
            self.made[index] = self.by_name[self.names[index]]
        with self.module.graph.inserting_before(self.node):
            for index, array in self.expansion.constants.items():
                self.made[index] = self._constant(index, array)
            for op, operands, attributes, results in self.expansion.nodes:
                self._insert(op, operands, attributes, results)
        outputs = [self.made[index] for index in self.expansion.outputs]
        self._replace(outputs)

    def _constant(self, index: int, array: Any) -> Node:
        known = self.by_name.get(self.names[index])
        if known is not None and known.op == "get_attr":
            return known if list(array.shape) == list(known.meta.get("val", array).shape) else self._new(index, array)
        return self._new(index, array)

    def _new(self, index: int, array: Any) -> Node:
        name = f"_carina_{self.node.name}_{index}"
        tensor = torch.from_numpy(array.copy())
        self.module.register_buffer(name, tensor)
        node = self.module.graph.get_attr(name)
        node.meta["val"] = tensor
        return node

    def _insert(
        self, op: str, operands: Sequence[int], attributes: Mapping[str, object], results: Sequence[int]
    ) -> None:
        if op == "aten.view.default":  # torch cannot view all tensors in another shape: the operand may be transposed
            op, attributes = "aten.reshape.default", {"shape": attributes["size"]}
        target = _overload(op)
        given = [None if index < 0 else self.made[index] for index in operands]
        args, kwargs = _arguments(target, given, attributes)
        node = self.module.graph.call_function(target, args, kwargs)
        node.meta = {key: value for key, value in self.node.meta.items() if key not in ("val", "tensor_meta")}
        node.meta[FROM] = self.node.meta.get(FROM, (self.node.name, self.node.target))
        self._bind(node, results)

    def _bind(self, node: Node, results: Sequence[int]) -> None:
        import operator

        if len(results) == 1:
            returns = node.target._schema.returns  # type: ignore[union-attr]
            if len(returns) == 1 and "[]" not in str(returns[0].type):
                self.made[results[0]] = node
                return
        for place, index in enumerate(results):
            if index >= 0:
                self.made[index] = self.module.graph.call_function(operator.getitem, (node, place))

    def _replace(self, outputs: Sequence[Node]) -> None:
        import operator

        picks = [user for user in self.node.users if user.target is operator.getitem]
        if not picks:
            self.node.replace_all_uses_with(outputs[0])
        for pick in picks:
            pick.replace_all_uses_with(outputs[pick.args[1]])  # type: ignore[index]
            self.by_name[pick.name] = outputs[pick.args[1]]  # type: ignore[index]
            self.module.graph.erase_node(pick)
        self.by_name[self.node.name] = outputs[0]
        self.module.graph.erase_node(self.node)


def _overload(op: str) -> OpOverload:
    """The operator with this name, "aten.mul.Tensor"."""
    namespace, name, overload = op.split(".")
    found: OpOverload = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    return found


def _arguments(
    target: OpOverload, operands: list[Any], attributes: Mapping[str, object]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The operator's arguments: tensors in the order of its schema, all others by name."""
    left = list(operands)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for argument in target._schema.arguments:
        kind = str(argument.type)
        if "Tensor" in kind:
            value: Any = left if kind.startswith("List") else left.pop(0) if left else None
        elif argument.name in _LEFT_OUT or argument.name not in attributes:
            continue
        else:
            value = _attribute(argument, attributes[argument.name])
        if argument.kwarg_only or len(args) < _position(target, argument.name):
            kwargs[argument.name] = value
        else:
            args.append(value)
    return tuple(args), kwargs


def _position(target: OpOverload, name: str) -> int:
    return [argument.name for argument in target._schema.arguments].index(name)


def _attribute(argument: Any, value: object) -> Any:
    if argument.name != "dtype" or value is None:
        return value
    return _DTYPES[value] if isinstance(value, int) else getattr(torch, str(value))
