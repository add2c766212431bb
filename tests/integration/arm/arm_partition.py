"""Programs of test_arm_partition.py: the nodes that partitioners of carina.arm take in ExecuTorch's own flow. One process runs them all:
`arm_partition.py NAME ...`."""

import contextlib
import io
import itertools
import logging
import re
import struct
import sys
import tempfile
import traceback
from pathlib import Path

import carina
import carina.arm

carina.arm.install()

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from arm_programs import note_passed
from carina.arm import (
    EthosUCompileSpec,
    EthosUPartitioner,
    QuantizationConfig,
    TosaCompileSpec,
    TOSAPartitioner,
    TOSAQuantizer,
    VelaExternalBlockPlacements,
    VgfCompileSpec,
    VgfPartitioner,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
    get_uint8_io_quantization_config,
)
from executorch.backends.arm.test.runner_utils import TosaReferenceModelDispatch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from tier_plugin import export_quickly, every, in_turn
from torch.fx.passes.operator_support import OperatorSupportBase
from torchao.quantization.pt2e import HistogramObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

U55 = "ethos-u55-128"
U55_SPEC = "TOSA-1.0+INT+u55"


class Function(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def spec_of(target):
    if target == "vgf":
        return VgfCompileSpec()
    return EthosUCompileSpec(target) if target.startswith("ethos") else TosaCompileSpec(target)


def partitioner_of(target):
    if target == "vgf":
        return VgfPartitioner
    return EthosUPartitioner if target.startswith("ethos") else TOSAPartitioner


def quantized(model, inputs, target, config=None, setup=None, spec=None):
    quantizer = TOSAQuantizer(spec or spec_of(target)).set_global(config or get_symmetric_quantization_config())
    if setup:
        setup(quantizer)
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(check_guards=False), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lowered(model, inputs, target, checks=None, spec=None):
    partitioner = partitioner_of(target)(spec or spec_of(target), checks)
    assert isinstance(partitioner, Partitioner)
    program = torch.export.export(model, inputs)
    return to_edge_transform_and_lower(
        program, partitioner=[partitioner], compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )


def delegates(edge):
    return sum("executorch_call_delegate" in str(node.target) for node in edge.exported_program().graph.nodes)


def on_cpu(edge):
    names = [name_of(node) for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    return [name for name in names if "delegate" not in name and "getitem" not in name]


def name_of(node):
    """The operator's name. The text of an ExecuTorch operator also contains the names of its arguments."""
    return getattr(node.target, "__name__", str(node.target))


def run(edge, inputs):
    with TosaReferenceModelDispatch():
        given = edge.exported_program().module()(*inputs)
    return list(given) if isinstance(given, (tuple, list)) else [given]


def same(edge, model, inputs, steps=0):
    """Checks that the reference model gives the results of eager PyTorch. Quantized results may differ by `steps` steps."""
    expected = model(*inputs)
    expected = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    for result, eager in zip(run(edge, inputs), expected, strict=True):
        assert result.shape == eager.shape, (result.shape, eager.shape)
        result, eager = result.double(), eager.double()
        values = torch.unique(eager)
        step = (values[1:] - values[:-1]).min() if steps and len(values) > 1 else 0
        torch.testing.assert_close(result, eager, rtol=1e-5, atol=max(float(steps * step) * 1.001, 1e-5))


MOVES = {
    "select": (lambda x: x.select(1, 2), (2, 3, 4, 5)),
    "flip": (lambda x: torch.flip(x, (1, 3)), (1, 3, 4, 5)),
    "upsample": (lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="nearest"), (1, 3, 4, 5)),
    "pixel_shuffle": (lambda x: torch.pixel_shuffle(x, 2), (1, 8, 4, 5)),
    "index_select": (lambda x: torch.index_select(x, 1, torch.tensor([2, 0])), (1, 3, 4)),
    "transpose": (lambda x: x.transpose(1, 2), (2, 3, 4)),
    "cat": (lambda x: torch.cat((x, x), 1), (2, 3, 4)),
}


def moves_become_delegates():
    for (name, (function, shape)), target in in_turn(
        MOVES.items(), ("TOSA-1.0+FP", "TOSA-1.0+INT", "TOSA-1.0+INT+int16")
    ):
        model, inputs = Function(function), (torch.rand(shape),)
        if "INT" in target:
            config = get_symmetric_a16w8_quantization_config() if "int16" in target else None
            model = quantized(model, inputs, target, config)
        edge = lowered(model, inputs, target)
        assert delegates(edge) == 1, (name, target, on_cpu(edge))
        same(edge, model, inputs, steps=1)


def nothing_left_is_no_delegate():
    for function in (lambda x: x.view(6, 4), lambda x: torch.alias_copy(x), lambda x: x.permute(0, 1, 2).clone()):
        for target in ("TOSA-1.0+FP", "TOSA-1.0+INT"):
            model, inputs = Function(function), (torch.rand(2, 3, 4),)
            if "INT" in target:
                model = quantized(model, inputs, target)
            assert delegates(lowered(model, inputs, target)) == 0


def the_cost_rule_keeps_moves():
    inputs = (torch.rand(2, 3, 4, 5),)
    spec = spec_of("TOSA-1.0+FP").set_cost_rule()
    assert delegates(lowered(Function(MOVES["select"][0]), inputs, "TOSA-1.0+FP", spec=spec)) == 0
    assert TosaCompileSpec._from_list(spec._to_list())._cost_rule


# Networks that Carina delegates whole, and the operator that the Arm backend keeps on the CPU.
KEPT_BY_ARM = {
    "lt.Tensor": (lambda x: x < 0.5, (1, 3, 6), U55_SPEC),
    "flip.default": (lambda x: torch.flip(x, (3,)), (1, 2, 3, 4), U55_SPEC),
    "where.self": (lambda x: torch.where(x > 0.5, x, x + x), (2, 6), U55_SPEC),
    "avg_pool2d.default": (torch.nn.AvgPool2d(4, 4), (1, 3, 12, 12), U55_SPEC),
    "convolution.default": (torch.nn.Conv2d(3, 4, 3, stride=4, padding=1), (1, 3, 16, 16), U55_SPEC),
    "upsample_nearest2d.vec": (torch.nn.UpsamplingNearest2d(scale_factor=3), (1, 3, 4, 4), U55_SPEC),
    "max_pool2d": (torch.nn.MaxPool2d(2, stride=2, dilation=2), (1, 3, 12, 12), "TOSA-1.0+FP"),
    "max.default": (torch.max, (2, 5), "TOSA-1.0+FP"),
    "_native_batch_norm_legit.no_stats": (
        torch.nn.BatchNorm2d(3, track_running_stats=False),
        (2, 3, 4, 4),
        "TOSA-1.0+FP",
    ),
}


def arm_partitions_keep_what_the_arm_backend_keeps():
    for name, (function, shape, target) in KEPT_BY_ARM.items():
        model, inputs = (
            (function if isinstance(function, torch.nn.Module) else Function(function)).eval(),
            (torch.rand(shape),),
        )
        if "INT" in target:
            model = quantized(model, inputs, target)
        assert delegates(lowered(model, inputs, target)) == 1, name
        edge = lowered(model, inputs, target, spec=spec_of(target).set_arm_partition())
        assert any(name in str(kept) for kept in on_cpu(edge)), (name, on_cpu(edge))


def arm_partitions_are_kept_in_specs():
    spec = spec_of("TOSA-1.0+FP").set_arm_partition()
    assert TosaCompileSpec._from_list(spec._to_list())._arm_partition
    assert not spec_of("TOSA-1.0+FP")._arm_partition
    try:
        carina.arm.install(arm_partition=True)
        assert spec_of("TOSA-1.0+FP")._arm_partition
    finally:
        carina.arm.install()
    assert not spec_of("TOSA-1.0+FP")._arm_partition


def arm_partitions_delegate_constants_alone():
    """A constant beside a kept node is quantized with the other operand, and is a delegate without an input."""
    for function, shape in (
        (lambda x: x < 2, (2, 6)),
        (lambda x: torch.where(x > 0.5, x, torch.full_like(x, 2.0)), (2, 6)),
        (lambda x: torch.eye(5, dtype=torch.int64) + x, (5,)),
    ):
        inputs, spec = (torch.rand(shape),), spec_of(U55_SPEC).set_arm_partition()
        edge = lowered(quantized(Function(function), inputs, U55_SPEC, spec=spec), inputs, U55_SPEC, spec=spec)
        calls = [node for node in edge.exported_program().graph.nodes if "executorch_call_delegate" in str(node.target)]
        assert calls and all(len(call.args) == 1 for call in calls), [call.args for call in calls]


POOLS = [
    {"kernel_size": 4, "stride": 2, "divisor_override": 16},
    {"kernel_size": 3, "stride": 2, "padding": 1, "divisor_override": 9},
    {"kernel_size": 3, "stride": 2, "padding": 1, "divisor_override": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False, "divisor_override": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "divisor_override": 9},
]


def pools_with_divisors():
    for options, target in in_turn(
        POOLS, ("TOSA-1.0+FP", "TOSA-1.0+INT", "TOSA-1.0+INT+int16", U55, "ethos-u85-128"), number=2
    ):
        model, inputs = torch.nn.AvgPool2d(**options), (torch.rand(1, 4, 14, 14),)
        if target != "TOSA-1.0+FP":
            config = get_symmetric_a16w8_quantization_config() if "int16" in target else None
            model = quantized(model, inputs, target, config)
        edge = lowered(model, inputs, target)
        assert delegates(edge) == 1, (options, target, on_cpu(edge))
        if target.startswith("TOSA"):
            same(edge, model, inputs, steps=2)


def adaptive_pools_repeat_elements():
    """An image that is smaller than the result, and windows of two sizes: a pool for each window size, joined."""
    for (size, result), target in in_turn(
        ((1, 3), (7, 10), (7, 5)), ("TOSA-1.0+INT", "TOSA-1.0+INT+int16", U55), number=2
    ):
        inputs = (torch.rand(1, 3, size, size),)
        config = get_symmetric_a16w8_quantization_config() if "int16" in target else None
        model = quantized(torch.nn.AdaptiveAvgPool2d((result, result)), inputs, target, config)
        edge = lowered(model, inputs, target)
        assert delegates(edge) == 1 and not any("pool" in name for name in on_cpu(edge)), (
            size,
            result,
            target,
            on_cpu(edge),
        )
        if target.startswith("TOSA"):
            same(edge, model, inputs, steps=1)


COPIES = {
    "of the result of another operator": lambda x: torch.zeros(x.shape).copy_(x / x) + x,
    "of the input": lambda x: torch.zeros(x.shape).copy_(x) + x,
}


def copies_join_their_neighbors():
    """The tensor that a copy overwrites has no delegate of its own, and does not divide the delegate around the copy."""
    for function in COPIES.values():
        inputs = (torch.rand(1, 2, 3, 4) + 1,)
        model = quantized(Function(function), inputs, "TOSA-1.0+INT")
        edge = lowered(model, inputs, "TOSA-1.0+INT")
        assert delegates(edge) == 1 and not any("copy" in name for name in on_cpu(edge)), on_cpu(edge)
        same(edge, model, inputs, steps=1)


def open_sizes_stay():
    """A delegate for an Ethos-U has fixed sizes, so that operators on tensors with other sizes are the CPU's."""
    inputs, width = (torch.rand(1, 3, 8, 8),), torch.export.Dim("width", min=4, max=10)
    model = quantized(Function(lambda x: torch.relu(x + x)), inputs, U55)
    program = torch.export.export(model, inputs, dynamic_shapes=({3: width},))
    edge = to_edge_transform_and_lower(program, partitioner=[EthosUPartitioner(EthosUCompileSpec(U55))])
    assert delegates(edge) == 0, on_cpu(edge)
    assert delegates(lowered(model, inputs, U55)) == 1


def vgf_follows_its_specification():
    """Without floats in its specification, a VGF delegate takes and gives integers."""
    inputs = (torch.rand(1, 5), torch.rand(1, 5))
    model = quantized(Function(torch.add), inputs, "TOSA-1.0+INT")
    counts = [
        sum("quantize_per_tensor" in name for name in on_cpu(lowered(model, inputs, "vgf", spec=VgfCompileSpec(spec))))
        for spec in ("TOSA-1.0+INT", "TOSA-1.0+FP+INT")
    ]
    assert counts == [3, 0], counts


COMPARED = {
    "lt": lambda x, y: x < y,
    "le_scalar": lambda x, y: (x + y) <= 0.5,
    "ne": lambda x, y: x != y,
    "ne_scalar": lambda x, y: torch.ne(x + y, 0.5),
    "prelu": lambda x, y: torch.nn.functional.prelu(x + y, torch.tensor([0.25])),
    "sqrt": lambda x, y: torch.sqrt(x * x + y * y),
}


def comparisons_never_raise():
    targets = ("TOSA-1.0+INT", "TOSA-1.0+INT+int16", "TOSA-1.0+INT+FP", U55, "ethos-u85-128")
    for (name, function), target in in_turn(COMPARED.items(), targets, number=2):
        inputs = (torch.randn(2, 3, 4), torch.randn(2, 3, 4))
        config = get_symmetric_a16w8_quantization_config() if "int16" in target else None
        model = quantized(Function(function), inputs, target, config)
        edge = lowered(model, inputs, target)
        edge.to_executorch()
        if target.startswith("TOSA") and name in ("lt", "prelu", "sqrt"):
            assert delegates(edge) >= 1, (name, target, on_cpu(edge))
            same(edge, model, inputs, steps=1)


class Middle(torch.nn.Module):
    def __init__(self, operator):
        super().__init__()
        self.first, self.last, self.operator = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 3, 3), operator

    def forward(self, x):
        return self.last(self.operator(self.first(x)))


