"""Converts PyTorch's graphs to the bytes that Carina reads (.pt2).

torch.export cannot save a graph between the passes of torchao or ExecuTorch: parameters are attributes of a module, and operators are those
of ExecuTorch's edge dialect. This module converts such a graph to the output format of torch.export.save, node by node and with the same
names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from carina._models import saved
from torch._export.verifier import load_verifier
from torch._ops import OpOverload
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.fx import Graph, GraphModule, Node
from torch.utils._pytree import tree_flatten

from .layout import Order, lay_out_boundary
from .opaque import make_opaque, opaque_nodes, overwritten_buffers, states_of, without_state


def save_program(
    program: ExportedProgram, weights: Mapping[str, Any] | None = None, *, boundary: Order | None = None
) -> bytes:
    """The .pt2 of an exported program in any dialect.

    ExecuTorch passes partitioners a program without its weights. Then the weights come by name from `weights`, or are invented if they are
    not there. They do not affect what can be delegated.

    The program of a delegate has inputs and outputs in its own axis order, `boundary`; see carina_arm.layout.
    """
    state, constants = dict(program.state_dict), dict(program.constants)
    overwrites = bool(overwritten_buffers(program.graph, program.graph_signature))
    if (
        boundary is not None
        or has_edge_dialect(program)
        or _is_fake(state)
        or _is_fake(constants)
        or overwrites
        or left_whole(program)
    ):
        tensors = _real(state, weights or {}), _real(constants, weights or {})
        program = _in_plain_dialect(program, *tensors, boundary=boundary)
    return saved(program)


def left_whole(program: ExportedProgram) -> dict[str, str]:
    """The names of the nodes that carina_arm.opaque keeps on the CPU, with the reason."""
    return opaque_nodes(program.graph_module, overwritten_buffers(program.graph, program.graph_signature))


def weights_of(program: ExportedProgram) -> dict[str, Any]:
    """The tensors of a program by name."""
    return {**program.state_dict, **program.constants}


def _is_fake(tensors: Mapping[str, Any]) -> bool:
    return any(isinstance(tensor, FakeTensor) for tensor in tensors.values())


def _real(tensors: Mapping[str, Any], weights: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for name, tensor in tensors.items():
        given = weights.get(name)
        if not isinstance(tensor, FakeTensor):
            found[name] = tensor
        elif given is not None and given.shape == tensor.shape and given.dtype == tensor.dtype:
            found[name] = given
        else:
            # Scales must not be 0; zero points of weights and indices are 0.
            number = 0 if tensor.dtype in (torch.int32, torch.int64) else 1
            made = torch.full([int(size) for size in tensor.shape], number, dtype=tensor.dtype)
            found[name] = torch.nn.Parameter(made) if isinstance(tensor, torch.nn.Parameter) else made
    return found


def save_module(module: GraphModule) -> tuple[bytes, dict[str, Node]]:
    """The .pt2 of a graph whose parameters are attributes. ExportedProgram.module() returns such a graph, and torchao uses it.

    Returns:
        The .pt2, and for each name of a value in it the node of the graph. An attribute that several nodes read has its first node.

    Raises:
        ValueError: the graph calls modules.
    """
    _add_values(module)
    lifter = _Lifter(module)
    data = saved(lifter.run())
    nodes: dict[str, Node] = {}
    for node, copy in lifter.copies.items():
        nodes.setdefault(copy.name, node)
    return data, nodes


def has_edge_dialect(program: ExportedProgram) -> bool:
    """Whether the graph has operators of ExecuTorch's edge dialect, or delegate calls."""
    return any(_is_edge(node) or "executorch_call_delegate" in str(node.target) for node in program.graph.nodes)


def asked_in_edge_dialect(
    holds: Callable[[Mapping[str, Any], Node], bool], modules: Mapping[str, Any], node: Node
) -> bool:
    """Calls the user's check for a node. The check may support operators of the edge dialect only."""
    plain = node.target
    try:
        for target in _edge_targets(plain) or [plain]:
            node.target = target
            if not holds(modules, node):
                return False
        return True
    finally:
        node.target = plain


