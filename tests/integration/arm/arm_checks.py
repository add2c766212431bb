"""Programs of test_arm_checks.py: users' checks of a partitioner on each operator, in float and quantized networks and in three flows. The
operator is first, in the middle or last in the network.

`arm_checks.py sample|all|whole [OPERATOR...]` prints "passed OPERATOR" for each operator whose networks are divided where the check says,
with the numbers of the undivided network. `sample` runs one kind of check and one flow on a third of the networks of every second of the first operators. `all`
runs all kinds and flows on the operators up to MORE, and one kind and one flow on each network of the others. `whole` runs all.
"""

import itertools
import sys
import traceback
from pathlib import Path

import carina
import carina.arm

carina.arm.install()

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from arm_partition import U55, delegates, lowered, name_of, on_cpu, quantized, run, spec_of
from arm_programs import note_passed
from carina.arm import EthosUPartitioner, TOSAPartitioner
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.backend.operator_support import DontPartition, DontPartitionModule, DontPartitionName
from executorch.exir.dialects._ops import ops as exir_ops
from tier_plugin import export_quickly
from torch.fx.passes.operator_support import OperatorSupportBase

EDGE = exir_ops.edge.aten
TARGETS = ("TOSA-1.0+FP", "TOSA-1.0+INT", U55)
POSITIONS = ("first", "middle", "last")


