"""Makes small .tflite files with the schema of ai-edge-litert, and runs them on LiteRT's reference kernels."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {
    np.dtype(np.bool_): schema.TensorType.BOOL,
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.int8): schema.TensorType.INT8,
    np.dtype(np.uint8): schema.TensorType.UINT8,
    np.dtype(np.int16): schema.TensorType.INT16,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.int64): schema.TensorType.INT64,
}
# Operators whose first version has int8 already.
FIRST_VERSION = [
    "NEG",
    "RELU_0_TO_1",
    "MIRROR_PAD",
    "RELU_N1_TO_1",
    "HARD_SWISH",
    "ELU",
    "RESHAPE",
    "SQUEEZE",
    "EXPAND_DIMS",
]


class Model:
    """One subgraph. tensor() and op() return indices; bytes() the file."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.operatorCodes = []
        self.model.buffers = [schema.BufferT()]
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.model.subgraphs = [self.graph]

    def tensor(self, name, shape, dtype, scale=None, zero_point=0, axis=0, data=None):
        t = schema.TensorT()
        t.name, t.shape, t.type, t.buffer = name, list(shape), TYPES[np.dtype(dtype)], 0
        if scale is not None:
            t.quantization = schema.QuantizationParametersT()
            t.quantization.scale = np.atleast_1d(np.asarray(scale, np.float32)).tolist()
            zero_points = np.broadcast_to(np.asarray(zero_point, np.int64), len(t.quantization.scale))
            t.quantization.zeroPoint = zero_points.tolist()
            t.quantization.quantizedDimension = axis
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = list(np.ascontiguousarray(data, dtype).tobytes())
            t.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(t)
        return len(self.graph.tensors) - 1

    def constant(self, name, data, **quantization):
        return self.tensor(name, data.shape, data.dtype, data=data, **quantization)

    def input(self, name, shape, dtype, scale=None, zero_point=0):
        index = self.tensor(name, shape, dtype, scale, zero_point)
        self.graph.inputs.append(index)
        return index

    def output(self, *args, **kwargs):
        index = self.tensor(*args, **kwargs)
        self.graph.outputs.append(index)
        return index

    def op(self, name, inputs, outputs, options=None, version=1, **fields):
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, name)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = 1 if name in FIRST_VERSION else version
        self.model.operatorCodes.append(code)
        op = schema.OperatorT()
        op.opcodeIndex = len(self.model.operatorCodes) - 1
        op.inputs, op.outputs = list(inputs), list(outputs)
        if options:
            op.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            op.builtinOptions = getattr(schema, options + "T")()
            for key, value in fields.items():
                assert hasattr(op.builtinOptions, key), key
                setattr(op.builtinOptions, key, value)
        self.graph.operators.append(op)

    def bytes(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


def operators(content):
    model = schema.ModelT.InitFromPackedBuf(content)
    names = {number: name for name, number in vars(schema.BuiltinOperator).items() if not name.startswith("_")}
    return [names[code.builtinCode] for code in model.operatorCodes]


def litert(content, inputs):
    """The outputs by the reference kernels. They lack ELU, of which the optimized kernels have the table that they would have."""
    kernels = (
        OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if "ELU" in operators(content) else OpResolverType.BUILTIN_REF
    )
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels, num_threads=1)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
