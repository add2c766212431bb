"""Writes Carina's annotations in torchao's form.

C++ decides which values become integers, which values share parameters, and what is a weight (carina._native.annotate). This module writes
the decisions onto the nodes of the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from carina import _native
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
)
from torchao.quantization.pt2e.quantizer import (
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

from .exported import save_module
from .masks import rows_of_groups
from .quantization_config import QuantizationConfig
from .row_observers import parts_of, seeing

CUSTOM_META_KEY = "_arm_annotation_info"


@dataclass(frozen=True)
class Plan:
    """The user's configs by number, and the nodes with another config than the general one.

    `general`: the number of the general config. None: nodes that are not in `of_node` stay float. In `of_node`, None keeps a node float.
    """

    configs: Sequence[QuantizationConfig]
    general: int | None
    of_node: Mapping[str, int | None] = field(default_factory=dict)
    quantized_ends: bool = False  # inputs and outputs are integers
    hidden: float = 256.0  # elements of a mask count as at least the maximum of their row minus this

    def config_of(self, name: str) -> QuantizationConfig | None:
        """The config of the node with this name; None: the node stays float."""
        number = self.of_node.get(name, self.general)
        return None if number is None else self.configs[number]


def number_of(scheme: int | None) -> int:
    """The number of a config in the C++ request."""
    return _native.LEFT_FLOAT if scheme is None else scheme


def annotations_of(model: bytes, plan: Plan) -> _native.Annotations:
    """The annotations of a graph, as C++ returns them. `model`: the graph as a .pt2."""
    return _native.annotate(
        model,
        "model",
        general=number_of(plan.general),
        of_node={name: number_of(scheme) for name, scheme in plan.of_node.items()},
        apart=[number for number, config in enumerate(plan.configs) if _is_symmetric(config)],
        quantized_ends=plan.quantized_ends,
    )


def _is_symmetric(config: QuantizationConfig) -> bool:
    return getattr(config.output_activation, "qscheme", None) == torch.per_tensor_symmetric


def annotate(module: GraphModule, plan: Plan) -> Callable[[Node, Any], Any]:
    """Annotates each node that computes with integers, unless it already has an annotation.

    Returns:
        A function that takes an input of the model and its spec, and returns the spec with the observer of the input's value.

    Raises:
        NotImplementedError: a config whose scales are computed at run time.
    """
    if any(getattr(config.get_input_act_qspec(), "is_dynamic", False) for config in plan.configs):
        raise NotImplementedError(
            "is_dynamic=True: scales of activations that are found at run time are not supported: no target of Carina "
            "computes them; use is_dynamic=False and calibrate with samples"
        )
    annotator = _Annotator(module, plan)
    annotator.run()
    return annotator.input_spec


def is_annotated(node: Node) -> bool:
    """Whether a quantizer has annotated the node."""
    return Q_ANNOTATION_KEY in node.meta and bool(node.meta[Q_ANNOTATION_KEY]._annotated)


def mark(node: Node, annotation: QuantizationAnnotation) -> None:
    """Annotates a node. Also marks the node of an operator for the partitioners of the Arm backend."""
    node.meta[Q_ANNOTATION_KEY] = annotation
    if node.op == "call_function":
        node.meta.setdefault("custom", {})[CUSTOM_META_KEY] = {"quantized": True}


class _Annotator:
    def __init__(self, module: GraphModule, plan: Plan) -> None:
        self.plan = plan
        model, self.by_name = save_module(module)
        self.found = annotations_of(model, plan)
        self.values = list(self.found.values)
        self.anchors: dict[int, Node | tuple[Node, Node]] = {}
        self.specs: dict[int, Any] = {}  # by group, as the anchor has it
        self.group_of = {self.by_name[value.name]: value.group for value in self.values if value.name in self.by_name}
        self.rows = rows_of_groups(module, self.group_of, plan.hidden)

    def run(self) -> None:
        # The nodes of a condition's branches are in separate graphs, and stay float.
        nodes = [node for node in self.found.nodes if node.name in self.by_name]
        taken = {node.name for node in nodes if is_annotated(self.by_name[node.name])}
        for found in nodes:
            if found.name not in taken:
                self._annotate(found, self.by_name[found.name])

    def _annotate(self, found: _native.AnnotatedNode, node: Node) -> None:
        annotation = QuantizationAnnotation(_annotated=True)
        weights = [operand for operand in found.operands if operand.role != "activation"]
        for operand in found.operands:
            source = self._operand(operand, node)
            # A value that is read twice is a single edge in torchao, so it must not share parameters with itself.
            if source is not None and operand.role == "activation" and source not in annotation.input_qspec_map:
                annotation.input_qspec_map[source] = self._activation(operand, source, node, found)
        for operand in weights:
            source = self._operand(operand, node)
            if source is not None:
                annotation.input_qspec_map[source] = self._weight(operand, node, self._config_of(found))
        results = [self._result(value) for value in found.results]
        for value, result in zip(found.results, results, strict=True):
            if result is node:
                annotation.output_qspec = self._shared(value, node, node)
            elif result is not None and self.values[value].quantized and not is_annotated(result):
                mark(result, QuantizationAnnotation(output_qspec=self._shared(value, result, result), _annotated=True))
        mark(node, annotation)

    def _config_of(self, found: _native.AnnotatedNode) -> QuantizationConfig:
        return self.plan.configs[found.scheme]

    def _result(self, value: int) -> Node | None:
        return self.by_name.get(self.values[value].name)

    def _operand(self, operand: _native.AnnotatedOperand, node: Node) -> Node | None:
        """The node of the operand; None for an operand that is not a node, such as a number."""
        source = self.by_name.get(self.values[operand.value].name)
        if source is None or source in node.all_input_nodes:
            return source
        same = [given for given in node.all_input_nodes if given.op == "get_attr" and given.target == source.target]
        return same[0] if same else None

    def _spec(self, value: int, *, result: bool) -> Any:
        config = self.plan.configs[self.values[value].scheme]
        return self._seen(
            config.get_output_act_qspec() if result else config.get_input_act_qspec(), self.values[value].group
        )

    def _seen(self, spec: Any, group: int) -> Any:
        rows = self.rows.get(group)
        return spec if rows is None else seeing(spec, rows)

    def input_spec(self, node: Node, spec: Any) -> Any:
        """The spec of an input of the model, with the observer of its value."""
        return self._seen(spec, self.group_of[node]) if node in self.group_of else spec

    def _shared(self, value: int, anchor: Node | tuple[Node, Node], result: Node | None) -> Any:
        """The spec of a value. The first value of a group has its own spec; the others share it."""
        if not self.values[value].quantized:
            return None
        group = self.values[value].group
        if group in self.anchors:
            return SharedQuantizationSpec(self.anchors[group])
        self.anchors[group] = anchor
        self.specs[group] = self._spec(value, result=result is not None)
        return self.specs[group]

    def _activation(
        self, operand: _native.AnnotatedOperand, source: Node, node: Node, found: _native.AnnotatedNode
    ) -> Any:
        converted = self._converted(operand, found)
        spec = converted or self._spec(operand.value, result=False)
        if operand.end_int8 is not None and isinstance(spec, QuantizationSpec):
            return _fixed(spec, operand)
        return converted or self._shared(operand.value, (source, node), None)

    def _converted(self, operand: _native.AnnotatedOperand, found: _native.AnnotatedNode) -> Any:
        """The spec of the node's config, if its integers are of another type than the value's. The value is then requantized for the
        node. None if it is read as it is, or shares its parameters with a result."""
        group = self.values[operand.value].group
        if any(self.values[result].group == group for result in found.results):
            return None
        given = self.specs.get(group, self._spec(operand.value, result=False))
        own = self._seen(self._config_of(found).get_input_act_qspec(), group)
        return own if getattr(own, "dtype", None) != getattr(given, "dtype", None) else None

    def _weight(self, operand: _native.AnnotatedOperand, node: Node, config: QuantizationConfig) -> Any:
        if operand.role == "bias":
            spec = config.get_bias_qspec(node)
            return None if callable(spec) else _along(spec, operand.axis)
        return _along(config.get_weight_qspec(node), operand.axis)


def _along(spec: Any, axis: int | None) -> Any:
    """The spec with the channels on this axis. Without an axis, all channels have one scale."""
    if spec is None or getattr(spec, "qscheme", None) != torch.per_channel_symmetric:
        return spec
    changed = {"qscheme": torch.per_tensor_symmetric, "ch_axis": None} if axis is None else {"ch_axis": axis}
    if isinstance(spec, QuantizationSpec):
        made = spec.observer_or_fake_quant_ctr
        changed["observer_or_fake_quant_ctr"] = _per_tensor(made) if axis is None else _per_channel(made, axis)
    return replace(spec, **changed)


_OF_TENSOR = {
    PerChannelMinMaxObserver: MinMaxObserver,
    MovingAveragePerChannelMinMaxObserver: MovingAverageMinMaxObserver,
}


def _per_tensor(constructor: Any) -> Any:
    made, given = parts_of(constructor)
    given = {name: value for name, value in given.items() if name not in ("ch_axis", "qscheme")}
    if "observer" in given:
        given["observer"] = _OF_TENSOR.get(given["observer"], given["observer"])
    return _OF_TENSOR.get(made, made).with_args(**given)


def _per_channel(constructor: Any, axis: int) -> Any:
    """torchao does not give the axis to fake quantization. The fused one takes only axis 0."""
    made, given = parts_of(constructor)
    if given.get("observer") not in _OF_TENSOR:
        return constructor
    if made is FusedMovingAvgObsFakeQuantize and axis != 0:
        made = FakeQuantize
    return made.with_args(**{**given, "ch_axis": axis})


def _fixed(spec: QuantizationSpec, operand: _native.AnnotatedOperand) -> FixedQParamsQuantizationSpec:
    bits = torch.iinfo(spec.dtype).bits
    end = operand.end_int16 if bits == 16 else operand.end_int8
    assert end is not None
    return FixedQParamsQuantizationSpec(
        dtype=spec.dtype,
        scale=math.ldexp(end, 1 - bits),
        zero_point=0,
        quant_min=spec.quant_min,
        quant_max=spec.quant_max,
        qscheme=spec.qscheme,
        is_dynamic=False,
    )