class Not(OperatorSupportBase):
    def __init__(self, words):
        self.words = words

    def is_node_supported(self, submodules, node):
        return not any(word in name_of(node) for word in self.words)


MIDDLES = {
    "sigmoid": torch.nn.Sigmoid(),
    "relu": torch.nn.ReLU(),
    "hardswish": torch.nn.Hardswish(),
    "add": Function(lambda x: x + 1.5),
    "mul": Function(lambda x: x * x),
    "max_pool2d": torch.nn.MaxPool2d(2),
    "avg_pool2d": torch.nn.AvgPool2d(2),
    "tanh": torch.nn.Tanh(),
    "view": Function(lambda x: x.reshape(1, 4, 20, 5)),
}


def checks_cut_the_network():
    for (name, operator), target in in_turn(MIDDLES.items(), ("TOSA-1.0+FP", "TOSA-1.0+INT", U55)):
        if name == "max_pool2d" and target == "TOSA-1.0+FP":
            continue
        model, inputs = Middle(operator).eval(), (torch.randn(1, 3, 12, 12),)
        if target != "TOSA-1.0+FP":
            model = quantized(model, inputs, target)
        edge = lowered(model, inputs, target, [Not([name])])
        # Quantizers treat the first convolution and its activation as one: if one is float, so is the other.
        count = 1 if name == "relu" and target != "TOSA-1.0+FP" else 2
        assert delegates(edge) == count, (name, target, delegates(edge), on_cpu(edge))
        # ExecuTorch decomposes a hardswish unless a partitioner wants it whole.
        assert any(name in op or (name, "aten.clamp" in op) == ("hardswish", True) for op in on_cpu(edge)), (
            name,
            target,
            on_cpu(edge),
        )
        if target.startswith("TOSA"):
            same(edge, model, inputs, steps=2)


