"""Quantizers for torchao's prepare_pt2e and prepare_qat_pt2e."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Protocol, TypeAlias

import torch
from torch._ops import OpOverload
from torch.fx import GraphModule, Node
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, Quantizer
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY
from typing_extensions import Self

from .annotation import Plan, annotate, is_annotated, mark
from .compile_spec import ArmCompileSpec
from .compile_spec_entry import CompileSpecEntry
from .constants import fold_constants
from .ethosu_compile_spec import EthosUCompileSpec
from .expansion import expand
from .quantization_config import QuantizationConfig
from .quantization_report import log_report
from .specs import parse_compile_spec
from .spelling import FROM, respell
from .state_writes import make_writes_functional
from .tosa_compile_spec import TosaCompileSpec
from .tosa_specification import TosaSpecification
from .vgf_compile_spec import VgfCompileSpec

Config = QuantizationConfig | None

# Settings take one name, type or operator, or a list of them.
Names: TypeAlias = str | Collection[str]
Types: TypeAlias = Callable[..., Any] | Collection[Callable[..., Any]]
Targets: TypeAlias = OpOverload | Collection[OpOverload]


class NodeFinder(Protocol):
    """The interface of classes that select nodes of a graph."""

    def find_nodes(self, model: GraphModule) -> Iterable[Node]:
        """Returns the selected nodes, in any order."""
        ...


class _ByRule:
    """Selects the nodes for which a predicate holds."""

    def __init__(self, kind: str, holds: Callable[[Node], bool]) -> None:
        self.kind = kind  # settings of the same kind replace each other
        self.holds = holds

    def find_nodes(self, model: GraphModule) -> Iterator[Node]:
        return (node for node in model.graph.nodes if self.holds(node))


def _known_as(node: Node) -> tuple[str, Any]:
    """The name and target of a node. For a node that replaced another one, those of the original node."""
    known: tuple[str, Any] = node.meta.get(FROM, (node.name, node.target))
    return known


def _modules_of(node: Node) -> list[tuple[str, str]]:
    """(path, type) of the modules that contain a node, outermost first."""
    stack = node.meta.get("nn_module_stack") or {}
    return [
        (_plain_path(path), kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}")
        for path, kind in stack.values()
    ]


def _plain_path(path: str) -> str:
    """The path of a module without torch's prefix of strict mode: "L['self'].sub.linear" -> "sub.linear"."""
    return path.removeprefix("L['self']").removeprefix("L__self__").removeprefix(".")


def _each(given: Any) -> Collection[Any]:
    """The elements of a list, tuple or set; anything else is the only element."""
    return given if isinstance(given, (list, tuple, set)) else [given]


def _of_type(module_type: Types) -> Callable[[Node], bool]:
    names = {f"{each.__module__}.{each.__qualname__}" for each in _each(module_type)}
    return lambda node: any(kind in names for _, kind in _modules_of(node))


def _of_name(name: Names) -> Callable[[Node], bool]:
    names = _each(name)
    return lambda node: any(path in names for path, _ in _modules_of(node))


