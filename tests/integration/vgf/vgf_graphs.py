"""Reads VGF files independently of Carina: with the official container decoder (vgfpy) and a Python reader of the SPIR-V that shares
nothing with src/frontend/vgf. canonical(file, table) gives a number to the computation of each output. Equal numbers of one table are equal
computations, also in different files."""

import math
import struct

import vgfpy

TENSOR, GRAPH_TYPE, GRAPH_CONSTANT, ENTRY_POINT, INPUT, OUTPUT = 4163, 4190, 4181, 4182, 4184, 4185
REPLICATE, IMPORT, EXT_INST, EXTRACT = 4461, 11, 12, 81
RESHAPE, TRANSPOSE = 56, 60
# model-converter removes operators without effect. By operator: the operand that equals the result if the shapes are
# equal. Examples are reductions and REVERSE along an axis of size 1, PAD, SLICE and TILE that keep the shape, and
# CONCAT of one tensor.
SAME_AS = {48: -1, 49: -1, 50: -1, 51: -1, 52: -1, 53: -1, 54: -1, 55: 0, RESHAPE: 0, 57: -1, 58: 0, 59: 0}
REVERSE, CONCAT = 57, 54


class Container:
    """The tables of a file, as vgfpy gives them."""

    def __init__(self, file):
        self.header = vgfpy.CreateHeaderDecoder(file, vgfpy.HeaderSize(), len(file))
        assert self.header is not None and self.header.IsValid() and self.header.CheckVersion()
        self.modules = self.table(file, "ModuleTable")
        self.sequence = self.table(file, "ModelSequenceTable")
        self.resources = self.table(file, "ModelResourceTable")
        self.constants = self.table(file, "Constants", vgfpy.CreateConstantDecoder)

    def table(self, file, name, create=None):
        offset, size = getattr(self.header, f"Get{name}Offset")(), getattr(self.header, f"Get{name}Size")()
        decoder = (create or getattr(vgfpy, f"Create{name}Decoder"))(bytes(file[offset : offset + size]), size)
        assert decoder is not None, name
        return decoder

    def slots(self, which):
        handle = getattr(self.sequence, f"getModelSequence{which}BindingSlotsHandle")()
        return [self.sequence.getBindingSlotMrtIndex(handle, i) for i in range(self.sequence.getBindingsSize(handle))]

    def names(self, which):
        handle = getattr(self.sequence, f"getModelSequence{which}NamesHandle")()
        return [self.sequence.getName(handle, i) for i in range(self.sequence.getNamesSize(handle))]

    def resource(self, index):
        shape = [int(size) for size in self.resources.getTensorShape(index) or []]
        return int(self.resources.getVkFormat(index)), shape or [1]

    def binding(self, which):
        """The resource of this binding in the only segment."""
        handle = getattr(self.sequence, f"getSegment{which}BindingSlotsHandle")(0)
        pairs = range(self.sequence.getBindingsSize(handle))
        return {
            self.sequence.getBindingSlotBinding(handle, i): self.sequence.getBindingSlotMrtIndex(handle, i)
            for i in pairs
        }

    def words(self):
        code = bytes(self.modules.getSPIRVModuleCode(0))
        return struct.unpack(f"<{len(code) // 4}I", code)


def instructions(words):
    assert words[0] == 0x07230203
    at = 5
    while at < len(words):
        count = words[at] >> 16
        assert 0 < count <= len(words) - at
        yield words[at] & 0xFFFF, words[at + 1 : at + count]
        at += count


def text(words):
    content = struct.pack(f"<{len(words)}I", *words)
    return content[: content.index(b"\0")].decode()


def number(table, *key):
    return table.setdefault(key, len(table))