def unknown_operators_stay():
    def network(x):
        y = torch.sigmoid(x) * 2
        return y + 1, torch.nonzero(y > 1)

    inputs = (torch.randn(2, 3),)
    for target in ("TOSA-1.0+FP", "TOSA-1.0+INT"):
        model = Function(network) if target == "TOSA-1.0+FP" else quantized(Function(network), inputs, target)
        edge = lowered(model, inputs, target)
        assert delegates(edge) >= 1
        assert any("nonzero" in op for op in on_cpu(edge))


class QuantizedAndFloat(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sigmoid = torch.nn.Sigmoid()

    def forward(self, x, y):
        return self.sigmoid(x + y) * x


def floats_between_integers():
    inputs = (torch.randn(2, 3, 4), torch.randn(2, 3, 4))
    for target, count in (("TOSA-1.0+INT+FP", 1), ("TOSA-1.0+INT", 2)):
        model = quantized(
            QuantizedAndFloat(),
            inputs,
            target,
            setup=lambda quantizer: quantizer.set_module_type(torch.nn.Sigmoid, None),
        )
        edge = lowered(model, inputs, target)
        assert delegates(edge) == count, (target, delegates(edge), on_cpu(edge))
        assert (on_cpu(edge) == []) == (count == 1), on_cpu(edge)
        same(edge, model, inputs, steps=1)


def in_all_orders():
    """(model, inputs): inputs and outputs in each of the 24 orders in memory, and outputs in the order of their shape."""
    for order in every(6, itertools.permutations(range(4))):
        inputs = (torch.randn(2, 3, 4, 5).permute(order),)
        yield Function(lambda x, order=order: (x * 2).permute(order)), inputs
        yield Function(lambda x: (x * 2).contiguous()), inputs


def all_orders_of_memory():
    """Inputs and results of permutations have any memory order, and the program returns the results in the right one."""
    for model, inputs in in_all_orders():
        edge = lowered(model, inputs, "TOSA-1.0+FP")
        assert delegates(edge) == 1
        same(edge, model, inputs)
    last = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    for function in (
        lambda x: x * 2,
        lambda x: (x * 2).contiguous(),
        lambda x: x.clone(memory_format=torch.contiguous_format) * x,
    ):
        edge = lowered(Function(function), (last,), "TOSA-1.0+FP")
        same(edge, Function(function), (last,))


def all_orders_of_memory_in_vgf():
    """Carina's runtime passes tensors to the delegates as they are in memory, and runs the delegates in the interpreter."""
    for model, inputs in in_all_orders():
        edge = lowered(model, inputs, "vgf")
        assert delegates(edge) == 1 and on_cpu(edge) == [], on_cpu(edge)
        (result,) = carina.Program(edge.to_executorch().buffer).run(*inputs)
        torch.testing.assert_close(torch.from_numpy(result), model(*inputs), rtol=0, atol=0)


def quantized_ends_in_channels_last():
    """In a mixed specification, a delegate ends with the dequantized result, in the order of memory."""
    inputs = (torch.randn(1, 8, 4, 5).to(memory_format=torch.channels_last),)
    model = quantized(Function(lambda x: torch.pixel_shuffle(x, 2)), inputs, "TOSA-1.0+INT+FP")
    edge = lowered(model, inputs, "TOSA-1.0+INT+FP")
    assert delegates(edge) == 1 and on_cpu(edge) == [], on_cpu(edge)
    same(edge, model, inputs, steps=1)


def batch_first_recurrences():
    for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN):
        model, inputs = kind(4, 5, batch_first=True).eval(), (torch.randn(2, 3, 4),)
        edge = lowered(Function(lambda x, model=model: model(x)[0]), inputs, "TOSA-1.0+FP")
        same(edge, Function(lambda x, model=model: model(x)[0]), inputs)


