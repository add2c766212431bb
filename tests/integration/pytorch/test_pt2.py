"""Compares the .pt2 reader with the official torch. pt2_tool reads every exported module, and
- each constant has the bytes that torch has;
- names, operators, operands, attributes, types and shapes are those of torch's own graph (if it is already functional);
- the imported graph, evaluated operator by operator with torch, gives the module's results.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from conftest import ROOT

ROW = re.compile(r'CARINA_ATEN_OP\((\w+), (\w+), (\w+), "((?:[^"\\]|\\.)*)",')
DTYPES = {
    "bool": torch.bool,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i16": torch.int16,
    "u16": torch.uint16,
    "i32": torch.int32,
    "u32": torch.uint32,
    "i64": torch.int64,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e4m3": torch.float8_e4m3fn,
    "fp8e5m2": torch.float8_e5m2,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
MEMORY_FORMATS = {
    0: torch.contiguous_format,
    1: torch.preserve_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
}


def tool():
    beside = Path(os.environ["CARINA_BIN"]).parent
    path = Path(os.environ.get("CARINA_PT2_TOOL", beside / "pt2_tool"))
    assert path.exists(), f"{path} is missing: build the target pt2_tool"
    return path


class Imported:
    """pt2_tool's output for a file."""

    def __init__(self, path):
        npz = Path(path).with_suffix(".constants.npz")
        done = subprocess.run([tool(), path, npz], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self.notes = done.stderr
        graph = json.loads(done.stdout)
        self.inputs, self.outputs, self.values, self.nodes = (
            graph[key] for key in ("inputs", "outputs", "values", "nodes")
        )
        with np.load(npz) as arrays:
            self.constants = {name: self.tensor(name, arrays[name]) for name in arrays.files}

    def tensor(self, name, array):
        dtype = DTYPES[self.values[name]["dtype"]]
        tensor = torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
        return tensor if tensor.dtype == dtype else tensor.view(dtype)

    def evaluate(self, inputs):
        env = dict(self.constants)
        env |= dict(zip(self.inputs, inputs, strict=True))
        for node in self.nodes:
            args, kwargs = self.arguments(node, env)
            if node["op"] == "aten.full.default":  # an attribute stores True as 1; the result's type restores it
                kwargs["dtype"] = DTYPES[self.values[node["outputs"][0]]["dtype"]]
            results = operator(node["op"])(*args, **kwargs)
            flat = list(results) if isinstance(results, (tuple, list)) else [results]
            for name, value in zip(node["outputs"], flat, strict=True):
                if name is not None:
                    declared = self.values[name]
                    assert NAMES[value.dtype] == declared["dtype"] and list(value.shape) == declared["shape"], (
                        node,
                        value.shape,
                        declared,
                    )
                    env[name] = value
        return [env[name] for name in self.outputs]

    def arguments(self, node, env):
        operands = [None if name is None else env[name] for name in node["inputs"]]
        args, kwargs = [], {}
        for argument, value in arguments_of(operator(node["op"])._schema, operands, node["attributes"]):
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return args, kwargs


def operator(name):
    space, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload)


def is_tensor(argument):
    return "Tensor" in str(argument.type)


def is_list(argument):
    return str(argument.type).startswith("List[") or str(argument.type).startswith("Optional[List[")


def arguments_of(schema, operands, attributes):
    """Pairs (argument, value for torch). Concatenated lists are divided again: an operator has one list, but lstm, gru and rnn two (or one
    and hx)."""
    lists = [a for a in schema.arguments if is_tensor(a) and is_list(a)]
    spare = len(operands) - sum(is_tensor(a) and not is_list(a) for a in schema.arguments)
    lengths = [2, spare - 2] if len(lists) == 2 else [spare]
    for argument in schema.arguments:
        if is_tensor(argument) and is_list(argument):
            count = lengths.pop(0)
            yield argument, operands[:count]
            operands = operands[count:]
        elif is_tensor(argument):
            yield argument, operands.pop(0)
        else:
            yield argument, torch_value(str(argument.real_type), attributes[argument.name])


