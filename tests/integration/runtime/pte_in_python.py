"""Runs a .pte with the Python implementations of its operators. The official reader parses the program, and PyTorch and the wheel's
Cortex-M backend compute."""

import math

import executorch.backends.cortex_m.passes.replace_quant_nodes_pass  # noqa: F401  defines torch.ops.cortex_m
import torch
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    Int,
    IntList,
    KernelCall,
    Null,
    OptionalTensorList,
    String,
    Tensor,
    TensorList,
)

# By ExecuTorch's numbers (facts/executorch.h).
TYPES = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.half,
    6: torch.float32,
    7: torch.float64,
    11: torch.bool,
}


class Values:
    """The table of values of a program with one method."""

    def __init__(self, program):
        self.plan = program.execution_plan[0]
        self.constants = program.constant_buffer
        self.tensors = {i: self.initial(v.val) for i, v in enumerate(self.plan.values) if isinstance(v.val, Tensor)}

    def initial(self, spec):
        dtype, sizes = TYPES[int(spec.scalar_type)], list(spec.sizes)
        assert list(spec.dim_order) == list(range(len(sizes))), "dense in the order of the axes"
        if spec.data_buffer_idx:
            content = bytearray(self.constants[spec.data_buffer_idx].storage)  # up to the next constant
            return torch.frombuffer(content, dtype=dtype, count=math.prod(sizes)).reshape(sizes)
        return torch.zeros(sizes, dtype=dtype)

    def __getitem__(self, index):
        value = self.plan.values[index].val
        match value:
            case Tensor():
                return self.tensors[index]
            case Null():
                return None
            case Int():
                return value.int_val
            case Bool():
                return value.bool_val
            case Double():
                return value.double_val
            case String():
                return value.string_val
            case IntList() | DoubleList() | BoolList():
                return [self[i] for i in value.items] if isinstance(value, IntList) else list(value.items)
            case TensorList() | OptionalTensorList():
                return [None if i < 0 else self.tensors[i] for i in value.items]
        raise AssertionError(value)


def call(values, instruction):
    """Calls one kernel. Its outputs come after its arguments, and again as its return values."""
    operator = values.plan.operators[instruction.op_index]
    space, name = operator.name.split("::")
    packet = getattr(getattr(torch.ops, space), name)
    arguments = [values[i] for i in instruction.args]
    out = instruction.args[-1]
    if space in ("cortex_m", "quantized_decomposed"):  # implemented in Python as functions of the inputs
        schema = packet.default._schema
        given = arguments[: len(schema.arguments)]
        types = {
            i: TYPES[x]
            for i, (x, a) in enumerate(zip(given, schema.arguments))
            if "ScalarType" in str(a.type) and x is not None
        }
        positional = [types.get(i, x) for i, (x, a) in enumerate(zip(given, schema.arguments)) if not a.kwarg_only]
        keyword = {a.name: types.get(i, x) for i, (x, a) in enumerate(zip(given, schema.arguments)) if a.kwarg_only}
        result = packet.default(*positional, **keyword)
    else:
        overload = getattr(packet, operator.overload)
        inputs = [a for a in overload._schema.arguments if not a.is_out]
        positional = [x for x, a in zip(arguments, inputs) if not a.kwarg_only]
        keyword = {
            a.name: (None if "ScalarType" in str(a.type) or "MemoryFormat" in str(a.type) else x)
            for x, a in zip(arguments, inputs)
            if a.kwarg_only
        }
        result = overload(*positional, **keyword, out=torch.empty(0, dtype=values.tensors[out].dtype))
    wanted = values.tensors[out]
    assert result.dtype == wanted.dtype and tuple(result.shape) == tuple(wanted.shape), (
        operator.name,
        result.shape,
        wanted.shape,
    )
    values.tensors[out] = result.contiguous()


def run(pte, inputs):
    """The outputs of a program without delegates, as tensors."""
    values = Values(deserialize_pte_binary(pte).program)
    for index, x in zip(values.plan.inputs, inputs, strict=True):
        values.tensors[index] = x
    for instruction in values.plan.chains[0].instructions:
        assert isinstance(instruction.instr_args, KernelCall)
        with torch.no_grad():
            call(values, instruction.instr_args)
    return [values.tensors[i] for i in values.plan.outputs]


def calls(pte):
    """(operator name, argument values) of each kernel call. Tensors have their values before the run."""
    values = Values(deserialize_pte_binary(pte).program)
    found = [c.instr_args for c in values.plan.chains[0].instructions if isinstance(c.instr_args, KernelCall)]
    return [(values.plan.operators[c.op_index].name, [values[i] for i in c.args]) for c in found]