def multiples_are_added():
    """add() with alpha, on tensors of the same rank and of different ranks."""
    ranks = (((2, 3, 4), (2, 3, 4)), ((1, 4, 5), (4, 1)), ((4, 1), (1, 1, 4, 5)))
    for shapes, target in in_turn(ranks, ("TOSA-1.0+FP", "TOSA-1.0+INT", "TOSA-1.0+INT+int16"), number=2):
        model, inputs = Function(lambda x, y: torch.add(x, y, alpha=1.5)), tuple(torch.randn(shape) for shape in shapes)
        if "INT" in target:
            model = quantized(
                model, inputs, target, get_symmetric_a16w8_quantization_config() if "int16" in target else None
            )
        edge = lowered(model, inputs, target)
        assert delegates(edge) == 1, (shapes, target, on_cpu(edge))
        assert "aten.add.Tensor" not in on_cpu(edge), (shapes, target)
        same(edge, model, inputs, steps=1)


def operators_are_spelled_as_there():
    inputs = (torch.rand(2, 3), torch.rand(2, 3))
    spelled = {
        lambda x, y: x < 0.5: ("aten.lt.Tensor",),
        lambda x, y: x != y: ("aten.eq.Tensor", "aten.logical_not.default"),
        lambda x, y: torch.sqrt(x): ("aten.pow.Tensor_Scalar",),
        lambda x, y: torch.rsub(x, 2): ("aten.sub.Tensor",),
        lambda x, y: torch.ops.aten.add.Scalar(x, 3): ("aten.add.Tensor",),
        lambda x, y: 2.5 * x: ("aten.mul.Tensor", "_frozen_param0"),
        lambda x, y: x / 4: ("aten.mul.Tensor", "_frozen_param0"),
        lambda x, y: torch.div(x, y + 1, rounding_mode=None): ("aten.reciprocal.default", "aten.mul.Tensor"),
        lambda x, y: torch.floor_divide(x, y + 1): ("aten.mul.Tensor", "aten.floor.default"),
        lambda x, y: torch.nn.functional.celu(x - y, 2.0): ("aten.elu.default",),
        lambda x, y: torch.selu(x - y): ("aten.elu.default",),
        lambda x, y: torch.index_copy(x, 1, torch.tensor([2, 0]), y[:, :2]): ("aten.index_put.default",),
        lambda x, y: torch.max(x + y, 1)[0]: ("aten.amax.default",),
        lambda x, y: torch.min(x + y, 0, keepdim=True)[0]: ("aten.amin.default",),
    }
    for function, names in spelled.items():
        targets = [str(node.target) for node in quantized(Function(function), inputs, "TOSA-1.0+INT").graph.nodes]
        assert all(name in targets for name in names), targets


def values_in_parts_of_tensors_are_selected_and_moved():
    """tril, select_scatter and slice_scatter are decomposed as in the Arm backend, with the results of the operators."""
    inputs = (torch.rand(2, 4, 6), torch.rand(2, 4, 6))
    decomposed = {
        lambda x, y: torch.tril(x): ("where.self",),
        lambda x, y: torch.tril(x + y, -1): ("where.self",),
        lambda x, y: torch.select_scatter(x, y[:, :, 2], 2, -1): ("arange.start_step", "eq.Tensor", "expand_copy.default", "where.self"),
        lambda x, y: torch.select_scatter(x, y[1], -3, 0): ("arange.start_step", "eq.Tensor", "expand_copy.default", "where.self"),
        lambda x, y: torch.slice_scatter(x, y[:, 1:3], 1, 2): ("slice_copy.Tensor", "cat.default"),
        lambda x, y: torch.slice_scatter(x, y[:, :, :3], -1, 0, -3): ("slice_copy.Tensor", "cat.default"),
        lambda x, y: torch.slice_scatter(x, y[:, :, :2], 2, 1, 5, 2): ("permute_copy.default", "index_put.default"),
        lambda x, y: torch.slice_scatter(x, y[:1], 0, 1, None, 2): ("index_put.default",),
        lambda x, y: torch.slice_scatter(x, y[:, :0], 1, 3, 3) + y: ("add.Tensor",),
    }  # fmt: skip
    for function, names in decomposed.items():
        model = Function(function)
        graph = quantized(model, inputs, "TOSA-1.0+INT")
        targets = [str(node.target) for node in graph.graph.nodes]
        assert all(f"aten.{name}" in targets for name in names), targets
        assert not any(
            target.startswith("aten.") and ("scatter" in target or "tril" in target) for target in targets
        ), targets
        edge = lowered(graph, inputs, "TOSA-1.0+INT")
        assert delegates(edge) == 1 and not any("aten" in name for name in on_cpu(edge)), (targets, on_cpu(edge))
        same(edge, graph, inputs, steps=1)