class Checked(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


# The function, its operator in ExecuTorch's graphs, and a part of its nodes' names.
OPERATORS = {
    "sigmoid": (torch.sigmoid, EDGE.sigmoid.default, "sigmoid"),
    "tanh": (torch.tanh, EDGE.tanh.default, "tanh"),
    "relu": (torch.relu, EDGE.relu.default, "relu"),
    "add": (lambda x: x + x, EDGE.add.Tensor, "add"),
    "mul": (lambda x: x * x, EDGE.mul.Tensor, "mul"),
    "max_pool2d": (torch.nn.MaxPool2d(2), EDGE.max_pool2d.default, "max_pool2d"),
    "avg_pool2d": (torch.nn.AvgPool2d(2), EDGE.avg_pool2d.default, "avg_pool2d"),
    "hardswish": (torch.nn.functional.hardswish, EDGE.hardswish.default, "hardswish"),
    "gelu": (torch.nn.functional.gelu, EDGE.gelu.default, "gelu"),
    "exp": (torch.exp, EDGE.exp.default, "exp"),
    "view": (
        lambda x: x.reshape(x.shape[0], x.shape[1], x.shape[2] * 2, x.shape[3] // 2),
        EDGE.view_copy.default,
        "view",
    ),
    "softmax": (lambda x: torch.softmax(x, 1), EDGE._softmax.default, "softmax"),
}
SAMPLED = tuple(OPERATORS)
OPERATORS |= {
    "abs": (torch.abs, EDGE.abs.default, "abs"),
    "neg": (torch.neg, EDGE.neg.default, "neg"),
    "sub": (lambda x: x - 0.25, EDGE.sub.Tensor, "sub"),
    "clamp": (lambda x: torch.clamp(x, -0.5, 0.5), EDGE.clamp.default, "clamp"),
    "hardtanh": (torch.nn.Hardtanh(-0.5, 0.5), EDGE.hardtanh.default, "hardtanh"),
    "leaky_relu": (torch.nn.functional.leaky_relu, EDGE.leaky_relu.default, "leaky_relu"),
    "elu": (torch.nn.functional.elu, EDGE.elu.default, "elu"),
    "cat": (lambda x: torch.cat((x, x), 2), EDGE.cat.default, "cat"),
    "permute": (lambda x: x.permute(0, 1, 3, 2), EDGE.permute_copy.default, "permute"),
    "slice": (lambda x: x[:, :, 1:], EDGE.slice_copy.Tensor, "slice"),
    "sin": (torch.sin, EDGE.sin.default, "sin"),
    "cos": (torch.cos, EDGE.cos.default, "cos"),
}
MORE = tuple(name for name in OPERATORS if name not in SAMPLED)


def _alone(name, overload="default", function=None, word=None):
    """A row of an operator that is the whole function: torch.tan is EDGE.tan.default, a node whose name has "tan"."""
    return function or getattr(torch, name), getattr(getattr(EDGE, name), overload), word or name.removesuffix("_copy")


def _among(function, name, overload="default", word=None):
    """A row of an operator beside others, which may be in delegates of their own."""
    AMONG_OTHERS.add(word or name)
    return function, getattr(getattr(EDGE, name), overload), word or name.removesuffix("_copy")


AMONG_OTHERS: set[str] = set()
OPERATORS |= {
    name: _alone(name)
    for name in ("atan", "sinh", "cosh", "tan", "asinh", "erf", "expm1", "floor", "ceil", "sign", "round")
}
OPERATORS |= {
    "pow": _alone("pow", "Tensor_Scalar", lambda x: torch.pow(x, 2.0)),
    "cumsum": _alone("cumsum", function=lambda x: torch.cumsum(x, 3)),
    "log_softmax": _alone("_log_softmax", function=lambda x: torch.log_softmax(x, 1), word="log_softmax"),
    "hardsigmoid": _alone("hardsigmoid", function=torch.nn.functional.hardsigmoid),
    "silu": _alone("silu", function=torch.nn.functional.silu),
    "prelu": _alone("prelu", function=torch.nn.PReLU()),
    "flip": _alone("flip", function=lambda x: torch.flip(x, (2,))),
    "repeat": _alone("repeat", function=lambda x: x.repeat(1, 1, 2, 1)),
    "constant_pad_nd": _alone("constant_pad_nd", function=lambda x: torch.nn.functional.pad(x, (1, 2)), word="pad"),
    "upsample_nearest2d": _alone("upsample_nearest2d", "vec", lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0)),
    "upsample_bilinear2d": _alone("upsample_bilinear2d", "vec", lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear")),
    "index_select": _alone("index_select", function=lambda x: torch.index_select(x, 2, torch.tensor([0, 2, 1, 3, 5, 4, 6]))),
    "asin": _among(lambda x: torch.asin(torch.tanh(x) * 0.5), "asin"),
    "acos": _among(lambda x: torch.acos(torch.tanh(x) * 0.5), "acos"),
    "atanh": _among(lambda x: torch.atanh(torch.tanh(x) * 0.5), "atanh"),
    "acosh": _among(lambda x: torch.acosh(x.abs() + 1.5), "acosh"),
    "log": _among(lambda x: torch.log(x.abs() + 0.5), "log"),
    "log1p": _among(lambda x: torch.log1p(x.abs()), "log1p"),
    "rsqrt": _among(lambda x: torch.rsqrt(x.abs() + 0.5), "rsqrt"),
    "reciprocal": _among(lambda x: torch.reciprocal(x.abs() + 0.5), "reciprocal"),
    "maximum": _among(lambda x: torch.maximum(x, x * 0.5), "maximum"),
    "minimum": _among(lambda x: torch.minimum(x, x * 0.5), "minimum"),
    "where": _among(lambda x: torch.where(x > 0.1, x, x * 0.5), "where", "self"),
    "mean": _among(lambda x: x - x.mean((2, 3), keepdim=True), "mean", "dim"),
    "sum": _among(lambda x: x - x.sum((2,), keepdim=True), "sum", "dim_IntList"),
    "amax": _among(lambda x: x - x.amax((3,), keepdim=True), "amax"),
    "amin": _among(lambda x: x - x.amin((3,), keepdim=True), "amin"),
    "bmm": _among(lambda x: torch.bmm(x[0], x[0].transpose(1, 2)).unsqueeze(0), "bmm"),
    "unsqueeze": _among(lambda x: torch.cat((x[:, 0].unsqueeze(1), x[:, 1:]), 1), "unsqueeze_copy", word="unsqueeze"),
    "select": _among(lambda x: x - x.select(2, 1).unsqueeze(2), "select_copy", "int", word="select"),
    "expand": _among(lambda x: x[:, :, :1].expand(-1, -1, 8, -1) * 0.5, "expand_copy", word="expand"),
    "layer_norm": _among(lambda x: torch.nn.functional.layer_norm(x, x.shape[2:]), "native_layer_norm", word="layer_norm"),
}  # fmt: skip
# Quantizers treat a convolution and such an operator after it as one.
ACTIVATIONS = ("relu", "clamp", "hardtanh")


class Own(OperatorSupportBase):
    """A user's own check."""

    def __init__(self, word):
        self.word = word

    def is_node_supported(self, submodules, node):
        del submodules
        return self.word not in name_of(node)


CHECKS = {
    "operator": lambda name: DontPartition(OPERATORS[name][1], f"aten.{OPERATORS[name][2]}", exact=False),
    "name": lambda name: DontPartitionName(*names_of(name), exact=False),
    "module": lambda name: DontPartitionModule(module_name="Checked"),
    "own": lambda name: Either([Own(word) for word in names_of(name)]),
}


def names_of(name):
    return ("view", "reshape") if name == "view" else ("max_pool2d",) if name == "max_pool2d" else (OPERATORS[name][2],)


class Either(OperatorSupportBase):
    def __init__(self, checks):
        self.checks = checks

    def is_node_supported(self, submodules, node):
        return all(check.is_node_supported(submodules, node) for check in self.checks)


def network(name, position):
    checked = Checked(OPERATORS[name][0])
    convolutions = [torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 3, 3)]
    convolutions.insert(POSITIONS.index(position), checked)
    return torch.nn.Sequential(*convolutions).eval()


def by_executorch(model, inputs, target, check):
    edge = lowered(model, inputs, target, [check])
    return delegates(edge), on_cpu(edge), outputs_of(edge, inputs, target)


def by_to_backend(model, inputs, target, check):
    partitioner = (EthosUPartitioner if target.startswith("ethos") else TOSAPartitioner)(spec_of(target), [check])
    edge = to_edge(
        torch.export.export(model, inputs), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).to_backend(partitioner)
    return delegates(edge), on_cpu(edge), outputs_of(edge, inputs, target)


def outputs_of(edge, inputs, target):
    if target.startswith("TOSA"):
        return run(edge, inputs)[0].numpy()
    return np.array(carina.Program(bytes(edge.to_executorch().buffer)).run(*(value.numpy() for value in inputs))[0])


def by_carina(model, inputs, target, check):
    compiled = carina.arm.to_edge_transform_and_lower(
        torch.export.export(model, inputs), partitioner=[EthosUPartitioner(spec_of(target), [check])]
    )
    program = compiled.to_executorch().program
    program.save("program.pte")
    calls = [part["does"] for part in carina.inspect("program.pte")["parts"] if part["kind"] == "instruction"]
    on_npu = sum(call.startswith("delegate ") for call in calls)
    return (
        on_npu,
        [call for call in calls if call.startswith("kernel ")],
        np.array(program.run(*(value.numpy() for value in inputs))[0]),
    )


FLOWS = (by_executorch, by_to_backend, by_carina)


def check(name, position, target, kind, flow):
    if name in ("hardswish", "hardsigmoid", "silu", "prelu", "layer_norm") and (target, flow) == (
        "TOSA-1.0+FP",
        by_to_backend,
    ):
        return  # to_edge() decomposes it before a partitioner runs
    model, inputs = network(name, position), (torch.randn(1, 3, 12, 12),)
    if target != "TOSA-1.0+FP":
        model = quantized(model, inputs, target)
        if not any(word in str(node.target) for node in model.graph.nodes for word in names_of(name)):
            return  # the quantizer decomposes it, so no node is left for a check to name
    expected = model(*inputs).detach().numpy()
    count, left, outputs = flow(model, inputs, target, CHECKS[kind](name))
    where = (name, position, target, kind, flow.__name__, count, left)
    # If the activation is not on the NPU, its convolution stays float in ExecuTorch's flow.
    fused = name in ACTIVATIONS and target != "TOSA-1.0+FP" and position == "middle" and flow is not by_carina
    if name in AMONG_OTHERS:
        assert count >= (2 if position == "middle" else 1), where
    else:
        assert count == (2 if position == "middle" else 1) - fused, where
    assert left or flow is by_carina, where
    step = np.diff(np.unique(expected)).min() if target != "TOSA-1.0+FP" else 0
    np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=max(3.001 * step, 1e-4), err_msg=str(where))