# Operators of the edge dialect that replace operators of an exported program, in addition to those of the same name.
_IN_EDGE_DIALECT = {
    "_unsafe_view": "view_copy.default",
    "alias": "alias_copy.default",
    "conv1d": "convolution.default",
    "conv2d": "convolution.default",
    "conv3d": "convolution.default",
    "conv_transpose2d": "convolution.default",
    "detach": "detach_copy.default",
    "expand": "expand_copy.default",
    "flatten": "view_copy.default",
    "permute": "permute_copy.default",
    "reshape": "view_copy.default",
    "select": "select_copy.int",
    "slice": "slice_copy.Tensor",
    "split": "split_copy.Tensor",
    "squeeze": "squeeze_copy.dims",
    "t": "permute_copy.default",
    "transpose": "permute_copy.default",
    "unflatten": "view_copy.default",
    "unsqueeze": "unsqueeze_copy.default",
    "view": "view_copy.default",
}


def origins_of(node: Node) -> Iterator[str]:
    """The names of the nodes of earlier graphs from which a node was made."""
    left = list(node.meta.get("from_node", ()))
    while left:
        source = left.pop()
        yield source.name
        left += source.from_node


def _edge_targets(target: Any) -> list[Any]:
    """The operators of the edge dialect for a PyTorch operator; none without ExecuTorch."""
    if "executorch.exir" not in sys.modules or not isinstance(target, OpOverload):
        return []
    namespace, name = str(target._schema.name).split("::")
    known = [_edge_target(namespace, name, target._overloadname)]
    if namespace == "aten" and name in _IN_EDGE_DIALECT:
        known.append(_edge_target(namespace, *_IN_EDGE_DIALECT[name].split(".")))
    return [found for found in known if found is not None]


def _edge_target(namespace: str, name: str, overload: str) -> Any:
    from executorch.exir.dialects._ops import ops

    try:
        return getattr(getattr(getattr(ops.edge, namespace), name), overload)
    except (AttributeError, RuntimeError):
        return None


def _is_edge(node: Node) -> bool:
    return node.op == "call_function" and plain_target(node.target) is not node.target


def operator_name(node: Node) -> str:
    """The name of a node's operator in any dialect, as "aten::add", without the overload; "" for other nodes."""
    return str(getattr(getattr(plain_target(node.target), "_schema", None), "name", ""))


def plain_target(target: Any) -> Any:
    """The PyTorch operator of an edge operator."""
    return target if isinstance(target, OpOverload) else getattr(target, "_op", target)


def _in_plain_dialect(
    program: ExportedProgram, state: dict[str, Any], constants: dict[str, Any], *, boundary: Order | None
) -> ExportedProgram:
    graph = Graph()
    _copy_plain(program.graph, graph)
    make_opaque(graph, left_whole(program))
    signature = without_state(program.graph_signature, overwritten_buffers(program.graph, program.graph_signature))
    if boundary is not None:
        signature = lay_out_boundary(graph, signature, boundary)
    return ExportedProgram(
        root=_with_plain_branches(program.graph_module, graph),
        graph=graph,
        graph_signature=signature,
        state_dict=state,
        range_constraints=program.range_constraints,
        module_call_graph=program.module_call_graph,
        example_inputs=None,
        constants=constants,
        verifiers=[load_verifier("TRAINING")],
    )


def _copy_plain(graph: Graph, to: Graph) -> None:
    """Copies the nodes of a graph, and replaces edge operators by PyTorch's operators."""
    copies: dict[Node, Node] = {}
    for node in graph.nodes:
        copies[node] = to.node_copy(node, copies.__getitem__)
        if node.op == "call_function":
            copies[node].target = plain_target(node.target)


def _with_plain_branches(module: GraphModule, graph: Graph) -> GraphModule:
    """A module of this graph. The branches of its conditions and loops come from `module`, with PyTorch's operators."""
    made = GraphModule(module, graph)
    for name, branch in module.named_children():
        if isinstance(branch, GraphModule) and hasattr(made, name):
            inner = Graph()
            _copy_plain(branch.graph, inner)
            setattr(made, name, _with_plain_branches(branch, inner))
    return made