def numbers_beside_scalars_keep_ranks():
    """A number that becomes a tensor has the rank of the result beside a tensor without dimensions."""
    inputs = (torch.rand(3, 4),)
    model = quantized(
        Function(lambda x: torch.stack((torch.where(x.sum() != 0, x.sum(), x.amax()), x.sum() / 2))),
        inputs,
        "TOSA-1.0+INT",
    )
    assert model(*inputs).shape == (2,)
    assert lowered(model, inputs, "TOSA-1.0+INT").exported_program()


def floating_point_profile_has_indices():
    x, index = torch.rand(4, 6), torch.tensor([[1, 0], [2, 3], [0, 5], [3, 4]], dtype=torch.int32)
    functions = {
        lambda x, i: torch.gather(x, 1, i.long()): (x, index),
        lambda x, i: x[i[:, 0]]: (x, index),
        lambda x, i: torch.index_select(x, 1, i[0]): (x, index),
        lambda x, i: x + (i.sum() >> 2): (x, index),
    }
    for function, inputs in functions.items():
        model = Function(function)
        edge = lowered(model, inputs, "TOSA-1.0+FP")
        assert delegates(edge) == 1 and on_cpu(edge) == [], on_cpu(edge)
        same(edge, model, inputs)


def floating_point_profile_has_no_other_integers():
    """As in the Arm backend, bitwise operators and comparisons of int32 stay on the CPU."""
    inputs = (torch.rand(3, 4), torch.randint(0, 9, (3, 4), dtype=torch.int32))
    for function in (lambda x, i: x + (i & 5), lambda x, i: x * (i > 3), lambda x, i: x * i.to(torch.int8)):
        for target, count in (("TOSA-1.0+FP", 1), ("TOSA-1.0+INT+FP", 0)):
            edge = lowered(Function(function), inputs, target)
            assert len(on_cpu(edge)) == count, (target, on_cpu(edge))
            same(edge, Function(function), inputs)
    halves = (torch.rand(3, 4).to(torch.bfloat16),)
    for extensions, count in (("bf16", 1), ("bf16+fp8e4m3", 0)):
        edge = lowered(Function(lambda x: (x + x).to(torch.float8_e4m3fn)), halves, f"TOSA-1.0+FP+{extensions}")
        assert len(on_cpu(edge)) == count, (extensions, on_cpu(edge))


def indices_of_64_bits_are_narrowed():
    inputs = (torch.rand(4, 6), torch.tensor([[1, 0], [2, 3], [0, 2], [3, 1]]))
    for function in (lambda x, i: torch.gather(x, 1, i), lambda x, i: x[i]):
        model = quantized(Function(function), inputs, "TOSA-1.0+INT")
        assert delegates(lowered(model, inputs, "TOSA-1.0+INT")) == 1
    model = quantized(Function(lambda x, i: i + 1), inputs, "TOSA-1.0+INT")
    assert model(*inputs).dtype == torch.int64


def transposed_convolutions_train():
    """The channels of their weights are on the second axis; with groups, all of them have one scale."""
    for groups, scales in ((1, 4), (2, 1)):
        model, inputs = torch.nn.ConvTranspose2d(6, 4, 3, groups=groups), (torch.randn(1, 6, 5, 5),)
        config = get_symmetric_quantization_config(is_qat=True)
        prepared = prepare_qat_pt2e(
            torch.export.export(model, inputs).module(check_guards=False),
            TOSAQuantizer(spec_of("TOSA-1.0+INT")).set_global(config),
        )
        prepared(*inputs)
        counts = {module.scale.numel() for module in prepared.modules() if hasattr(module, "scale")}
        assert counts == {1, scales}, counts
        edge = lowered(convert_pt2e(prepared), inputs, "TOSA-1.0+INT")
        assert delegates(edge) == 1


def samples_stay_as_they_are():
    sample = (torch.rand(2, 3),)
    before = sample[0].clone()

    def add_in_place(x):
        x += 3
        return x

    model = quantized(Function(add_in_place), sample, "TOSA-1.0+INT")
    assert torch.equal(sample[0], before)
    torch.testing.assert_close(model(*sample), before + 3, rtol=0.05, atol=0.05)


class Choice(torch.nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: torch.sin(y), lambda y: torch.cos(y), [x])


def conditions_become_delegates():
    inputs = (torch.rand(2, 3),)
    edge = lowered(Choice(), inputs, "TOSA-1.0+FP+cf")
    assert delegates(edge) == 1 and on_cpu(edge) == [], on_cpu(edge)
    quantized(Choice(), inputs, "TOSA-1.0+INT+cf")  # its branches stay float


class TwoConvolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 1, 1), torch.nn.Conv2d(1, 1, 1)

    def forward(self, x, y):
        return (torch.relu(self.conv1(x)) / self.conv2(y)).view((1,))


class OneNode(Quantizer):
    """A user's own quantizer, of a node's input. Like some quantizers of the Arm backend, annotate() returns nothing."""

    def annotate(self, model):
        node = next(node for node in model.graph.nodes if node.name == "conv2d")
        spec = get_symmetric_quantization_config().get_input_act_qspec()
        node.meta["quantization_annotation"] = QuantizationAnnotation({node.args[0]: spec}, _annotated=True)

    def validate(self, model):
        pass


class Limits(torch.nn.Module):
    """Constants whose names torch.fx spells in another way, or copies first."""

    def __init__(self):
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(4, 4))
        self.UpperLimit = torch.nn.Parameter(torch.full((4,), 5.0))

    def forward(self, x):
        x = torch.minimum(self.UpperLimit, torch.nn.functional.linear(x, self.W))
        return torch.maximum(x, torch.tensor(0.5))


def constants_are_quantized():
    inputs = (torch.randn(3, 4),)
    model = quantized(Limits().eval(), inputs, "TOSA-1.0+INT")
    operands = [
        operand for node in model.graph.nodes if "aten." in str(node.target) for operand in node.all_input_nodes
    ]
    assert len(operands) == 6 and all("dequantize" in str(operand.target) for operand in operands), operands
    edge = lowered(model, inputs, "TOSA-1.0+INT")
    assert delegates(edge) == 1
    same(edge, model, inputs, steps=1)


