"""Finds the values that only softmaxes read, whose observers are those of carina_arm.row_observers.

%masked = add(%scores, %mask)         its result is a summand's sum: %scores and %mask are summands
%highest = amax(%masked, [-1], True)
%difference = sub(%masked, %highest)  %masked and %difference are values that only a softmax reads
%power = exp(%difference)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._pytree import tree_flatten

from .exported import attribute_of
from .row_observers import LIMIT, Rows

aten = torch.ops.aten

# Operators whose result has the rows of an operand, and may share its parameters.
_KEEPS_ROWS = {
    getattr(aten, name)
    for name in ("where", "masked_fill", "maximum", "clamp", "clone", "contiguous", "detach", "alias", "dropout")
}
# Those for which this is so if the rows are the last axis, and the result has the same last axis.
_KEEPS_LAST_AXIS = {
    getattr(aten, name) for name in ("view", "reshape", "_unsafe_view", "expand", "unsqueeze", "squeeze")
}


def rows_of_groups(module: GraphModule, group_of: Mapping[Node, int], depth: float) -> dict[int, Rows]:
    """How the observers see the values of a decomposed graph, for the groups of values that need a special observer.

    `depth`: that of summands.
    """
    found = _Softmaxes(module, group_of).rows(depth)
    return dict.fromkeys(group_of.values(), Rows()) | found if _has_infinities(module) else found


def _has_infinities(module: GraphModule) -> bool:
    return any(
        _is_infinite(module, node) or any(_is_infinite_number(x) for x in tree_flatten((node.args, node.kwargs))[0])
        for node in module.graph.nodes
    )


def _is_infinite_number(number: object) -> bool:
    return isinstance(number, float) and abs(number) >= LIMIT


def _is_infinite(module: GraphModule, node: Node) -> bool:
    """Whether the node is a constant with an infinite element."""
    if node.op != "get_attr":
        return False
    tensor = attribute_of(module, str(node.target))
    return (
        isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and bool((tensor.detach().abs() >= LIMIT).any())
    )


class _Softmaxes:
    def __init__(self, module: GraphModule, group_of: Mapping[Node, int]) -> None:
        self.module, self.group_of = module, group_of
        self.members: dict[int, list[Node]] = {}
        for node, group in group_of.items():
            self.members.setdefault(group, []).append(node)
        self.axes: dict[Node, int] = {}  # of the values that a softmax reads, negative
        self.readers: dict[Node, set[Node]] = {}  # the nodes of these softmaxes
        for node in module.graph.find_nodes(op="call_function", target=aten.amax.default):
            self._find(node)

    def _find(self, highest: Node) -> None:
        x, axes = highest.args[0], _argument(highest, 1, "dim")
        if not isinstance(x, Node) or not isinstance(axes, (list, tuple)) or len(axes) != 1:
            return
        axis = axes[0] % x.meta["val"].dim() - x.meta["val"].dim()
        for difference in highest.users:
            is_softmax = difference.target is aten.sub.Tensor and difference.args[:2] == (x, highest)
            if is_softmax and all(user.target is aten.exp.default for user in difference.users):
                self._add(x, axis, {highest, difference})
                self._add(highest, axis, {difference})
                self._add(difference, axis, set(difference.users))

    def _add(self, x: Node, axis: int, readers: set[Node]) -> None:
        if self.axes.setdefault(x, axis) == axis:
            self.readers.setdefault(x, set()).update(readers)

    def rows(self, depth: float) -> dict[int, Rows]:
        found: dict[int, Rows] = {}
        for x, axis in self.axes.items():
            if x.target is aten.amax.default:
                continue
            group = self.group_of.get(x)
            rows = Rows(axis, x.meta["val"].shape[axis], skips_alike=True)
            if group is not None and self._is_read_only(
                group, rows, lambda member, user: user in self.readers.get(member, ())
            ):
                found[group] = rows
        self._add_summands(found, depth)
        return found

    def _add_summands(self, found: dict[int, Rows], depth: float) -> None:
        left = list(found)
        while left:
            sums = [node for node in self.members[left.pop()] if _is_sum(node)]
            for total in sums:
                for operand in total.all_input_nodes:
                    group = self.group_of.get(operand)
                    if group is None or group in found:
                        continue
                    rows = replace(found[self.group_of[total]], depth=depth, skips_alike=False)
                    if self._is_read_only(
                        group, rows, lambda _, user: _is_sum(user) and self.group_of.get(user) in found
                    ):
                        found[group] = replace(rows, leaves_lowest=self._meets_infinity(group))
                        left.append(group)

    def _is_read_only(self, group: int, rows: Rows, is_reader: Callable[[Node, Node], bool]) -> bool:
        """Whether the values of a group are only read by these readers, and by nodes whose results have the same rows and share the group."""
        return all(
            is_reader(member, user) or self._keeps(member, user, rows) or self._compares_with_infinity(user)
            for member in self.members[group]
            for user in member.users
        )

    def _keeps(self, member: Node, user: Node, rows: Rows) -> bool:
        operator = getattr(user.target, "overloadpacket", None)
        if self.group_of.get(user) != self.group_of[member]:
            return False
        if operator in _KEEPS_LAST_AXIS:
            before, after = member.meta["val"].shape, user.meta["val"].shape
            return rows.axis == -1 and (before.numel() == 1 or before[-1:] == after[-1:])
        return operator in _KEEPS_ROWS

    def _meets_infinity(self, group: int) -> bool:
        return any(self._compares_with_infinity(user) for member in self.members[group] for user in member.users)

    def _compares_with_infinity(self, node: Node) -> bool:
        """Whether the node is x > -infinity: attention decides with it which queries see a key."""
        return (
            node.target is aten.gt.Tensor and isinstance(node.args[1], Node) and _is_infinite(self.module, node.args[1])
        )


def _is_sum(node: Node) -> bool:
    return node.target is aten.add.Tensor and _argument(node, 2, "alpha", 1) == 1


def _argument(node: Node, place: int, name: str, default: Any = None) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)
