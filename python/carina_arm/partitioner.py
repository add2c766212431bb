"""Partitioners for ExecuTorch's to_edge_transform_and_lower, and for carina.arm.to_edge_transform_and_lower."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from carina import _native
from carina.errors import InputError

from .compile_spec import ArmCompileSpec
from .compile_spec_entry import CompileSpecEntry
from .ethosu_compile_spec import EthosUCompileSpec
from .specs import spec_of
from .targets import note, partition_target
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

if TYPE_CHECKING:
    from torch._ops import OpOverload
    from torch.export import ExportedProgram
    from torch.fx import Node
    from torch.fx.passes.operator_support import OperatorSupportBase

    from .tosa_specification import TosaSpecification

logger = logging.getLogger("carina.arm")


class TOSAPartitioner:
    """Chooses which nodes of a program become delegates.

    Args:
        compile_spec: the target and the options of the delegates.
        additional_checks: checks of the user. A node that one of them does not support stays on the CPU. Examples are ExecuTorch's
        DontPartition, DontPartitionName and DontPartitionModule.
    """

    backend_id: ClassVar[str] = "TOSABackend"

    def __init__(
        self,
        compile_spec: TosaCompileSpec | list[CompileSpecEntry],
        additional_checks: Sequence[OperatorSupportBase] | None = None,
    ) -> None:
        self._set_up(compile_spec, additional_checks)

    def _set_up(
        self,
        given: ArmCompileSpec | Sequence[CompileSpecEntry],
        additional_checks: Sequence[OperatorSupportBase] | None,
    ) -> None:
        compile_spec = spec_of(given)
        self.compile_spec = compile_spec
        self.tosa_spec = compile_spec.tosa_spec
        self.additional_checks = additional_checks
        self.intermediate_path = compile_spec._get_intermediate_path()
        self._entries = compile_spec._to_list()
        self._custom_partition_ops: set[OpOverload] = set()
        # From the program before ExecuTorch decomposed it: its weights, and the nodes that checks rejected.
        self._weights: dict[str, Any] = {}
        self._rejected: dict[str, str] = {}
        if "executorch.exir" in sys.modules:
            from executorch.exir.backend.partitioner import Partitioner

            Partitioner.register(type(self))

    def __call__(self, exported_program: ExportedProgram) -> Any:
        """Calls partition(), as ExecuTorch expects."""
        return self.partition(exported_program)

    @property
    def spec(self) -> dict[str, object]:
        """Has no effect; a method of ExecuTorch's older backends."""
        return {}

    @property
    def delegation_spec(self) -> Any:
        """The id of the backend and its compile specs, in ExecuTorch's form."""
        from executorch.exir.backend.partitioner import DelegationSpec

        return DelegationSpec(self.backend_id, self.compile_spec._to_list())

    def partition(self, exported_program: ExportedProgram) -> Any:
        """Tags the nodes of each delegate, and returns ExecuTorch's PartitionResult.

        Nodes that stay on the CPU are logged with their reasons (logger "carina.arm", level INFO).

        Raises:
            carina.CarinaError: a program that cannot be read, an unknown target.
        """
        from executorch.exir.backend.partitioner import PartitionResult
        from executorch.exir.backend.utils import tag_constant_data

        from .arm_partition import constants_alone
        from .backend import must_be_chosen

        must_be_chosen(self.backend_id)
        assignments = self._assignments(exported_program)
        _report(assignments, self.tosa_spec, self.intermediate_path)
        by_name = {node.name: node for node in exported_program.graph.nodes}
        tags = {}
        for assignment in assignments:
            if assignment.delegate >= 0 and assignment.name in by_name:  # other nodes are in a branch of a condition
                tags[f"tag{assignment.delegate}"] = self.delegation_spec
                _tag(by_name[assignment.name], f"tag{assignment.delegate}")
        if self.compile_spec._arm_partition:
            for number, group in enumerate(constants_alone(exported_program, self.tosa_spec)):
                tags[f"constant{number}"] = self.delegation_spec
                for node in group:
                    _tag(node, f"constant{number}")
        tag_constant_data(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def ops_to_not_decompose(self, ep: ExportedProgram) -> tuple[list[OpOverload], Callable[[Node], bool] | None]:
        """The operators that ExecuTorch must not decompose: those that delegates support."""
        from torch._ops import OpOverload

        from .exported import has_edge_dialect, weights_of

        if has_edge_dialect(ep):
            return [], None  # ExecuTorch calls this again when the delegates are made
        self._weights = weights_of(ep)
        self._rejected = self._left_by_arm(ep) | dict(_rejected(ep, self.additional_checks or ()))
        taken = {assignment.name for assignment in self._assignments(ep) if assignment.delegate >= 0}
        if self.compile_spec._arm_partition:
            taken |= {
                node.name for node in ep.graph.nodes if str(node.target) == "aten.eye.default"
            }  # see constants_alone()
        targets: dict[OpOverload, bool] = {}
        for node in ep.graph.nodes:
            if isinstance(node.target, OpOverload):
                targets[node.target] = targets.get(node.target, True) and node.name in taken
        return [*(target for target, whole in targets.items() if whole), *self._custom_partition_ops], None

    def register_custom_partition_op(self, op: OpOverload) -> None:
        """Keeps an operator whole. Carina delegates supported operators; others stay on the CPU."""
        self._custom_partition_ops.add(op)

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        """Returns the program unchanged."""
        return exported_program

    def kept_on_cpu(self, program: ExportedProgram) -> list[str]:
        """The names of the nodes that the user's checks reject, in order."""
        return [name for name, _ in _rejected(program, self.additional_checks or ())]

    def _left_by_arm(self, program: ExportedProgram) -> dict[str, str]:
        """With set_arm_partition(): the names of the nodes that the Arm backend keeps on the CPU, with the reason."""
        from .arm_partition import left_by_arm

        found = left_by_arm(self.tosa_spec, program) if self.compile_spec._arm_partition else []
        return dict.fromkeys(found, "set_arm_partition(): the Arm backend keeps it on the CPU")

    def _assignments(self, program: ExportedProgram) -> list[_native.NodeAssignment]:
        from .exported import left_whole, origins_of, save_program
        from .noops import without_noops

        kept = dict(_rejected(program, self.additional_checks or ()))
        for node in program.graph.nodes:
            if node.op != "call_function" or _is_quantization(node):
                continue  # a rejected node's neighbors belong to the boundaries of the delegates beside it
            made_of = next((self._rejected[name] for name in origins_of(node) if name in self._rejected), None)
            if made_of is not None:
                kept.setdefault(node.name, made_of)
        if not self.tosa_spec.support_float():
            kept |= dict.fromkeys(_left_float(program), "its quantizer, which leaves it float")
        kept |= dict.fromkeys(
            _beyond(self.tosa_spec, program), "the specification, which has no profile or extension for it"
        )
        if isinstance(self.compile_spec, EthosUCompileSpec):
            kept |= dict.fromkeys(_of_open_sizes(program), "the target, whose delegates have fixed sizes")
        kept |= self._left_by_arm(program) | left_whole(program)
        for name, check in kept.items():
            logger.info("%s: Rejected by %s", name, check)
        try:
            assignments = _native.map_delegates(
                save_program(program, self._weights),
                "program",
                partition_target(self.compile_spec, program),
                cpu_nodes=list(kept),
                delegates="npu" if self.compile_spec._cost_rule else "all",
                note=note,
            )
        except InputError as error:
            logger.warning("nothing is delegated, since the program cannot be read as a whole: %s", error)
            return []
        return without_noops(program, assignments)


class EthosUPartitioner(TOSAPartitioner):
    """The partitioner of an Ethos-U. The arguments are those of TOSAPartitioner."""

    backend_id: ClassVar[str] = "EthosUBackend"

    def __init__(
        self,
        compile_spec: EthosUCompileSpec | list[CompileSpecEntry],
        additional_checks: Sequence[OperatorSupportBase] | None = None,
    ) -> None:
        self._set_up(compile_spec, additional_checks)


class VgfPartitioner(TOSAPartitioner):
    """The partitioner of VGF. The arguments are those of TOSAPartitioner."""

    backend_id: ClassVar[str] = "VgfBackend"

    def __init__(
        self,
        compile_spec: VgfCompileSpec | list[CompileSpecEntry],
        additional_checks: Sequence[OperatorSupportBase] | None = None,
    ) -> None:
        self._set_up(compile_spec, additional_checks)


def _tag(node: Node, tag: str) -> None:
    """Tags a node, and the nodes that select one of its results."""
    import operator

    node.meta["delegation_tag"] = tag
    for argument in node.all_input_nodes:
        if argument.op == "get_attr":  # the argument is a branch of a condition
            argument.meta["delegation_tag"] = tag
    for user in node.users:
        if user.target is operator.getitem:
            user.meta["delegation_tag"] = tag


def _left_float(program: ExportedProgram) -> list[str]:
    """The unmarked nodes between dequantize and quantize nodes, if a quantizer has marked other nodes."""
    from .annotation import CUSTOM_META_KEY

    calls = [node for node in program.graph.nodes if node.op == "call_function" and not _is_quantization(node)]
    marks = {node: CUSTOM_META_KEY in node.meta.get("custom", {}) for node in calls}
    if not any(marks.values()):
        return []
    return [
        node.name
        for node, is_marked in marks.items()
        if not is_marked
        and node.users
        and node.all_input_nodes
        and all(_is_quantization(other) for other in (*node.all_input_nodes, *node.users))
    ]


_BITWISE = tuple(
    "aten::" + name
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "__and__", "__or__", "__xor__")
)
_COMPARISONS = ("aten::eq", "aten::ge", "aten::gt", "aten::le", "aten::lt")
_CASTS = ("aten::_to_copy", "dim_order_ops::_to_dim_order_copy")