def quantized_operands(setup):
    """For each convolution: whether its input and its weight are quantized."""
    inputs = (torch.ones(1, 1, 1, 1), torch.ones(1, 1, 1, 1))
    model = quantized(TwoConvolutions(), inputs, "TOSA-1.0+INT+int16", get_symmetric_a16w8_quantization_config(), setup)
    convolutions = [node for node in model.graph.nodes if "conv2d" in str(node.target)]
    return [tuple("dequantize" in str(operand.target) for operand in node.args[:2]) for node in convolutions]


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(1, 4))
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        self.state.copy_(self.state + 1)
        return self.second(torch.relu(self.first(x))) + self.state


def state_stays_on_the_cpu():
    """What does not overwrite the state is quantized and delegated, also if only a type of modules has a config."""
    inputs = (torch.randn(1, 4),)
    for setup in (
        None,
        lambda quantizer: quantizer.set_global(None).set_module_type(
            torch.nn.Linear, get_symmetric_quantization_config()
        ),
    ):
        edge = lowered(quantized(State().eval(), inputs, U55, setup=setup), inputs, U55)
        assert delegates(edge) >= 1, on_cpu(edge)
        pte = edge.to_executorch().buffer
        first, second = (carina.run(pte, [inputs[0].numpy()])[0] for _ in range(2))
        assert (first == second).all()  # each call begins with the initial state


class Written(torch.nn.Module):
    """A state and how the model writes it."""

    def __init__(self, write):
        super().__init__()
        self.register_buffer("a", torch.zeros(1, 5, 4))
        self.register_buffer("b", torch.zeros(1, 5, 4))
        self.layer = torch.nn.Linear(4, 4)
        self.write = write

    def forward(self, x):
        return self.write(self, self.layer(x))


def shifted(m, x):
    m.a[:, :-1] = m.a[:, 1:].clone()
    m.a[:, -1] = x
    return m.a.sum(1) + x


def read_through_a_view(m, x):
    view = m.a[:, 2:4]
    m.a.copy_(torch.roll(m.a, -1, 1))
    m.a[:, 4].copy_(x)
    view.mul_(0.5)
    return view.sum(1) + m.a[:, 3]


def changed_by_arithmetic(m, x):
    m.a.mul_(0.5)
    m.a.add_(x[:, None])
    first = m.a[:, 0]
    m.b.copy_(m.a)
    m.a[:, 0].add_(first)
    return (m.a - 0.5 * m.b).sum(1)


def swapped(m, x):
    old = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(old)
    m.b[:, 1] = x
    return m.a[:, 1] + 2 * m.b[:, 1]


def put_at_places(m, x):
    m.a.index_copy_(1, torch.tensor([2]), x[:, None])
    m.b[:, torch.tensor([1])] = x[:, None]
    return torch.cat([m.a.transpose(1, 2), m.b.transpose(1, 2)], -1)


def state_is_written_in_functional_form():
    """The quantizer replaces writes to views and to places. All samples give what eager PyTorch gives, and one copy_ writes each state. The
    quantized model keeps its state as well."""
    torch.manual_seed(3)
    samples = [torch.randn(1, 4) for _ in range(8)]
    for write, states in (
        (shifted, 1),
        (read_through_a_view, 1),
        (changed_by_arithmetic, 2),
        (swapped, 2),
        (put_at_places, 2),
    ):
        model = Written(write).eval().requires_grad_(False)
        expected = [model(x).clone() for x in samples]
        model.a.zero_(), model.b.zero_()
        quantizer = TOSAQuantizer(spec_of(U55)).set_global(get_symmetric_quantization_config())
        exported = [torch.export.export(model, (samples[0],)).module(check_guards=False) for _ in range(2)]
        functional = quantizer.transform_for_annotation(exported[0])
        for x, result in zip(samples, expected, strict=True):
            torch.testing.assert_close(functional(x), result, rtol=0, atol=0)
        writes = [node for node in functional.graph.nodes if node.op == "call_function" and "_." in str(node.target)]
        assert [str(node.target) for node in writes] == ["aten.copy_.default"] * states, (write, writes)

        prepared = prepare_pt2e(exported[1], quantizer)
        for x in samples:
            prepared(x)
        prepared.a.zero_(), prepared.b.zero_()
        converted = convert_pt2e(prepared)
        noise = torch.stack([converted(x) - result for x, result in zip(samples, expected, strict=True)])
        assert noise.square().sum() < 10**-2.5 * torch.stack(expected).square().sum(), (write, noise)  # 25 dB


def caches_are_in_the_delegate():
    """A place that comes at run time is written by the NPU. Each step gives what PyTorch's integer model gives."""

    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("keys", torch.zeros(1, 2, 6, 8))

        def forward(self, new, place):
            self.keys.index_copy_(2, place, new)
            return self.keys.clone()

    torch.manual_seed(5)
    for target in (U55, "ethos-u65-256", "ethos-u85-256"):
        inputs = (torch.randn(1, 2, 1, 8), torch.tensor([1]))
        converted = quantized(Cache().eval(), inputs, target)
        converted.keys.zero_()
        edge = lowered(converted, inputs, target)
        kinds = {name.split(".")[1] for name in on_cpu(edge)}
        assert delegates(edge) == 1 and kinds <= {
            "_to_dim_order_copy",
            "quantize_per_tensor",
            "dequantize_per_tensor",
        }, (target, on_cpu(edge))
        Path("cache.pte").write_bytes(edge.to_executorch().buffer)
        program = carina.Program.load(Path("cache.pte"))
        for place in (1, 4, 0):
            new = torch.randn(1, 2, 1, 8) * 0.3
            (result,) = program.run(new.numpy(), torch.tensor([place]).numpy())
            torch.testing.assert_close(torch.from_numpy(result), converted(new, torch.tensor([place])), rtol=0, atol=0)


