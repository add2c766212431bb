"""Delegates that would have no operations left. As in the Arm backend, partitioners do not delegate such nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from carina import _native

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node


def without_noops(
    program: ExportedProgram, assignments: Sequence[_native.NodeAssignment]
) -> list[_native.NodeAssignment]:
    """The assignments without delegates that only rename or reshape tensors."""
    nodes = {node.name: node for node in program.graph.nodes}
    busy = {
        assignment.delegate
        for assignment in assignments
        if assignment.name in nodes and not _is_noop(assignment.op, nodes[assignment.name])
    }
    return [assignment for assignment in assignments if assignment.delegate < 0 or assignment.delegate in busy]


def _is_noop(op: str, node: Node) -> bool:
    """`op`: the operator in the form "aten.view_copy.default", for a node in any dialect."""
    namespace, name, *_ = op.split(".")
    if namespace == "quantized_decomposed":
        return True
    holds = _NOOPS.get(name)
    return holds is not None and holds(node)


def _operand(node: Node) -> torch.Tensor:
    value = node.all_input_nodes[0].meta["val"]
    assert isinstance(value, torch.Tensor)
    return value


def _always(node: Node) -> bool:
    del node
    return True


def _keeps_shape(node: Node) -> bool:
    return bool(_operand(node).shape == node.meta["val"].shape)


def _keeps_type(node: Node) -> bool:
    return bool(_operand(node).dtype == node.meta["val"].dtype)


def _keeps_elements(node: Node) -> bool:
    """Whether the node is an expand that repeats nothing."""
    operand, result = _operand(node), node.meta["val"]
    return bool(math.prod(operand.shape) == math.prod(result.shape) and operand.dim() == result.dim())


def _keeps_strides(node: Node) -> bool:
    operand, result = _operand(node), node.meta["val"]
    return (
        _keeps_shape(node)
        and operand.stride() == result.stride()
        and operand.storage_offset() == result.storage_offset()
    )


def _keeps_order(node: Node) -> bool:
    axes = node.args[1]
    return isinstance(axes, (list, tuple)) and [axis % len(axes) for axis in axes] == list(range(len(axes)))  # type: ignore[operator]


def _flips_nothing(node: Node) -> bool:
    return not node.args[1]


# By the operator's name, with and without the "_copy" of the edge dialect.
_NOOPS: dict[str, Callable[[Node], bool]] = {
    "_clone_dim_order": _always,
    "clone": _always,
    "alias": _always,
    "alias_copy": _always,
    "detach": _always,
    "detach_copy": _always,
    "view": _always,
    "view_copy": _always,
    "_to_dim_order_copy": _keeps_type,
    "expand": _keeps_elements,
    "expand_copy": _keeps_elements,
    "squeeze": _keeps_shape,
    "squeeze_copy": _keeps_shape,
    "as_strided": _keeps_strides,
    "as_strided_copy": _keeps_strides,
    "permute": _keeps_order,
    "permute_copy": _keeps_order,
    "flip": _flips_nothing,
}