def _beyond(spec: TosaSpecification, program: ExportedProgram) -> list[str]:
    """The nodes that are beyond the profiles and extensions of a specification, if it is not the operator alone that says so.

    Without INT these are bitwise operators, comparisons of int32 and casts from integers to integers. Casts need the extensions of both types.
    """
    return [node.name for node in program.graph.nodes if node.op == "call_function" and _is_beyond(spec, node)]


def _is_beyond(spec: TosaSpecification, node: Node) -> bool:
    import torch

    from .exported import operator_name

    name = operator_name(node)
    if name not in _BITWISE + _COMPARISONS + _CASTS:
        return False
    values = [operand.meta.get("val") for operand in node.all_input_nodes if operand.op != "get_attr"]
    types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
    if name in _CASTS:
        types.add(node.meta["val"].dtype)
        extensions = {torch.bfloat16: "bf16", torch.float8_e4m3fn: "fp8e4m3", torch.float8_e5m2: "fp8e5m2"}
        if any(not spec.support_extension(extensions[kind]) for kind in types & extensions.keys()):
            return True
    if spec.support_integer():
        return False
    if name in _CASTS:
        return len(types) > 1 and types <= {torch.int8, torch.int16, torch.int32}
    return torch.int32 in types if name in _COMPARISONS else torch.bool not in types


