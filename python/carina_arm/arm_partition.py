"""What Carina delegates and the Arm backend keeps on the CPU, for ArmCompileSpec.set_arm_partition().

The rows follow the checks in backends/arm/operator_support of ExecuTorch in the summer of 2026. Example, for a specification of ethos-u55:

    aten.lt.Tensor(x, y)                       -> kept on the CPU: Vela has no GREATER on ethos-u55
    aten.flip(x[1,3,8,8], [3])                 -> kept on the CPU: only axes 1 and 2 of four
    aten.convolution(x, w, b, [4, 4], [1, 1])  -> kept on the CPU: strides above 3 only without padding and dilation
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Node

from .exported import operator_name, plain_target

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from .tosa_specification import TosaSpecification


@dataclass(frozen=True)
class _Call:
    """A node, with its arguments by their names in the operator's schema."""

    node: Node
    schema: Any
    spec: TosaSpecification

    @property
    def result(self) -> torch.Tensor:
        return _tensor(self.node)

    def argument(self, name: str) -> Any:
        for place, argument in enumerate(self.schema.arguments):
            if argument.name == name:
                given = self.node.args[place] if place < len(self.node.args) else self.node.kwargs.get(name)
                return argument.default_value if given is None else given
        return None

    @property
    def operands(self) -> list[torch.Tensor]:
        """The tensors that the node reads, without numbers and sizes."""
        values = [node.meta.get("val") for node in self.node.all_input_nodes]
        return [value for value in values if isinstance(value, torch.Tensor)]

    def pair(self, name: str, default: int) -> tuple[int, int]:
        """An argument for two axes, which may be written once for both or left out."""
        numbers = list(self.argument(name) or [default])
        return (numbers[0], numbers[-1])

    def pool_stride(self) -> tuple[int, int]:
        """The stride of a pool, which is its kernel's size if it is left out."""
        return self.pair("stride" if self.argument("stride") else "kernel_size", 1)


def _tensor(node: Node) -> torch.Tensor:
    value: torch.Tensor = node.meta["val"]
    return value


@dataclass(frozen=True)
class _Row:
    """Operators that stay on the CPU if the condition holds; `u55`: on ethos-u55 only."""

    names: tuple[str, ...]
    holds: Callable[[_Call], bool]
    u55: bool = False


def _always(call: _Call) -> bool:
    del call
    return True


def _is_bool_or_int64(call: _Call) -> bool:
    return call.result.dtype in (torch.bool, torch.int64)


def _is_cast_of_ethos_u55(call: _Call) -> bool:
    operand = call.operands[0].dtype
    return operand != call.result.dtype and (operand in (torch.bool, torch.int32) or call.result.dtype == torch.bool)


def _is_cast_of_floats(call: _Call) -> bool:
    """A cast of quantized floats to integers, which the Arm backend would have to do with the floats themselves, or of bools to floats."""
    if call.spec.support_float():
        return False
    operand, result = call.operands[0], call.result
    return operand.is_floating_point() > result.is_floating_point() or (
        operand.dtype == torch.bool and result.is_floating_point()
    )


def _is_other_flip(call: _Call) -> bool:
    rank, axes = call.result.dim(), call.argument("dims")
    return not (rank == 4 and len(axes) == 1 and axes[0] % rank in (1, 2))


def _is_other_nearest(call: _Call) -> bool:
    before, after = call.operands[0].shape, call.result.shape
    if call.argument("scale_factors"):
        steps = call.pair("scale_factors", 1)
        return before[0] != 1 or steps[0] != steps[1] or steps[0] not in (2, 4, 8)
    return before[0] != 1 or not any(
        after[2] == scale * before[2] and after[3] == scale * before[3] for scale in (2, 4, 8)
    )