def conditions_with_constants_stay_on_the_cpu():
    class Condition(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, 8)

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda y: self.layer(y), lambda y: y * 2, (x,))

    inputs = (torch.randn(4, 8),)
    for target in ("TOSA-1.0+FP", "ethos-u85-256"):
        model = Condition().eval() if "FP" in target else quantized(Condition().eval(), inputs, target)
        edge = lowered(model, inputs, target)
        assert delegates(edge) == 1 and "cond" in on_cpu(edge), (target, on_cpu(edge))


def uint8_ends_are_in_the_delegate():
    model, inputs = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU()).eval(), (torch.randn(1, 3, 8, 8),)
    for target in (U55, "ethos-u85-256", "TOSA-1.0+INT"):
        converted = quantized(
            model, inputs, target, setup=lambda quantizer: quantizer.set_io(get_uint8_io_quantization_config())
        )
        edge = lowered(converted, inputs, target)
        assert [name.split(".")[1] for name in on_cpu(edge)] == ["quantize_per_tensor", "dequantize_per_tensor"], (
            on_cpu(edge)
        )
        if target.startswith("ethos"):
            (result,) = carina.run(edge.to_executorch().buffer, [inputs[0].numpy()])
            torch.testing.assert_close(torch.from_numpy(result), converted(*inputs), rtol=0, atol=0.02)


def a_float_reader_keeps_its_producer_alone():
    """linalg.cross has a selection of integers with a float reader. It takes no other node to the CPU."""

    class Cross(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = torch.nn.Conv2d(3, 8, 3)

        def forward(self, x, a, b):
            return torch.relu(self.convolution(x)), torch.linalg.cross(a, b)

    inputs = (torch.randn(1, 3, 8, 8), torch.randn(2, 3), torch.randn(2, 3))
    edge = lowered(quantized(Cross().eval(), inputs, U55), inputs, U55)
    assert delegates(edge) == 1 and not any("conv" in name for name in on_cpu(edge)), on_cpu(edge)


def integers_have_functions():
    numbers = torch.tensor([[-9, -1, 0, 1, 7], [3, -(2**31) + 1, 2**31 - 1, 5, -4]], dtype=torch.int32)
    for function, target in in_turn((torch.abs, torch.neg, torch.sign), (U55, "ethos-u85-256")):
        edge = lowered(quantized(Function(function), (numbers,), target), (numbers,), target)
        assert delegates(edge) == 1 and not on_cpu(edge), (function, target, on_cpu(edge))
        assert (carina.run(edge.to_executorch().buffer, [numbers.numpy()])[0] == function(numbers).numpy()).all(), (
            function,
            target,
        )


def limits_may_be_tensors():
    inputs = (torch.randn(2, 5), torch.full((5,), -0.5), torch.full((5,), 0.5))
    for function in (torch.clamp, lambda x, low, high: torch.clamp(x, max=high) + low):
        edge = lowered(quantized(Function(function), inputs, "ethos-u85-256"), inputs, "ethos-u85-256")
        assert delegates(edge) == 1 and not any("aten" in name for name in on_cpu(edge)), on_cpu(edge)


def copied_outputs_are_in_the_delegate():
    for function in (lambda x: (x * x).clone(), lambda x: x.permute(0, 2, 1, 3).contiguous()):
        inputs = (torch.rand(1, 2, 3, 4),)
        edge = lowered(quantized(Function(function), inputs, U55), inputs, U55)
        assert delegates(edge) == 1 and len(on_cpu(edge)) == 2, on_cpu(edge)


def blocks_of(edge):
    """{name: (whether the data are external, data)} of a delegate's blob. Source: docs/facts/arm_backend.md 6.3."""
    (name,) = (name for name, _ in edge.exported_program().graph_module.named_children() if "lowered_module" in name)
    blob, at, found = getattr(edge.exported_program().graph_module, name).processed_bytes, 0, {}
    while at < len(blob):
        block, size, external = struct.unpack_from("<16sIB", blob, at)
        found[block.rstrip(b"\0").decode()] = (bool(external), blob[at + 32 : at + 32 + size])
        at += 32 + (size + 15) // 16 * 16
    assert at == len(blob)
    return found


def blocks_are_external():
    """The blocks of a delegate with external data are those of the delegate without, and the two tagged ones are in files of their own."""
    model, inputs = torch.nn.Conv2d(3, 4, 3).eval(), (torch.randn(1, 3, 8, 8),)
    whole, apart = (
        EthosUCompileSpec(U55),
        EthosUCompileSpec(U55, external_block_placements=VelaExternalBlockPlacements("commands", "weights")),
    )
    quantized_model = quantized(model, inputs, U55)
    expected = blocks_of(lowered(quantized_model, inputs, U55, spec=whole))
    edge = lowered(quantized_model, inputs, U55, spec=apart)
    found = blocks_of(edge)
    assert list(found) == list(expected) and expected["vela_bin_stream"] == (False, b"")
    with tempfile.TemporaryDirectory() as folder:
        edge.to_executorch().write_tensor_data_to_file(folder)
        for block, tag in (("cmd_data", "commands"), ("weight_data", "weights")):
            is_external, key = found.pop(block)
            file = Path(folder, tag + ".ptd").read_bytes()
            assert is_external and len(key) == 64 and key in file and expected.pop(block)[1] in file
    assert found == expected


SUMMARIES = {
    U55: ("Ethos_U55_High_End_Embedded", "Shared_Sram", ["SRAM", "Off-chip Flash"]),
    "ethos-u65-256": ("Ethos_U65_High_End", "Dedicated_Sram_384KB", ["SRAM", "DRAM"]),
    "ethos-u85-256": ("Ethos_U85_SYS_DRAM_Mid", "Sram_Only", ["SRAM"]),
}


def delegates_print_summaries():
    """In the form of Vela's network summary: the memories that the delegate uses."""
    inputs = (torch.randn(1, 3, 8, 8),)
    for target, (system, mode, memories) in SUMMARIES.items():
        model = quantized(torch.nn.Conv2d(3, 4, 3).eval(), inputs, target)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            lowered(model, inputs, target, spec=EthosUCompileSpec(target, extra_flags=["--verbose-weights"]))
        rows = dict(re.findall(r"^(.+?) {2,}(\S.*)$", said.getvalue(), re.MULTILINE))
        assert (rows["System configuration"], rows["Memory mode"]) == (system, mode), rows
        used = {name: float(value.split()[0]) for name, value in rows.items() if name.endswith(" used")}
        assert list(used) == [f"Total {memory} used" for memory in memories] and all(
            value > 0 for value in used.values()
        ), used
        assert int(rows["Neural network macs"].removesuffix(" MACs/batch")) >= 6 * 6 * 4 * 27
        assert (
            rows["Original Weights Size"] == f"{4 * 27 / 1024:.2f} KiB"
            and float(rows["NPU Encoded Weights Size"].split()[0]) > 0
        )
        assert "Total   SRAM bandwidth" in said.getvalue() and "Design peak SRAM bandwidth" in rows


def quantizers_report():
    """At level DEBUG, the log has a row for each annotated node, and the other nodes."""
    said, handler = [], logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    log = logging.getLogger("carina.arm")
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    quantized_operands(lambda quantizer: quantizer.set_module_name("conv2", None))
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)
    (report,) = (text for text in said if "FINAL QUANTIZATION REPORT" in text)
    assert re.search(
        r"^   conv2d +x: QuantizationSpec\(dtype=INT16, range=\(-32767,32767\)\) +Quant", report, re.MULTILINE
    ), report
    assert "dtype=INT8, range=(-127,127)" in report and "\n    conv2d_1\n" in report.split("Non annotated nodes:")[1], (
        report
    )