def _of_open_sizes(program: ExportedProgram) -> list[str]:
    """The nodes that read or write tensors with sizes that are known at run time only (dynamic_shapes)."""
    from torch.fx.experimental.symbolic_shapes import has_free_symbols

    calls = [node for node in program.graph.nodes if node.op == "call_function" and not _is_quantization(node)]
    return [
        node.name
        for node in calls
        if any(has_free_symbols(value.meta.get("val")) for value in (node, *node.all_input_nodes))
    ]


def _is_quantization(node: Node) -> bool:
    return "quantized_decomposed." in str(node.target)


def _rejected(program: ExportedProgram, checks: Iterable[OperatorSupportBase]) -> list[tuple[str, str]]:
    """Returns the name of a node and the class of the check that rejects it."""
    from .exported import asked_in_edge_dialect

    modules = dict(program.graph_module.named_modules())
    found = []
    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        for check in checks:
            if not asked_in_edge_dialect(check.is_node_supported, modules, node):
                found.append((node.name, type(check).__name__))
                break
    return found


def _report(assignments: Sequence[_native.NodeAssignment], spec: object, folder: str | None) -> None:
    rows = [
        f"  {assignment.name} ({assignment.op}): {assignment.reason}" for assignment in assignments if assignment.reason
    ]
    text = "\n".join([f"The following nodes were rejected for {spec}:", *rows])
    logger.info("%s", text)
    if folder and logger.isEnabledFor(logging.INFO):
        from pathlib import Path

        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / "partition_report.txt").write_text(text + "\n")