class Graph:
    """The computations of a file's outputs, as numbers of `table`."""

    def __init__(self, file, table):
        self.container, self.table = Container(file), table
        self.types, self.constants, self.values, self.variables, self.results, self.tensors = {}, {}, {}, {}, {}, {}
        self.operators = []
        for opcode, operands in instructions(self.container.words()):
            self.read(opcode, operands)
        made = {self.container.binding("Output")[binding]: value for binding, value in self.results.items()}
        inputs = {resource: number(table, "input", i) for i, resource in enumerate(self.container.slots("Input"))}
        groups = {self.container.resources.getAliasGroupId(resource): value for resource, value in inputs.items()}
        self.outputs = []
        for resource in self.container.slots("Output"):
            value = made.get(resource, inputs.get(resource))
            self.outputs.append(groups[self.container.resources.getAliasGroupId(resource)] if value is None else value)

    def read(self, opcode, operands):
        handler = {
            20: self.boolean_type, 21: self.integer_type, 22: self.float_type, 41: self.true, 42: self.false, 43: self.constant,
            44: self.composite, 46: self.null, 71: self.decorate, REPLICATE: self.replicate, TENSOR: self.tensor_type,
            GRAPH_CONSTANT: self.graph_constant, ENTRY_POINT: self.entry_point, GRAPH_TYPE: self.graph_type, INPUT: self.input,
            OUTPUT: self.output, EXT_INST: self.operator, EXTRACT: self.extract, 30: self.structure, 28: self.array_type, IMPORT: self.instruction_set,
        }.get(opcode)  # fmt: skip
        if handler:
            handler(*operands)
        else:
            assert opcode in (5, 10, 14, 17, 32, 59, 4183, 4186), opcode

    # --- types and constants: (element, shape, bytes) ---
    def boolean_type(self, result):
        self.types[result] = (("bool",), 1)

    def integer_type(self, result, width, sign):
        self.types[result] = (("int", width), width // 8)

    def float_type(self, result, width, *encoding):
        self.types[result] = (("float", width, *encoding), width // 8)

    def array_type(self, result, element, length):
        self.types[result] = ("array", element, self.integer(length))

    def structure(self, result, *members):
        self.types[result] = ("struct", members)

    def tensor_type(self, result, element, rank, shape):
        self.types[result] = ("tensor", self.types[element], self.sizes(shape))

    def integer(self, id):
        return int.from_bytes(self.constants[id][2], "little", signed=True)

    def sizes(self, id):
        content = self.constants[id][2]
        return struct.unpack(f"<{len(content) // 4}i", content)

    def shape_of(self, type):
        described = self.types[type]
        if described[0] == "tensor":
            return described[1][0], described[2], described[1][1]
        if described[0] == "array":
            return self.types[described[1]][0], (described[2],), self.types[described[1]][1]
        return described[0], (), described[1]

    def true(self, type, result):
        self.constants[result] = (("bool",), (), b"\1")

    def false(self, type, result):
        self.constants[result] = (("bool",), (), b"\0")

    def constant(self, type, result, *words):
        element, _, size = self.shape_of(type)
        self.constants[result] = (element, (), struct.pack(f"<{len(words)}I", *words)[:size])

    def composite(self, type, result, *parts):
        element, shape, _ = self.shape_of(type)
        self.constants[result] = (element, shape, b"".join(self.constants[part][2] for part in parts))

    def replicate(self, type, result, part):
        element, shape, _ = self.shape_of(type)
        self.constants[result] = (element, shape, self.constants[part][2] * shape[0])

    def null(self, type, result):
        element, shape, size = self.shape_of(type)
        self.constants[result] = (element, shape, bytes(size * math.prod(shape)))

    def graph_constant(self, type, result, index):
        element, shape, size = self.shape_of(type)
        content = bytes(self.container.constants.getConstant(index))
        assert len(content) == size * math.prod(shape)
        assert self.container.resource(self.container.constants.getConstantMrtIndex(index))[1] == list(shape)
        if element == ("bool",):  # model-converter writes true as 255
            content = bytes(int(byte != 0) for byte in content)
        self.constants[result] = (element, shape, content)

    # --- the graph ---
    def decorate(self, target, decoration, *literals):
        if decoration == 33:
            self.variables[target] = literals[0]

    def graph_type(self, result, inputs, *types):
        self.inputs = inputs

    def instruction_set(self, result, *name):
        assert text(name) == "TOSA.001000.1"

    def entry_point(self, graph, *rest):
        name = text(rest)
        assert name == self.container.modules.getModuleEntryPoint(0)
        interface = rest[len(name.encode()) // 4 + 1 :]
        self.interface = [self.variables[variable] for variable in interface]

    def input(self, type, result, index):
        resource = self.container.binding("Input")[self.interface[self.integer(index)]]
        place = self.container.slots("Input").index(resource)
        assert self.container.resource(resource)[1] == list(self.types[type][2])
        self.values[result] = number(self.table, "input", place)
        self.tensors[self.values[result]] = self.types[type][2]

    def value(self, id):
        if id not in self.values:
            self.values[id] = number(self.table, "constant", *self.constants[id])
            self.tensors[self.values[id]] = self.constants[id][1]
        return self.values[id]

    def output(self, value, index):
        self.results[self.interface[self.inputs + self.integer(index)]] = self.value(value)

    def operator(self, type, result, instructions_id, code, *operands):
        operands = [self.value(operand) for operand in operands]
        described = self.types[type]
        if described[0] == "struct":
            self.values[result] = number(self.table, code, *operands)
            self.operators.append(code)
            return
        shape = described[2]
        while (
            code == RESHAPE and self.key(operands[0])[0] == RESHAPE
        ):  # a reshape of a reshape is a reshape of the first value
            operands[0] = self.key(operands[0])[1]
        if self.changes_nothing(code, operands, shape):
            self.values[result] = operands[SAME_AS[code]]
            return
        self.values[result] = number(self.table, code, *operands, described[1], shape)
        self.tensors[self.values[result]] = shape
        self.operators.append(code)

    def changes_nothing(self, code, operands, shape):
        if code not in SAME_AS or self.tensors.get(operands[SAME_AS[code]]) != shape:
            return False
        if code == CONCAT:
            return len(operands) == 2
        return code != REVERSE or shape[self.number_of(operands[0])] == 1

    def number_of(self, value):
        return int.from_bytes(self.key(value)[3], "little", signed=True)

    def key(self, wanted):
        if len(KEYS) < len(self.table):
            KEYS.update({value: key for key, value in self.table.items()})
        return KEYS[wanted]

    def extract(self, type, result, composite, index):
        self.values[result] = number(self.table, "part", self.values[composite], index)
        self.tensors[self.values[result]] = self.types[type][2]


KEYS = {}


def canonical(file, table=None):
    if table is None or not table:
        KEYS.clear()
    return Graph(file, {} if table is None else table)