class _Lifter:
    """Converts the attributes that a graph reads to inputs."""

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.graph = Graph()
        self.states = states_of(module)
        self.copies: dict[Node, Node] = {}
        self.inputs: list[InputSpec] = []
        self.state: dict[str, torch.Tensor] = {}

    def run(self) -> ExportedProgram:
        self._lift_attributes()
        users = [self._copied(node) for node in self.module.graph.nodes if node.op == "placeholder"]
        self.inputs += [InputSpec(InputKind.USER_INPUT, _argument(node), target=None) for node in users]
        for node in self.module.graph.nodes:
            if node in self.copies or node.op == "placeholder":
                continue
            if node.op == "call_module" and not node.users:
                continue  # torch's check of its guards
            if node.op == "call_module":
                raise ValueError(f"{node.name} calls the module {node.target}: export the model first")
            self._copied(node)
        opaque = opaque_nodes(self.module, self.states)
        make_opaque(self.graph, {copy.name for node, copy in self.copies.items() if node.name in opaque})
        return self._program()

    def _lift_attributes(self) -> None:
        lifted: dict[str, Node] = {}
        for node in self.module.graph.find_nodes(op="get_attr"):
            value = attribute_of(self.module, str(node.target))
            if not isinstance(value, torch.Tensor):
                continue
            name = str(node.target)
            if name not in lifted:
                lifted[name] = self.graph.placeholder("p_" + name.replace(".", "_"))
                lifted[name].meta["val"] = value.detach()
                argument = TensorArgument(lifted[name].name)
                if node.name in self.states:
                    self.inputs.append(InputSpec(InputKind.USER_INPUT, argument, target=None))
                else:
                    self.inputs.append(InputSpec(InputKind.BUFFER, argument, target=name, persistent=True))
                    self.state[name] = value.detach()
            self.copies[node] = lifted[name]

    def _copied(self, node: Node) -> Node:
        copy = self.graph.node_copy(node, self.copies.__getitem__)
        if node.op == "call_function":
            copy.target = plain_target(node.target)
        self.copies[node] = copy
        return copy

    def _program(self) -> ExportedProgram:
        users = [spec for spec in self.inputs if spec.kind is InputKind.USER_INPUT]
        results = tree_flatten(self.graph.output_node().args[0])[0]
        self.graph.output_node().args = (tuple(results),)
        outputs = [OutputSpec(OutputKind.USER_OUTPUT, _argument(result), target=None) for result in results]
        _, in_spec = tree_flatten((tuple(range(len(users))), {}))
        _, out_spec = tree_flatten(tuple(range(len(results))))
        signature = ModuleCallSignature(inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec)
        return ExportedProgram(
            root=GraphModule(self.module, self.graph),
            graph=self.graph,
            graph_signature=ExportGraphSignature(self.inputs, outputs),
            state_dict=self.state,
            range_constraints={},
            module_call_graph=[ModuleCallEntry(fqn="", signature=signature)],
            example_inputs=None,
            constants={},
            verifiers=[load_verifier("TRAINING")],
        )


def _argument(thing: object) -> Any:
    if not isinstance(thing, Node):
        return ConstantArgument(name="", value=thing)  # type: ignore[arg-type]
    value = thing.meta.get("val")
    if isinstance(value, torch.Tensor):
        return TensorArgument(thing.name)
    return ConstantArgument(name=thing.name, value=value)


def attribute_of(module: torch.nn.Module, path: str) -> Any:
    """The attribute with a path such as "block.weight"."""
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _add_values(module: GraphModule) -> None:
    """Computes the fake tensors of nodes that a rewrite has added."""
    from torch._subclasses import FakeTensorMode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    if all("val" in node.meta for node in module.graph.nodes if node.op in ("placeholder", "call_function")):
        return
    inputs = [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")]
    modes = [value.fake_mode for value in inputs if hasattr(value, "fake_mode")]
    mode = modes[0] if modes else FakeTensorMode()
    with mode:
        before = {node: node.meta.get("val") for node in module.graph.nodes}
        previous, mode.allow_non_fake_inputs = mode.allow_non_fake_inputs, True
        try:
            FakeTensorProp(module, mode=mode).propagate_dont_convert_inputs(*inputs)
        finally:
            mode.allow_non_fake_inputs = previous
    for node, value in before.items():
        if value is not None:
            node.meta["val"] = value
