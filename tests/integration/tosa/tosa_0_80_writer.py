"""Makes TOSA 0.80 files with Vela's FlatBuffers classes for that version.

file = OldFile(); x = file.input("x", [2, 3], "INT8"); ...; file.output(y); bytes(file)
"""

import flatbuffers
import numpy as np
from ethosu.vela.tosa import (
    Attribute,
    DType,
    Op,
    TosaBasicBlock,
    TosaGraph,
    TosaOperator,
    TosaRegion,
    TosaTensor,
    Version,
)

# Slots that version 0.80.1 appended to the tables that Vela knows.
NEWER_SLOTS = {"input_unsigned": 7, "output_unsigned": 8, "local_bound": 5}
MOST_SLOTS = 9


def attribute_module(kind):
    return __import__(f"ethosu.vela.tosa.{kind}", fromlist=[kind])


def camel(slot):
    return "".join(word.capitalize() for word in slot.split("_"))


class Block:
    """One basic block: its tensors and operators. A value is the name of a tensor."""

    def __init__(self, name):
        self.name = name
        self.tensors, self.operators, self.inputs, self.outputs = [], [], [], []

    def tensor(self, name, shape, dtype, data=None):
        self.tensors.append((name, shape, dtype, data))
        return name

    def input(self, name, shape, dtype):
        self.inputs.append(self.tensor(name, shape, dtype))
        return name

    def const(self, name, shape, dtype, data):
        """`data`: the bytes in the file, padded to a multiple of 8."""
        raw = bytes(data)
        self.tensor(name, shape, dtype, raw + bytes(-len(raw) % 8))
        self.operators.append(("CONST", [], [name], None, {}))
        return name

    def op(self, op, inputs, name, shape, dtype, kind=None, **slots):
        self.operators.append((op, inputs, [self.tensor(name, shape, dtype)], kind, slots))
        return name

    def output(self, *names):
        self.outputs += names


class OldFile(Block):
    """A file with one region. The object is also its first block."""

    def __init__(self, patch=1):
        super().__init__("main")
        self.patch = patch
        self.blocks = [self]

    def block(self, name):
        self.blocks.append(Block(name))
        return self.blocks[-1]

    def __bytes__(self):
        self.builder = flatbuffers.Builder(1024)
        blocks = self.offsets([self.write_block(block) for block in self.blocks])
        name = self.builder.CreateString("main")
        TosaRegion.Start(self.builder)
        TosaRegion.AddName(self.builder, name)
        TosaRegion.AddBlocks(self.builder, blocks)
        regions = self.offsets([TosaRegion.End(self.builder)])
        Version.Start(self.builder)
        Version.Add_Major(self.builder, 0)
        Version.Add_Minor(self.builder, 80)
        Version.Add_Patch(self.builder, self.patch)
        Version.Add_Draft(self.builder, False)
        version = Version.End(self.builder)
        TosaGraph.Start(self.builder)
        TosaGraph.AddVersion(self.builder, version)
        TosaGraph.AddRegions(self.builder, regions)
        self.builder.Finish(TosaGraph.End(self.builder), b"TOSA")
        return bytes(self.builder.Output())

    def offsets(self, items):
        self.builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            self.builder.PrependUOffsetTRelative(item)
        return self.builder.EndVector()

    def names(self, names):
        return self.offsets([self.builder.CreateString(name) for name in names])

    def write_block(self, block):
        tensors = self.offsets([self.write_tensor(*tensor) for tensor in block.tensors])
        operators = self.offsets([self.write_operator(*operator) for operator in block.operators])
        inputs, outputs = self.names(block.inputs), self.names(block.outputs)
        name = self.builder.CreateString(block.name)
        TosaBasicBlock.Start(self.builder)
        TosaBasicBlock.AddName(self.builder, name)
        TosaBasicBlock.AddOperators(self.builder, operators)
        TosaBasicBlock.AddTensors(self.builder, tensors)
        TosaBasicBlock.AddInputs(self.builder, inputs)
        TosaBasicBlock.AddOutputs(self.builder, outputs)
        return TosaBasicBlock.End(self.builder)

    def write_tensor(self, name, shape, dtype, data):
        name = self.builder.CreateString(name)
        sizes = self.builder.CreateNumpyVector(np.array(shape, np.int32))
        raw = None if data is None else self.builder.CreateNumpyVector(np.frombuffer(data, np.uint8))
        TosaTensor.Start(self.builder)
        TosaTensor.AddName(self.builder, name)
        TosaTensor.AddShape(self.builder, sizes)
        TosaTensor.AddType(self.builder, getattr(DType.DType, dtype) if isinstance(dtype, str) else dtype)
        if raw is not None:
            TosaTensor.AddData(self.builder, raw)
        return TosaTensor.End(self.builder)

    def write_operator(self, op, inputs, outputs, kind, slots):
        attribute = None if kind is None else self.write_attribute(kind, slots)
        inputs, outputs = self.names(inputs), self.names(outputs)
        TosaOperator.Start(self.builder)
        TosaOperator.AddOp(self.builder, getattr(Op.Op, op) if isinstance(op, str) else op)
        if kind is not None:
            TosaOperator.AddAttributeType(self.builder, getattr(Attribute.Attribute, kind))
            TosaOperator.AddAttribute(self.builder, attribute)
        TosaOperator.AddInputs(self.builder, inputs)
        TosaOperator.AddOutputs(self.builder, outputs)
        return TosaOperator.End(self.builder)

    def write_attribute(self, kind, slots):
        """Arrays, bytes and text become vectors and strings. Numbers are stored in the table itself."""
        module = attribute_module(kind)
        ready = {}
        for slot, value in slots.items():
            if isinstance(value, str):
                value = self.builder.CreateString(value)
            elif isinstance(value, bytes):
                value = self.builder.CreateNumpyVector(np.frombuffer(value, np.uint8))
            elif isinstance(value, (list, np.ndarray)):
                value = self.builder.CreateNumpyVector(
                    np.asarray(value, None if isinstance(value, np.ndarray) else np.int32)
                )
            ready[slot] = value
        self.builder.StartObject(MOST_SLOTS)
        for slot, value in ready.items():
            if slot in NEWER_SLOTS:
                self.builder.PrependBoolSlot(NEWER_SLOTS[slot], value, False)
            else:
                getattr(module, f"Add{camel(slot)}")(self.builder, value)
        return self.builder.EndObject()