def _is_large_pool(call: _Call) -> bool:
    kernel = call.pair("kernel_size", 1)
    stride = call.pool_stride()
    shape = call.operands[0].shape
    padded = (
        not call.argument("count_include_pad")
        and call.argument("divisor_override") is None
        and any(call.pair("padding", 0))
    )
    return (
        shape[0] != 1
        or max(stride) > 3
        or kernel[0] > 256
        or kernel[0] * kernel[1] > 65536
        or (padded and max(kernel) > 8)
    )


def _is_large_step(call: _Call) -> bool:
    """A convolution with a stride or a kernel that Vela does not have on ethos-u55."""
    operand, weight = call.operands[:2]
    kernel = [*weight.shape[2:], 1, 1]
    stride, dilation = call.pair("stride", 1), call.pair("dilation", 1)
    if call.argument("transposed") or call.schema.name.startswith("aten::conv_transpose"):
        rows_alone, columns_alone = operand.shape[2] == 1 and kernel[0] == 1, operand.shape[-1] == 1 and kernel[1] == 1
        return not (
            stride in ((1, 1), (2, 2)) or (stride == (1, 2) and rows_alone) or (stride == (2, 1) and columns_alone)
        )
    if operand.dim() == 5 and (kernel[2] != 1 or call.argument("stride")[0] > 1):
        return True
    padding = call.argument("padding")
    padded = padding == "same" or (padding != "valid" and any(padding))
    far = any(step > 3 and (padded or spread != 1) for step, spread in zip(stride, dilation, strict=True))
    return far or kernel[1] > 64 or kernel[0] * kernel[1] > 4096


def _has_dilated_steps(call: _Call) -> bool:
    pairs = zip(call.pair("dilation", 1), call.pool_stride(), strict=True)
    values = call.node.meta["val"]
    result = values[0] if isinstance(values, (list, tuple)) else values
    return any(dilation > 1 and stride != 1 for dilation, stride in pairs) and tuple(result.shape[2:]) != (1, 1)


def _is_other_argmax(call: _Call) -> bool:
    """TOSA's ARGMAX has results of int32, and with a specification without INT it takes no integers."""
    values = [
        None if user.op == "output" else user.meta.get("val")
        for user in call.node.users
        if "_assert" not in str(user.target)
    ]
    casts = [isinstance(value, torch.Tensor) and value.dtype == torch.int32 for value in values]
    integers = not call.spec.support_integer() and not call.operands[0].is_floating_point()
    return integers or not casts or not all(casts)


def _has_32_bits(call: _Call) -> bool:
    return any("quantize_per_tensor" in str(user.target) and torch.int32 in user.args for user in call.node.users)


def _has_no_statistics(call: _Call) -> bool:
    return call.schema.overload_name == "no_stats" or call.argument("running_mean") is None


def _chooses_integers(call: _Call) -> bool:
    if call.spec.support_integer():
        return False
    return any(not (operand.is_floating_point() or operand.dtype == torch.bool) for operand in call.operands)


def _mixes_floats_and_integers(call: _Call) -> bool:
    kinds = {operand.is_floating_point() for operand in call.operands}
    return not call.spec.support_float() and len(kinds) > 1


def _shrinks(too_much: Callable[[int, int], bool]) -> Callable[[_Call], bool]:
    return lambda call: any(
        too_much(before, after) for before, after in zip(call.operands[0].shape[2:], call.result.shape[2:], strict=True)
    )


def _of_all_elements(call: _Call) -> bool:
    return not call.schema.overload_name


# What its tables compute, and the extrema of axes.
_FUNCTIONS = (
    "acos",
    "acosh",
    "amax",
    "amin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "elu",
    "erf",
    "erfinv",
    "exp",
    "expm1",
    "floor",
    "gelu",
    "hardsigmoid",
    "hardswish",
    "leaky_relu",
    "log",
    "log10",
    "log1p",
    "pow",
    "reciprocal",
    "remainder",
    "round",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "sinh",
    "tan",
    "tanh",
)

