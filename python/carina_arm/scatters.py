"""Decomposes operators that put values into a part of a tensor, as the Arm backend does before it annotates.

    aten.tril(x, d)                    -> aten.where.self(mask, x, 0), with a constant mask
    aten.select_scatter(x, y, 1, i)    -> aten.where.self(aten.eq.Tensor(positions, i), y expanded to x, x)
    aten.slice_scatter(x, y, 1, 2, 5)  -> aten.cat([x[:, :2], y, x[:, 5:]], 1)
    aten.slice_scatter(x, y, 0, 0, 6, 2) -> aten.index_put(x, [positions], y); other axes are moved to the front and back

Source: backends/arm/_passes/decompose_{tril,select_scatter,slice_scatter}_pass.py of ExecuTorch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

aten = torch.ops.aten


class Builder:
    """Makes nodes in place of one node. Each has the node's meta, and a value of its own shape and type."""

    def __init__(self, module: GraphModule, node: Node) -> None:
        self.module, self.node, self.meta = module, node, dict(node.meta)
        self.mode = getattr(node.meta["val"], "fake_mode", None)

    def call(self, target: OpOverload, *args: Any, **kwargs: Any) -> Node:
        made = self.module.graph.call_function(target, args, kwargs)
        made.meta = {**self.meta, "val": self.value(target, *args, **kwargs)}
        return made

    def value(self, target: OpOverload, *args: Any, **kwargs: Any) -> Any:
        """The fake tensor that this call returns."""
        with self.mode or contextlib.nullcontext():
            return target(*map_arg(args, self._value), **map_arg(kwargs, self._value))

    def constant(self, name: str, tensor: torch.Tensor) -> Node:
        name = f"_carina_{self.node.name}_{name}"
        self.module.register_buffer(name, tensor)
        made = self.module.graph.get_attr(name)
        made.meta["val"] = tensor
        return made

    def _value(self, node: Node) -> Any:
        value = node.meta["val"]
        if self.mode is None or hasattr(value, "fake_mode"):
            return value
        return self.mode.from_tensor(value)


def _tril(build: Builder, x: Node, diagonal: int = 0) -> Node:
    shape = x.meta["val"].shape
    mask = build.constant("mask", torch.ones(shape[-2:], dtype=torch.bool).tril(diagonal))
    if x.meta["val"].dtype == torch.bool:
        return build.call(aten.bitwise_and.Tensor, x, mask)
    zero = build.constant("zero", torch.zeros((), dtype=x.meta["val"].dtype))
    return build.call(aten.where.self, mask, x, zero)


def _select_scatter(build: Builder, x: Node, source: Node, dim: int, index: int) -> Node:
    shape = list(x.meta["val"].shape)
    dim, index = dim % len(shape), index % shape[dim]
    positions = build.call(aten.arange.start_step, 0, shape[dim], 1, device=x.meta["val"].device)
    positions = build.call(aten.view_copy.default, positions, [-1 if axis == dim else 1 for axis in range(len(shape))])
    mask = build.call(aten.eq.Tensor, positions, build.constant("index", torch.full((1,), index)))
    whole = build.call(aten.expand_copy.default, build.call(aten.unsqueeze_copy.default, source, dim), shape)
    return build.call(aten.where.self, mask, whole, x)


def _slice_scatter(
    build: Builder, x: Node, source: Node, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Node:
    shape = list(x.meta["val"].shape)
    dim = dim % len(shape)
    first, last, step = slice(start, end, step).indices(shape[dim])
    if last <= first:
        return x
    if step == 1:
        before = [build.call(aten.slice_copy.Tensor, x, dim, 0, first)] if first > 0 else []
        after = [build.call(aten.slice_copy.Tensor, x, dim, last, shape[dim])] if last < shape[dim] else []
        return build.call(aten.cat.default, [*before, source, *after], dim)
    positions = build.call(aten.arange.start_step, first, last, step, dtype=torch.int32, device=x.meta["val"].device)
    if dim == 0:
        return build.call(aten.index_put.default, x, [positions], source)
    order = [dim, *(axis for axis in range(len(shape)) if axis != dim)]
    moved = [build.call(aten.permute_copy.default, value, order) for value in (x, source)]
    put = build.call(aten.index_put.default, moved[0], [positions], moved[1])
    return build.call(aten.permute_copy.default, put, [order.index(axis) for axis in range(len(shape))])


DECOMPOSED: dict[OpOverload, Callable[..., Node]] = {
    aten.tril.default: _tril,
    aten.select_scatter.default: _select_scatter,
    aten.slice_scatter.default: _slice_scatter,
}
