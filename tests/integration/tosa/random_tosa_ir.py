"""A TOSA graph that tests can change: values with the known range of their elements, and nodes. The official serializer writes it, whole or
in parts."""

from dataclasses import dataclass, field

import numpy as np
import tosa_serializer as ts
from interpreter_cases import NUMPY, RANGE

D = ts.DType
INF = float("inf")
LARGEST = {D.FP32: 3.4e38, D.BF16: 3.3e38, D.FP16: 65504.0, D.FP8E4M3: 448.0, D.FP8E5M2: 57344.0}
BITS = {D.INT8: 8, D.INT16: 16, D.INT32: 32}


def is_float(dtype):
    return dtype in LARGEST


@dataclass
class Value:
    id: int
    dtype: object
    shape: tuple
    low: float = 0  # every element is in [low, high], unless `wild`
    high: float = 0
    wild: bool = False  # it may also be NaN or infinite
    constant: object = None
    data: object = None  # the elements, if it is a graph input

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def magnitude(self):
        return max(abs(self.low), abs(self.high))


@dataclass
class Node:
    op: str
    mode: str
    kind: str  # type of the serializer's attribute
    attributes: tuple
    inputs: list
    outputs: list
    # How the outputs are compared. None: bit for bit. Otherwise the data that the specification's compliance rule
    # needs.
    compliance: object = None
    graphs: list = field(default_factory=list)  # graphs of control flow, under the names in `attributes`


@dataclass
class Graph:
    name: str = "main"
    values: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    careless: bool = False  # its elements may break a REQUIRE

    def value(self, dtype, shape, **known):
        self.values.append(Value(len(self.values), dtype, tuple(int(d) for d in shape), **known))
        return self.values[-1]

    def users(self, value):
        return [node for node in self.nodes if value in node.inputs]

    def producer(self, value):
        return next((node for node in self.nodes if value in node.outputs), None)


def full_range(dtype):
    """The range of any value of the type."""
    if dtype == D.BOOL:
        return {"low": 0, "high": 1}
    if dtype in RANGE:
        return dict(zip(("low", "high"), RANGE[dtype]))
    return {"low": -LARGEST[dtype], "high": LARGEST[dtype], "wild": True}


class Writer:
    """Writes a graph's nodes with the official serializer."""

    def __init__(self):
        self.serializer = ts.TosaSerializer(
            "", ts.ConstMode.EMBED, targetMajor=1, targetMinor=0, targetPatch=0, targetDraft=False
        )
        self.waiting = []

    def write(self, graph, inputs, nodes, outputs):
        """Writes the graph and returns the names of the values by id."""
        names, tensors = {}, {}

        def keep(value, tensor):
            names[value], tensors[value] = tensor.name, tensor

        for value in inputs:
            keep(
                value, self.serializer.addPlaceholder(list(graph.values[value].shape), graph.values[value].dtype, None)
            )
        for node in nodes:
            for value in node.inputs:
                if value not in names:
                    keep(value, self.constant(graph.values[value]))
            for value in node.outputs:
                keep(value, self.serializer.addIntermediate(list(graph.values[value].shape), graph.values[value].dtype))
            attribute = ts.TosaSerializerAttribute()
            getattr(attribute, node.kind + "Attribute")(*node.attributes)
            self.serializer.addOperator(
                getattr(ts.Op, node.op), [names[v] for v in node.inputs], [names[v] for v in node.outputs], attribute
            )
            self.waiting += node.graphs
        for value in outputs:
            self.serializer.addOutputTensor(tensors[value])
        return names

    def constant(self, value):
        assert value.constant is not None, "a node reads a value before it is made"
        return self.serializer.addConst(list(value.shape), value.dtype, np.array(value.constant, NUMPY[value.dtype]))

    def finish(self):
        while self.waiting:
            graph = self.waiting.pop(0)
            self.serializer.startRegion(graph.name, "")
            self.serializer.addBasicBlock(graph.name)
            self.write(graph, graph.inputs, graph.nodes, graph.outputs)
        return bytes(self.serializer.serialize())


def tosa_file(graph, inputs=None, nodes=None, outputs=None):
    """(file, names by value) of the graph or of a part of it."""
    writer = Writer()
    names = writer.write(
        graph,
        graph.inputs if inputs is None else inputs,
        graph.nodes if nodes is None else nodes,
        graph.outputs if outputs is None else outputs,
    )
    return writer.finish(), names