def settings_take_lists():
    """The settings of the Arm backend's tutorial on quantizers: the first convolution in 8 bits, the second one in floats, the rest in 16."""
    narrow = get_symmetric_quantization_config()

    def by_node(quantizer):
        quantizer.set_module_type([torch.nn.Conv2d], None).set_node_name(["conv2d", "relu"], narrow)

    def by_target(quantizer):
        quantizer.set_node_target((torch.ops.aten.conv2d.default, torch.ops.aten.relu.default), narrow).set_module_name(
            ["conv2"], None
        )

    for setup in (by_node, by_target):
        assert [weight for _, weight in quantized_operands(setup)] == [True, False]
    assert quantized_operands(lambda quantizer: quantizer.set_global(None).add_quantizer(OneNode())) == [
        (True, False),
        (False, False),
    ]


def symmetric(dtype):
    """A spec without zero points, for activations."""
    return QuantizationSpec(dtype, HistogramObserver.with_args(eps=2**-16), qscheme=torch.per_tensor_symmetric)


class SumOfTables(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.sigmoid = torch.nn.Sigmoid()

    def forward(self, x, y):
        return self.sigmoid(x) + self.sigmoid(y)


def is_one_delegate(model, inputs, target, tolerance):
    """Checks that no operator stays on the CPU, and the results: of a reference model of TOSA, and of the simulated NPU."""
    edge = lowered(model, inputs, target)
    assert delegates(edge) == 1 and not any("aten" in name for name in on_cpu(edge)), on_cpu(edge)
    (result,) = carina.Program(edge.to_executorch().buffer).run(*inputs) if target == U55 else run(edge, inputs)
    torch.testing.assert_close(torch.as_tensor(result), model(*inputs), rtol=0, atol=tolerance)


def integers_of_32_bits():
    """Sums in 32 bits between inputs and outputs in 8; tables from 16 to 32 bits, for modules of one type."""
    wide = QuantizationConfig(symmetric(torch.int32), symmetric(torch.int32), None, None)
    table = QuantizationConfig(symmetric(torch.int16), symmetric(torch.int32), None, None)
    inputs = (torch.rand(3, 4), torch.rand(3, 4))
    for target in ("TOSA-1.0+INT+int16", U55):
        model = quantized(
            Function(torch.add),
            inputs,
            target,
            wide,
            lambda quantizer: quantizer.set_io(get_symmetric_quantization_config()),
        )
        is_one_delegate(model, inputs, target, 2 / 255)
        model = quantized(
            SumOfTables(), inputs, target, wide, lambda quantizer: quantizer.set_module_type(torch.nn.Sigmoid, table)
        )
        tables = [node for node in model.graph.nodes if "sigmoid" in str(node.target)]
        assert [node.args[0].args[-1] for node in tables] == [torch.int16] * 2, tables
        is_one_delegate(model, inputs, target, 2e-4)
    edge = lowered(model, inputs, U55, spec=spec_of(U55).set_arm_partition())
    assert delegates(edge) == 1 and sum("sigmoid" in name for name in on_cpu(edge)) == 2, on_cpu(edge)


def divisors_are_inverted():
    """A quantized divisor is a constant, whose inverse becomes a factor."""
    inputs = (torch.rand(3, 4),)
    model = quantized(Function(lambda x: x / 3), inputs, "TOSA-1.0+INT")
    for target in ("TOSA-1.0+INT", U55):
        is_one_delegate(model, inputs, target, 1 / 3 / 255 * 1.001)


def complex_numbers_stay():
    def spectrum(x):
        found = torch.fft.rfft2(x + 1)
        return found.real, found.imag

    edge = lowered(Function(spectrum), (torch.rand(8, 16),), "TOSA-1.0+FP")
    assert delegates(edge) == 2 and any("fft" in name for name in on_cpu(edge)), on_cpu(edge)


def main():
    export_quickly()
    # The programs look at where nodes go. The search for the best range takes a fourth of their time.
    HistogramObserver._non_linear_param_search = lambda observer: (observer.min_val, observer.max_val)
    failed = 0
    for name in sys.argv[1:]:
        torch.manual_seed(0)
        try:
            with torch.no_grad():
                globals()[name]()
        except Exception:
            failed += 1
            traceback.print_exc(limit=6)
        else:
            note_passed(name)
    sys.exit(failed)


if __name__ == "__main__":
    main()