class TOSAQuantizer(Quantizer):  # type: ignore[misc]
    """Annotates graphs for targets that read TOSA. Later settings take precedence. A config of None keeps nodes float.

    Args:
        compile_spec_or_tosa_spec: the target, which determines the available integer types.
        use_composable_quantizer: False selects the Arm backend's older quantizer, which lacks set_node_*(). The annotations are the same
        here.

    Raises:
        TypeError: the argument is not a spec.
    """

    def __init__(
        self,
        compile_spec_or_tosa_spec: ArmCompileSpec | TosaSpecification | list[CompileSpecEntry],
        use_composable_quantizer: bool = True,
    ) -> None:
        super().__init__()
        given = compile_spec_or_tosa_spec
        if isinstance(given, TosaSpecification):
            given = TosaCompileSpec(given)
        if isinstance(given, list):
            given = parse_compile_spec(given)
        if not isinstance(given, ArmCompileSpec):
            raise TypeError(
                f"TOSAQuantizer constructor expects a TosaSpecification or compile_spec list, got {type(given)}"
            )
        self.compile_spec: ArmCompileSpec = given
        self.tosa_spec = given.tosa_spec
        self.use_composable_quantizer = use_composable_quantizer
        self.quantizer: Quantizer = self  # the quantizer that annotates; scripts may replace it
        self._global: Config = None
        self._io: list[tuple[str, Config]] = []  # ("input" or "output", config)
        self._finders: list[tuple[NodeFinder, Config]] = []  # the weakest first
        self._quantizers: list[Quantizer] = []  # quantizers of the user, the strongest first
        self._by_key: dict[str, dict[Any, Config]] = {"type": {}, "name": {}}

    def set_global(self, quantization_config: Config) -> Self:
        """Sets the config of nodes without another setting."""
        self._global = quantization_config
        return self

    def set_module_type(self, module_type: Types, quantization_config: Config) -> Self:
        """Sets the config of modules of this type, or of these types."""
        self._by_key["type"].update(dict.fromkeys(_each(module_type), quantization_config))
        return self._find("type", _of_type(module_type), quantization_config)

    def set_module_name(self, module_name: Names, quantization_config: Config) -> Self:
        """Sets the config of the module with this path, "blocks.sub", or of the modules with these paths."""
        self._by_key["name"].update(dict.fromkeys(_each(module_name), quantization_config))
        return self._find("name", _of_name(module_name), quantization_config)

    def set_io(self, quantization_config: Config) -> Self:
        """Sets the config of the model's inputs and outputs."""
        self._io = [("input", quantization_config), ("output", quantization_config)]
        return self

    def add_quantizer(self, quantizer: Quantizer) -> Self:
        """Adds another quantizer, which annotates first.

        Raises:
            NotImplementedError: the older quantizer was selected.
        """
        self._must_compose("add_quantizer")
        self._quantizers.insert(0, quantizer)
        return self

    def set_node_finder(self, quantization_config: Config, node_finder: NodeFinder) -> Self:
        """Sets the config of the nodes that the finder returns.

        Raises:
            NotImplementedError: the older quantizer was selected.
        """
        self._must_compose("set_node_finder")
        self._finders.append((node_finder, quantization_config))
        return self

    def set_node_target(self, node_target: Targets, quantization_config: Config) -> Self:
        """Sets the config of nodes that call this operator, or one of these.

        Raises:
            NotImplementedError: the older quantizer was selected.
        """
        self._must_compose("set_node_target")
        targets = set(_each(node_target))
        return self._find("target", lambda node: bool(targets & {node.target, _known_as(node)[1]}), quantization_config)

    def set_node_name(self, node_name: Names, quantization_config: Config) -> Self:
        """Sets the config of the node with this name, or of the nodes with these names.

        Raises:
            NotImplementedError: the older quantizer was selected.
        """
        self._must_compose("set_node_name")
        names = _each(node_name)
        return self._find("node", lambda node: _known_as(node)[0] in names, quantization_config)

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Makes writes to the state functional, computes constant parts, spells operators as the Arm backend does, and decomposes nodes
        whose internal values need their own parameters. See carina_arm.state_writes, .constants, .spelling and .expansion."""
        if self.quantizer is not self:
            transformed: GraphModule = self.quantizer.transform_for_annotation(model)
            return transformed
        make_writes_functional(model, self._plan(model))
        plan = self._plan(model)
        fold_constants(model, lambda node: plan.config_of(node.name) is None)
        respell(model, self._plan(model), full=self.compile_spec._arm_partition)
        expand(model, self._plan(model))
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        """Annotates the nodes for torchao; see carina_arm.annotation."""
        if self.quantizer is not self:
            annotated: GraphModule = self.quantizer.annotate(model)
            return annotated
        for quantizer in self._quantizers:
            quantizer.annotate(model)  # some return nothing; all annotate in place
        plan = self._plan(model)
        self._annotate_ends(model, plan, annotate(model, plan))
        for node in model.graph.nodes:
            if node.op == "call_function" and plan.config_of(node.name) is None:
                node.meta.setdefault(
                    Q_ANNOTATION_KEY, QuantizationAnnotation()
                )  # so that users see that it stays float
        log_report(model)
        return model

    def validate(self, model: GraphModule) -> None:
        """Checks that each operator's tensors are on one device.

        Raises:
            ValueError: an operator's tensors are on several devices.
        """
        for node in model.graph.nodes:
            devices = set() if node.op != "call_function" else set(_devices(node.all_input_nodes))
            if len(devices) > 1:
                raise ValueError(f"Quantizer detected operator {node.name} with different device inputs: {devices}.")

    @property
    def global_config(self) -> Config:
        """The argument of set_global()."""
        return self._global

    @global_config.setter
    def global_config(self, value: Config) -> None:
        self.set_global(_config(value, "global_config value"))

    @property
    def io_config(self) -> Config:
        """The argument of set_io(), on the older quantizer."""
        self._must_be_legacy("io_config")
        return self._io[0][1] if self._io else None

    @io_config.setter
    def io_config(self, value: Config) -> None:
        self.set_io(_config(value, "io_config value"))

    @property
    def module_type_config(self) -> dict[Callable[..., Any], Config]:
        """The argument of set_module_type(), on the older quantizer."""
        self._must_be_legacy("module_type_config")
        return self._by_key["type"]

    @module_type_config.setter
    def module_type_config(self, value: dict[Callable[..., Any], Config]) -> None:
        configs = _configs(value, "module_type_config", callable, "callable")
        self._forget("type")
        for module_type, config in configs.items():
            self.set_module_type(module_type, config)

    @property
    def module_name_config(self) -> dict[str, Config]:
        """The argument of set_module_name(), on the older quantizer."""
        self._must_be_legacy("module_name_config")
        return self._by_key["name"]

    @module_name_config.setter
    def module_name_config(self, value: dict[str, Config]) -> None:
        configs = _configs(value, "module_name_config", lambda key: isinstance(key, str), "str")
        self._forget("name")
        for name, config in configs.items():
            self.set_module_name(name, config)

    def _find(self, kind: str, holds: Callable[[Node], bool], config: Config) -> Self:
        self._finders.append((_ByRule(kind, holds), config))
        return self

    def _forget(self, kind: str) -> None:
        self._by_key[kind] = {}
        self._finders = [pair for pair in self._finders if getattr(pair[0], "kind", "") != kind]

    def _must_compose(self, name: str) -> None:
        if not self.use_composable_quantizer:
            raise NotImplementedError(f"{name} is only supported in the composable quantizer implementation.")

    def _must_be_legacy(self, name: str) -> None:
        if self.use_composable_quantizer:
            raise NotImplementedError(f"Composable quantizer does not allow accessing {name}.")

    def _plan(self, model: GraphModule) -> Plan:
        configs: list[QuantizationConfig] = []
        numbers: dict[int, int] = {}

        def number(config: Config) -> int | None:
            if config is None:
                return None
            if id(config) not in numbers:
                numbers[id(config)] = len(configs)
                configs.append(config)
            return numbers[id(config)]

        general = number(self._global)
        of_node = {node.name: number(config) for finder, config in self._finders for node in finder.find_nodes(model)}
        io = dict(self._io)
        ends = [io.get(kind, self._global) for kind in ("input", "output")]
        hidden = -self.compile_spec._get_pass_pipeline_config().quantize_inf.neg_inf
        return Plan(configs, general, of_node, quantized_ends=all(config is not None for config in ends), hidden=hidden)

    def _annotate_ends(self, model: GraphModule, plan: Plan, spec_of_input: Callable[[Node, Any], Any]) -> None:
        """Sets the config of inputs and outputs: that of set_io(), otherwise the general one."""
        given = dict(self._io)
        for node in model.graph.find_nodes(op="placeholder"):
            _annotate_input(node, given.get("input", plan.config_of(node.name)), spec_of_input)
        output = model.graph.output_node()
        _annotate_output(output, given.get("output", plan.config_of(output.name)))

    def _quantize_with_submodules(
        self,
        model: GraphModule,
        calibration_samples: list[tuple[Any, ...]],
        is_qat: bool = False,
        fold_quantize: bool = True,
    ) -> Any:
        """Runs prepare, calibration and convert. Branches of conditions are not quantized."""
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

        prepared = (prepare_qat_pt2e if is_qat else prepare_pt2e)(model, self)
        for sample in calibration_samples:
            prepared(*sample)
        return convert_pt2e(prepared, fold_quantize=fold_quantize)


# The two quantizers between which the Arm backend's TOSAQuantizer chooses. Its own tests use these names.
_TOSAQuantizerV1 = TOSAQuantizer
_TOSAQuantizerV2 = TOSAQuantizer


class EthosUQuantizer(TOSAQuantizer):
    """A TOSAQuantizer for an Ethos-U compile spec."""

    def __init__(
        self, compile_spec: EthosUCompileSpec | list[CompileSpecEntry], use_composable_quantizer: bool = True
    ) -> None:
        super().__init__(compile_spec, use_composable_quantizer)


class VgfQuantizer(TOSAQuantizer):
    """A TOSAQuantizer for a VGF compile spec."""

    def __init__(
        self, compile_spec: VgfCompileSpec | list[CompileSpecEntry], use_composable_quantizer: bool = True
    ) -> None:
        super().__init__(compile_spec, use_composable_quantizer)


def _is_float(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _annotate_input(node: Node, config: Config, spec_of_input: Callable[[Node, Any], Any]) -> None:
    if config is not None and node.users and _is_float(node) and not is_annotated(node):
        mark(
            node,
            QuantizationAnnotation(output_qspec=spec_of_input(node, config.get_output_act_qspec()), _annotated=True),
        )


def _annotate_output(node: Node, config: Config) -> None:
    if config is None or is_annotated(node):
        return
    specs = {source: config.get_input_act_qspec() for source in node.all_input_nodes if _is_float(source)}
    mark(node, QuantizationAnnotation(input_qspec_map=specs, _annotated=True))


def _devices(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        value = node.meta.get("val")
        for tensor in value if isinstance(value, (tuple, list)) else (value,):
            if tensor is not None:
                yield str(getattr(tensor, "device", f"Could not get device from {tensor}"))


def _config(value: object, called: str) -> Config:
    if value is None or isinstance(value, QuantizationConfig):
        return value
    raise TypeError(f"{called} must be QuantizationConfig or None, got {type(value).__name__}.")


def _configs(value: object, name: str, is_key: Callable[[object], bool], keys: str) -> dict[Any, Config]:
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a dict, got {type(value).__name__}.")
    for key, config in value.items():
        if not is_key(key):
            raise TypeError(f"{name} keys must be {keys}, got {type(key).__name__}.")
        _config(config, f"{name} values")
    return value


__all__ = ["EthosUQuantizer", "NodeFinder", "TOSAQuantizer", "VgfQuantizer", "is_annotated"]