def combinations(name, mode):
    first = list(OPERATORS).index(name)
    whole = mode == "whole" or (mode == "all" and name in SAMPLED + MORE)
    for number, (position, target) in enumerate(itertools.product(POSITIONS, TARGETS)):
        if mode == "sample" and (POSITIONS.index(position) + TARGETS.index(target) + first) % len(TARGETS):
            continue  # the sample has each position with one target
        if name == "max_pool2d" and target == "TOSA-1.0+FP":
            continue  # ExecuTorch decomposes it, with indices, before a partitioner runs
        flows = (
            FLOWS if target.startswith("ethos") else (by_executorch, by_to_backend)
        )  # Carina's own makes programs for a runtime
        every = list(itertools.product(CHECKS, flows))
        for kind, flow in every if whole else [every[(number * 5 + first) % len(every)]]:
            yield position, target, kind, flow


def main():
    export_quickly()
    failed = 0
    mode, *chosen = (word for word in sys.argv[1:] if word != "-v")
    for name in chosen or (SAMPLED[::4] if mode == "sample" else OPERATORS):
        wrong = 0
        for combination in combinations(name, mode):
            torch.manual_seed(0)
            try:
                with torch.no_grad():
                    check(name, *combination)
            except Exception as error:
                wrong += 1
                print(
                    name,
                    combination[:3],
                    combination[3].__name__,
                    type(error).__name__,
                    str(error)[:400].replace("\n", " "),
                    file=sys.stderr,
                    flush=True,
                )
                if "-v" in sys.argv:
                    traceback.print_exc(limit=8)
        failed += wrong > 0
        if not wrong:
            note_passed(name)
    sys.exit(failed)


if __name__ == "__main__":
    main()