def torch_value(kind, value):
    if isinstance(value, dict):
        if "dtype" in value:
            return DTYPES[value["dtype"]]
        if "floats" in value:
            return [float(v) for v in value["floats"]]
        return float(value["float"])
    if value is None:
        return None
    if "MemoryFormat" in kind:
        return MEMORY_FORMATS[value]
    if "Layout" in kind:
        return torch.strided
    if "Device" in kind:
        return torch.device("cpu")
    return value


def save(program, tmp_path, name="model"):
    path = tmp_path / f"{name}.pt2"
    torch.export.save(program, path)
    return path


def check_results(imported, module, args, kwargs=None):
    with torch.no_grad():
        copies = torch.utils._pytree.tree_map(
            lambda t: t.clone() if isinstance(t, torch.Tensor) else t, (args, kwargs or {})
        )
        expected = module(*copies[0], **copies[1])
    wanted = [t for t in torch.utils._pytree.tree_leaves(expected) if isinstance(t, torch.Tensor)]
    given = [t for t in torch.utils._pytree.tree_leaves((args, kwargs or {})) if isinstance(t, torch.Tensor)]
    with torch.no_grad():
        got = imported.evaluate([t.clone() for t in given])
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5, equal_nan=True)


def check_constants(imported, program):
    """Each remaining constant has the bytes of the state dict or of the program's constants."""
    signature = program.graph_signature
    owners = signature.inputs_to_parameters | signature.inputs_to_buffers | signature.inputs_to_lifted_tensor_constants
    seen = 0
    for name, tensor in imported.constants.items():
        if name not in owners:
            continue  # a Python number
        owner = owners[name]
        theirs = program.state_dict[owner] if owner in program.state_dict else program.constants[owner]
        assert tensor.dtype == theirs.dtype and tensor.shape == theirs.shape, name
        assert (
            tensor.contiguous().view(torch.uint8).equal(theirs.detach().contiguous().view(torch.uint8))
            if tensor.dim()
            else tensor.equal(theirs)
        ), name
        seen += 1
    return seen


def dead_code_removed(program):
    """torch's nodes without dead code, as (name, operator, node)."""
    graph = program.graph
    live, stack = set(), list(graph.output_node().all_input_nodes)
    while stack:
        node = stack.pop()
        if node not in live:
            live.add(node)
            stack += node.all_input_nodes
    return [
        node
        for node in graph.nodes
        if node in live and node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
    ]


def plain(value):
    """A torch argument as pt2_tool prints it."""
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, torch.dtype):
        return {"dtype": NAMES[value]}
    if isinstance(value, torch.memory_format):
        return {v: k for k, v in MEMORY_FORMATS.items()}[value]
    if isinstance(value, (torch.device, torch.layout)):
        return 0
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def same_attribute(argument, ours, theirs):
    """Whether attributes agree. Carina's may have one number where torch repeats it, and floats where torch has whole numbers."""
    if isinstance(ours, dict) and "float" in ours:
        return float(ours["float"]) == float(theirs)
    if isinstance(ours, dict) and "floats" in ours:
        return [float(v) for v in ours["floats"]] == [float(v) for v in theirs]
    if isinstance(ours, list) and isinstance(theirs, list) and len(theirs) == 1:
        return ours == theirs * len(ours)
    if isinstance(ours, list) and isinstance(theirs, int):
        return ours == [theirs] * len(ours)
    return ours == theirs


def check_structure(imported, program):
    wanted = dead_code_removed(program)
    assert [node["name"] for node in imported.nodes] == [node.name for node in wanted]
    for ours, theirs in zip(imported.nodes, wanted, strict=True):
        schema = theirs.target._schema
        assert ours["op"] == str(theirs.target).replace("detach_", "detach"), ours
        operands = []
        for position, argument in enumerate(schema.arguments):
            given = (
                theirs.args[position]
                if position < len(theirs.args)
                else theirs.kwargs.get(argument.name, argument.default_value)
            )
            if not is_tensor(argument):
                assert same_attribute(argument, ours["attributes"][argument.name], plain(given)), (
                    ours,
                    argument.name,
                    given,
                )
            elif is_list(argument):
                operands += plain(given if given is not None else [])
            else:
                operands.append(f"{ours['name']}_{argument.name}" if isinstance(given, (int, float)) else plain(given))
        assert ours["inputs"] == operands, ours
        assert set(ours["attributes"]) == {a.name for a in schema.arguments if not is_tensor(a)}
    for node in program.graph.nodes:
        meta = node.meta.get("val")
        if node.name in imported.values and isinstance(meta, torch.Tensor):
            assert imported.values[node.name]["shape"] == list(meta.shape), node.name
            assert imported.values[node.name]["dtype"] == NAMES[meta.dtype], node.name