_ROWS = (
    _Row(
        (
            "any",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_not",
            "__and__",
            "__or__",
            "__xor__",
            "logical_and",
            "logical_or",
            "logical_xor",
            "logical_not",
            "eq",
            "ne",
            "ge",
            "gt",
            "le",
            "lt",
            "where",
            "masked_fill",
            "gather",
            "grid_sampler_2d",
            "index",
            "index_select",
            "index_put",
            "scatter",
            "scatter_add",
            "scatter_reduce",
            "select_scatter",
            "unfold_copy",
            "upsample_bilinear2d",
            "reflection_pad1d",
            "reflection_pad2d",
            "reflection_pad3d",
        ),
        _always,
        u55=True,
    ),
    _Row(
        (
            "cat",
            "expand",
            "expand_copy",
            "repeat",
            "constant_pad_nd",
            "pad",
            "view",
            "view_copy",
            "reshape",
            "permute",
            "permute_copy",
            "transpose",
            "transpose_copy",
        ),
        _is_bool_or_int64,
        u55=True,
    ),
    _Row(("_to_copy", "_to_dim_order_copy", "to"), _is_cast_of_ethos_u55, u55=True),
    _Row(("_to_copy", "_to_dim_order_copy", "to"), _is_cast_of_floats),
    _Row(_FUNCTIONS, _has_32_bits, u55=True),
    _Row(("flip",), _is_other_flip, u55=True),
    _Row(("upsample_nearest2d",), _is_other_nearest, u55=True),
    _Row(("avg_pool2d",), _is_large_pool, u55=True),
    _Row(
        ("convolution", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"), _is_large_step, u55=True
    ),
    _Row(("upsample_nearest2d",), _shrinks(lambda before, after: before >= 16 * after)),
    _Row(("upsample_bilinear2d",), _shrinks(lambda before, after: before > 16 * after)),
    _Row(("max_pool2d", "max_pool2d_with_indices"), _has_dilated_steps),
    _Row(("max", "min"), _of_all_elements),
    _Row(("argmax",), _is_other_argmax),
    _Row(("batch_norm", "_native_batch_norm_legit"), _has_no_statistics),
    _Row(("where",), _chooses_integers),
    _Row(("add", "sub", "mul"), _mixes_floats_and_integers),
)


def left_by_arm(spec: TosaSpecification, program: ExportedProgram) -> list[str]:
    """The nodes of a program, in any dialect, that the rows keep on the CPU."""
    return [node.name for node in program.graph.nodes if node.op == "call_function" and _is_left(spec, node)]


def _is_left(spec: TosaSpecification, node: Node) -> bool:
    namespace, _, name = operator_name(node).partition("::")
    if namespace not in ("aten", "dim_order_ops"):
        return False
    call = _Call(node, plain_target(node.target)._schema, spec)
    if not call.operands:
        return False
    return any(name in row.names and (spec.is_U55_subset or not row.u55) and row.holds(call) for row in _ROWS)


def constants_alone(program: ExportedProgram, spec: TosaSpecification) -> list[list[Node]]:
    """Groups of nodes that make a constant and are in no delegate: a node without an operand, and the node that quantizes it, if there is
    one. In the Arm backend each group is a delegate without an input."""
    return [group for node in program.graph.nodes if _is_constant(node) and (group := _with_quantization(node, spec))]


def _is_constant(node: Node) -> bool:
    return (
        node.op == "call_function"
        and "delegation_tag" not in node.meta
        and not node.all_input_nodes
        and operator_name(node) in ("aten::full", "aten::ones", "aten::zeros", "aten::eye")
    )


def _with_quantization(node: Node, spec: TosaSpecification) -> list[Node]:
    """The group of a constant, or none if the specification does not have its type."""
    quantized = [user for user in node.users if "quantized_decomposed.quantize_per_tensor" in str(user.target)]
    if quantized and len(quantized) == len(node.users):
        return [node, *quantized]
    return [node] if spec.support_float() or not _tensor(node).is_floating_point() else []