# --- modules -------------------------------------------------------------------------------------------------------


class Of(nn.Module):
    """A module of a function and submodules."""

    def __init__(self, function, *parts):
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(parts)

    def forward(self, *args, **kwargs):
        return self.function(*self.parts, *args, **kwargs)


class SharedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x)) + F.linear(x, self.a.weight)


class StridedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        base = torch.randn(10, 10)
        self.transposed = nn.Parameter(base.t())
        self.register_buffer("row", base[1])
        self.register_buffer("column", base[:, 3])
        self.register_buffer("window", base[2:5, 1:9:3])
        self.register_buffer("wide", torch.randn(1, 10).expand(4, 10))
        self.register_buffer("channels_last", torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last))
        self.register_buffer("number", torch.tensor(3.5))
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x):
        y = x @ self.transposed + self.row + self.column + self.wide
        return y * self.number, self.window * 2, self.channels_last + 1, self.nothing + 1


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.arange(6.0))
        self.register_buffer("dropped", torch.linspace(0, 1, 6), persistent=False)
        self.register_buffer("wide_numbers", torch.tensor([1.1, 2.2, 3.3, 4.4, 5.5, 6.6], dtype=torch.float64))
        self.register_buffer("narrow", torch.arange(6).half())
        self.register_buffer("brain", torch.arange(6).bfloat16())
        self.register_buffer("mask", torch.tensor([True, False, True, True, False, True]))
        self.register_buffer("index", torch.tensor([0, 2, 1]))
        self.plain = torch.ones(6) * 3

    def forward(self, x):
        y = x + self.kept * self.dropped + self.plain + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        return (
            torch.where(self.mask, y, self.narrow.float() + self.brain.float()),
            y[self.index],
            y.double() + self.wide_numbers,
        )


class Counter(nn.Module):
    """Counts its calls. The count is not used."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls.add_(1)
        return x * 2


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x):
        self.last.add_(x)
        return self.last * 2


def in_place_chain(x):
    y = x.relu().view(2, 8)
    y.add_(1.0).mul_(2)
    return F.hardtanh_(y, 0.0, 6.0), x


def write_through_views(x):
    y = x.clone()
    y[:, 1] = 5.0
    y[:, 2:].mul_(3)
    y.view(-1)[0].fill_(7.0)
    t = y.transpose(0, 1)
    t.add_(1)
    return y, t, y[0], y.unsqueeze(0).squeeze(0) + 1


def write_through_a_view_of_all(x):
    y = x + 0
    flat = y.view(-1)
    y[:, 0:2] += 1
    y.squeeze(0).add_(0.5)  # has no axis to drop: the view is the whole tensor
    y.squeeze(0).mul_(3)
    return y, flat * 2


def change_shape_in_place(x):
    y = x + 1
    z = y.view(2, 8)
    y.unsqueeze_(0)
    y.transpose_(1, 2)
    z.mul_(2)
    return y, z


def write_then_read_view(x):
    y = x + 0
    head = y[0]
    y.mul_(2)
    return head + 1, y


def write_narrow(x):
    y = x + 0
    y.narrow(1, 1, 2).copy_(torch.ones(3, 2))
    y.narrow(-1, -1, 1).mul_(2)
    y.narrow(0, -3, 1).add_(1)
    return y


def scalars(x, i):
    return (
        x * 2,
        1.5 - x,
        i * 2.5,
        i + 1,
        x > 0,
        x**2,
        2 ** x.abs(),
        i == 3,
        torch.add(x, x, alpha=2),
        i // 2,
        x % 0.5,
        torch.pow(x, -1.5),
    )


def sources(x):
    a = (
        torch.arange(0, 4, dtype=torch.float32)
        + torch.full((4,), 2.0)
        + torch.zeros(4)
        + torch.ones(4, dtype=torch.float32)
    )
    return x + a, torch.full_like(x, -float("inf")), torch.eye(3), torch.full((2, 2), True), torch.scalar_tensor(2.0)


def casts(x):
    return (
        x.to(torch.float16).float(),
        x.int(),
        (x > 0).to(torch.int8),
        x.double(),
        x.to(torch.bfloat16) + 1,
        x.long().bool(),
    )


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def slices(x):
    return x[:, 1:-1, ::2], x[..., 0], x[:, None], x.narrow(1, 0, 2), x.flip(1), x.roll(1, 2), x.unbind(0)[0], x[:, -1]


def views(x):
    return (
        x.view(-1, 4),
        x.reshape(2, 3, 2, 2),
        x.flatten(1),
        x.permute(2, 0, 1),
        x.transpose(0, 2),
        x.unflatten(2, (2, 2)),
        x.unsqueeze(1).expand(2, 5, 3, 4),
        x.movedim(0, 2),
        x.mT,
        x.repeat(1, 2, 1),
    )


def joins(x):
    a, b = x.chunk(2, 1)
    c, d, e = x.split([1, 1, 2], 1)
    return torch.cat([a, c, e], 1), torch.stack([a, b]), d, torch.cat([x, x], -1), x.split(3, 1)


def several(x):
    return *x.max(1), *x.topk(2), x.min(1).values, *x.sort(1), *torch.var_mean(x, 1), *x.aminmax(dim=0)


def dictionary(x, *, scale, pair):
    return {"scaled": x * scale, "sum": [pair[0] + pair[1], x]}


def no_grad_inside(x):
    y = x * 2
    with torch.no_grad():
        z = y.relu() + 1
        w = z * 3
    return z + y, w


def pools(x):
    return (
        F.max_pool2d(x, 2),
        F.avg_pool2d(x, 3, stride=2, padding=1, count_include_pad=False),
        F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, (2, 3)),
        F.max_pool2d(x, 3, stride=1, padding=1, dilation=1, ceil_mode=True),
        F.max_pool2d(x, 2, return_indices=True),
        x.mean((2, 3)),
        x.mean(),
        x.sum(1, keepdim=True),
        x.amax((1, 2)),
    )


def resample(x):
    return (
        F.interpolate(x, scale_factor=2, mode="nearest"),
        F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=False),
        F.pad(x, (1, 2, 3, 4)),
        F.pad(x, (1, 1, 1, 1), value=-float("inf")),
        F.pad(x, (1, 1, 1, 1), mode="reflect"),
        F.pixel_shuffle(x, 2),
    )


def activations(x):
    return [
        f(x)
        for f in (
            F.relu6,
            F.gelu,
            F.silu,
            F.hardswish,
            F.hardsigmoid,
            F.elu,
            F.leaky_relu,
            F.softplus,
            F.mish,
            F.selu,
            torch.sigmoid,
            torch.tanh,
            torch.erf,
            lambda v: F.gelu(v, approximate="tanh"),
            lambda v: v.clamp(-1, 0.5),
            lambda v: v.clamp(min=0),
            lambda v: F.softmax(v, -1),
            lambda v: F.log_softmax(v, 1),
            lambda v: F.glu(v, 1),
        )
    ]


def masks(x, m):
    return (
        torch.where(m, x, 0.0),
        x.masked_fill(m, -1e9),
        m & ~m,
        torch.logical_or(m, x > 0),
        (x > 0).any(),
        m.all(1),
        x.tril(),
        torch.where(x > 0, x, x * 0.1),
    )


def gathers(x, i):
    return (
        x[i],
        x.index_select(0, i),
        x.gather(0, i.unsqueeze(1).expand(3, 4)),
        x[:, i],
        x.index_put((i,), torch.zeros(3, 4)),
        F.one_hot(i, 5),
        x[i, i],
    )


IMAGE = (1, 4, 12, 12)
MODULES = {
    "conv_bn_relu": (
        nn.Sequential(
            nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            nn.Conv2d(8, 8, 3, groups=8, bias=False),
        ),
        [torch.randn(IMAGE)],
    ),
    "convs": (
        Of(
            lambda a, b, c, d, x: (a(x), b(x), c(x.flatten(2)), d(x)),
            nn.Conv2d(4, 6, (1, 3), dilation=2, padding="same"),
            nn.ConvTranspose2d(4, 5, 3, stride=2, output_padding=1),
            nn.Conv1d(4, 2, 5),
            nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"),
        ),
        [torch.randn(IMAGE)],
    ),
    "mlp": (
        nn.Sequential(
            nn.Linear(16, 32), nn.GELU(), nn.Dropout(0.2), nn.LayerNorm(32), nn.Linear(32, 4), nn.Softmax(-1)
        ),
        [torch.randn(2, 16)],
    ),
    "norms": (
        Of(
            lambda a, b, c, x: (a(x), b(x), c(x), F.normalize(x), F.rms_norm(x, (12,))),
            nn.GroupNorm(2, 4),
            nn.InstanceNorm2d(4, affine=True),
            nn.BatchNorm2d(4, affine=False),
        ),
        [torch.randn(IMAGE)],
    ),
    "lstm": (nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True), [torch.randn(1, 5, 8)]),
    "gru": (nn.GRU(8, 16), [torch.randn(5, 1, 8)]),
    "rnn": (nn.RNN(8, 16, nonlinearity="relu"), [torch.randn(5, 1, 8)]),
    "attention": (Of(attention), [torch.randn(1, 2, 4, 8)] * 3),
    "transformer": (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), [torch.randn(1, 6, 16)]),
    "multihead": (nn.MultiheadAttention(16, 4, batch_first=True), [torch.randn(1, 6, 16)] * 3),
    "pools": (Of(pools), [torch.randn(IMAGE)]),
    "resample": (Of(resample), [torch.randn(IMAGE)]),
    "activations": (Of(activations), [torch.randn(2, 4, 4)]),
    "slices": (Of(slices), [torch.randn(2, 3, 4)]),
    "views": (Of(views), [torch.randn(2, 3, 4)]),
    "joins": (Of(joins), [torch.randn(2, 4, 3)]),
    "several": (Of(several), [torch.randn(3, 4)]),
    "scalars": (Of(scalars), [torch.randn(3, 4), torch.randint(0, 9, (3, 4))]),
    "sources": (Of(sources), [torch.randn(4)]),
    "casts": (Of(casts), [torch.randn(3, 4)]),
    "masks": (Of(masks), [torch.randn(3, 4), torch.rand(3, 4) > 0.5]),
    "gathers": (Of(gathers), [torch.randn(5, 4), torch.tensor([0, 2, 1])]),
    "embedding": (nn.Embedding(10, 8, padding_idx=0), [torch.tensor([[1, 2, 0]])]),
    "einsum": (
        Of(
            lambda x, y: (torch.einsum("bij,bkj->bik", x, y), x @ y.mT, torch.bmm(x, y.mT), torch.matmul(x[0], y[0, 0]))
        ),
        [torch.randn(2, 3, 4), torch.randn(2, 5, 4)],
    ),
    "shared_weights": (SharedWeights(), [torch.randn(2, 8)]),
    "strided_weights": (StridedWeights(), [torch.randn(4, 10)]),
    "constants": (Constants(), [torch.randn(6)]),
    "in_place_chain": (Of(in_place_chain), [torch.randn(4, 4)]),
    "write_through_views": (Of(write_through_views), [torch.randn(4, 4)]),
    "write_through_a_view_of_all": (Of(write_through_a_view_of_all), [torch.randn(4, 4)]),
    "write_then_read_view": (Of(write_then_read_view), [torch.randn(4, 4)]),
    "write_narrow": (Of(write_narrow), [torch.randn(3, 4)]),
    "change_shape_in_place": (Of(change_shape_in_place), [torch.randn(4, 4)]),
    "no_grad": (Of(no_grad_inside), [torch.randn(3)]),
    "same_output_twice": (Of(lambda x: (x, x + 1, x, None, 3)), [torch.randn(3)]),
}
# Their exported graphs are not functional or have regions, so only the results are compared.
NOT_FUNCTIONAL = {
    "conv_bn_relu",
    "in_place_chain",
    "write_through_views",
    "write_through_a_view_of_all",
    "write_then_read_view",
    "write_narrow",
    "change_shape_in_place",
    "no_grad",
    "lstm",
    "gru",
    "rnn",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dialect", ["training", "aten"])
@pytest.mark.parametrize("name", sorted(MODULES))
def test_imported_module_equals_the_graph_of_torch(name, dialect, tmp_path):
    torch.manual_seed(0)
    module, args = MODULES[name]
    program = torch.export.export(module.eval(), tuple(args))
    if dialect == "aten":
        program = program.run_decompositions()
    imported = Imported(save(program, tmp_path))
    check_constants(imported, program)
    if dialect == "aten" or name not in NOT_FUNCTIONAL:
        check_structure(imported, program)
    check_results(imported, module, tuple(args))


@pytest.mark.parametrize("dialect", ["training", "aten"])
def test_a_buffer_that_is_only_written_is_state(dialect, tmp_path):
    """It is the last input and the last output."""
    program = torch.export.export(Counter().eval(), (torch.ones(3),))
    imported = Imported(save(program.run_decompositions() if dialect == "aten" else program, tmp_path))
    doubled, calls = imported.evaluate([torch.ones(3), torch.tensor(4)])
    assert torch.equal(doubled, torch.full((3,), 2.0)) and calls == 5


def test_keyword_and_nested_inputs(tmp_path):
    args, kwargs = (torch.randn(3),), {"scale": torch.tensor(2.0), "pair": [torch.randn(3), torch.randn(3)]}
    module = Of(dictionary)
    imported = Imported(save(torch.export.export(module, args, kwargs), tmp_path))
    check_results(imported, module, args, kwargs)


def test_dynamic_sizes_stand_at_the_example(tmp_path):
    module = Of(lambda x: x.reshape(x.shape[0] * 2, -1)[: x.shape[0]].sum(1) * x.shape[0])
    args = (torch.randn(4, 6),)
    program = torch.export.export(
        module, args, dynamic_shapes={"args": ({0: torch.export.Dim("batch", min=2, max=64)},)}
    )
    imported = Imported(save(program, tmp_path))
    assert "fixed at the example's" in imported.notes and "= 4" in imported.notes
    check_results(imported, module, args)


def test_numbers_of_data_may_be_checked_but_not_computed_with(tmp_path):
    def checked(x, lengths):
        longest = lengths.max().item()
        torch._check(longest <= 4)
        return x * (torch.arange(4) < lengths.unsqueeze(1))

    args = (torch.randn(2, 4), torch.tensor([3, 4]))
    imported = Imported(save(torch.export.export(Of(checked), args), tmp_path))
    assert "item reads a number from the data: checks of it are left out" in imported.notes
    check_results(imported, Of(checked), args)
    scaled = torch.export.export(Of(lambda x: x * x.max().item()), (torch.randn(2, 4),))
    assert "depends on the data" in rejected(save(scaled, tmp_path))


@pytest.mark.filterwarnings("ignore")
def test_edge_dialect(tmp_path):
    from executorch.exir import EdgeCompileConfig, to_edge

    module, args = MODULES["conv_bn_relu"]
    edge = to_edge(
        torch.export.export(module.eval(), tuple(args)), compile_config=EdgeCompileConfig(_check_ir_validity=False)
    ).exported_program()
    imported = Imported(save(edge, tmp_path))
    assert [node["name"] for node in imported.nodes] == [
        n.name for n in edge.graph.nodes if n.op == "call_function" and "getitem" not in str(n.target)
    ]
    check_constants(imported, edge)
    if all("dim_order" not in node["op"] for node in imported.nodes):
        check_results(imported, module, tuple(args))


def rejected(path):
    done = subprocess.run([tool(), path], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout[:300]
    return done.stderr


def test_a_changed_buffer_is_the_last_input_and_output(tmp_path):
    """Both forms of a program, with the write in place and without."""
    x, last = torch.randn(4), torch.randn(4)
    for program in (
        torch.export.export(Remembers(), (x,)),
        torch.export.export(Remembers(), (x,)).run_decompositions(),
    ):
        imported = Imported(save(program, tmp_path))
        doubled, after = imported.evaluate([x, last])
        torch.testing.assert_close(after, last + x)
        torch.testing.assert_close(doubled, 2 * after)


def test_all_unsupported_operators_at_once(tmp_path):
    module = Of(lambda x: (torch.linalg.qr(x)[0], torch.special.i0(x), torch.fft.fft(x).real))
    text = rejected(save(torch.export.export(module, (torch.randn(3, 3),)), tmp_path))
    assert re.search(
        r"model.pt2: linalg_qr \(test_pt2.py:\d+\): the operator torch.ops.aten.linalg_qr.default is not supported",
        text,
    ), text
    assert "torch.ops.aten.special_i0.default" in text and "fft" in text


def test_fake_weights_are_rejected(tmp_path):
    with torch._subclasses.fake_tensor.FakeTensorMode():
        module, x = nn.Linear(4, 4), torch.randn(2, 4)
        program = torch.export.export(module, (x,))
    assert "the weights are missing" in rejected(save(program, tmp_path))


def test_other_archives_are_rejected_by_name(tmp_path):
    torch.save(nn.Linear(2, 2).state_dict(), tmp_path / "state.pt")
    torch.jit.trace(nn.Linear(2, 2), torch.randn(1, 2)).save(tmp_path / "script.pt")
    assert "torch.save" in rejected(tmp_path / "state.pt")
    assert "TorchScript" in rejected(tmp_path / "script.pt")


def test_every_case_is_read(cases_folder):
    models = sorted(cases_folder.rglob("*.pt2"))
    assert len(models) >= 18
    for path in models:
        done = subprocess.run([tool(), path], capture_output=True, text=True)
        assert done.returncode == 0, f"{path}: {done.stderr}"


@pytest.fixture
def two_threads():
    """Uses the number of threads with which the results of the cases were made. Another number changes the order of PyTorch's float
    additions."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("two_threads")
def test_cases_give_torchs_results(case, tmp_path):
    import torchao.quantization.pt2e  # noqa: F401  the quantized_decomposed operators

    for name, expected in (("model", "out_torch_float_0.npy"), ("model_int8", "out_torch_int8_0.npy")):
        model = case.path / f"{name}.pt2"
        if not model.exists() or not (case.path / expected).exists():
            continue
        link = tmp_path / f"{name}.pt2"
        link.symlink_to(model)
        imported = Imported(link)
        inputs = [torch.from_numpy(np.load(path)) for path in sorted(case.path.glob("input_*.npy"))]
        with torch.no_grad():
            got = imported.evaluate(inputs)[0].numpy()
            wanted = np.load(case.path / expected)
            if name == "model_int8" and not np.allclose(got, wanted, rtol=1e-4, atol=1e-5):
                # On another processor PyTorch's floats may round a value between two steps the other way.
                wanted = torch.export.load(model).module()(*inputs).numpy()
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_rows_are_torchs_schemas():
    import executorch.backends.arm.ao_ext  # noqa: F401  the tosa_mxfp operators
    import executorch.exir  # noqa: F401
    import executorch.exir.passes.dim_order_ops_registry  # noqa: F401
    import torchao.quantization.pt2e  # noqa: F401

    tables = [table.read_text() for table in (ROOT / "facts" / "aten").glob("*.def")]
    rows = [row for table in tables for row in ROW.findall(table)]
    assert len(rows) == sum(table.count("CARINA_ATEN_OP(") for table in tables) > 400
    for space, name, overload, schema in rows:
        if space == "higher_order":
            continue
        text = str(operator(f"{space}.{name}.{overload}")._schema)
        assert text[text.index("(") :] == schema.replace('\\"', '"'), name
