"""Rows for features that the cases do not have: several methods, many inputs and outputs, state, external data, dynamic sizes, layouts."""

import numpy as np
import torch
from rows import Call, Made, Row
from torch import nn


def seeded(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def arrays(tensors):
    return [x.contiguous().numpy() for x in tensors]


class Many(nn.Module):
    """24 inputs of several types and 24 outputs. Some outputs are inputs, and some occur twice."""

    def forward(self, *x):
        found = []
        for i, value in enumerate(x):
            found.append(value + x[(i + 4) % len(x)] if value.dtype != torch.bool else value ^ x[(i + 4) % len(x)])
        return (*found[:-2], found[0], x[1])


def many_inputs():
    found = []
    for i in range(24):
        x = seeded(2, 3, seed=i) * 9
        found.append((x, (x * 5).to(torch.int32), (x * 5).to(torch.int64), x > 0)[i % 4])
    return tuple(found)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.linear = nn.Linear(8, 5)

    def forward(self, x):
        return self.linear(torch.relu(self.convolution(x)).mean((2, 3)))

    def features(self, x):
        return torch.relu(self.convolution(x))


class Windows(nn.Module):
    """Operators that process windows of an image, and that join and split tensors."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.larger = nn.ConvTranspose2d(6, 4, 2, stride=2)

    def forward(self, x):
        x = torch.relu(self.first(x))
        y = torch.cat([x, self.depthwise(x), nn.functional.max_pool2d(x, 3, 1, 1)], 1)
        parts = torch.split(nn.functional.avg_pool2d(y, 2), [6, 12], 1)
        z = self.larger(nn.functional.pad(parts[0], (1, 0, 0, 1)))
        return z[:, :, 1:], torch.stack([parts[1][:, 0], parts[1][:, -1]], 1), nn.functional.adaptive_avg_pool2d(y, 1)


class Method(nn.Module):
    def __init__(self, layers, name):
        super().__init__()
        self.layers, self.name = layers, name

    def forward(self, x):
        return getattr(self.layers, self.name)(x)


class Counter(nn.Module):
    """Keeps a sum between runs."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2, 3))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 2


class Sizes(nn.Module):
    """Operators whose sizes are known only at run time: a matrix product, a concatenation, a slice, a convolution, a pool."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(4)
        self.convolution = nn.Conv2d(2, 4, 3, padding=1)
        self.register_buffer("weights", seeded(4, 3))

    def forward(self, x):
        y = torch.relu(self.convolution(torch.cat([x, x * 2], 0)))
        return nn.functional.max_pool2d(y[1:, :, :, 2:], 2), y.sum((2, 3)) @ self.weights


def edge(module, inputs, **options):
    from executorch.exir import EdgeCompileConfig, to_edge

    exported = torch.export.export(module.eval(), inputs, **options)
    return to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))


def written(shop, program):
    path = shop.folder / "model.pte"
    path.write_bytes(program.buffer)
    return path


def their_many(shop):
    inputs = many_inputs()
    return Made(written(shop, edge(Many(), inputs).to_executorch()), [Call("forward", arrays(inputs))])


def our_many(*options):
    def make(shop):
        inputs = many_inputs()
        torch.export.save(torch.export.export(Many().eval(), inputs), shop.folder / "model.pt2")
        return Made(shop.compile(shop.folder / "model.pt2", *options), [Call("forward", arrays(inputs))])

    return make


def method_calls(x):
    return [Call("forward", arrays([x])), Call("features", arrays([x]))]


def their_methods(shop):
    from executorch.exir import to_edge

    layers, x = Layers().eval(), seeded(1, 3, 8, 8)
    methods = {name: torch.export.export(Method(layers, name), (x,)) for name in ("forward", "features")}
    return Made(written(shop, to_edge(methods).to_executorch()), method_calls(x))


def quantized_methods(float_linear):
    """(methods, partitioners, input). With `float_linear`, linear layers stay on the CPU and have their own constants."""
    from carina.arm import EthosUCompileSpec, EthosUPartitioner, EthosUQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    spec = EthosUCompileSpec("ethos-u55-128")
    layers, x = Layers().eval(), seeded(1, 3, 8, 8)
    methods = {}
    for name in ("forward", "features"):
        quantizer = EthosUQuantizer(spec).set_global(get_symmetric_quantization_config())
        if float_linear:
            quantizer.set_module_type(nn.Linear, None)
        prepared = prepare_pt2e(torch.export.export(Method(layers, name), (x,)).module(check_guards=False), quantizer)
        prepared(x)
        methods[name] = torch.export.export(convert_pt2e(prepared), (x,))
    return methods, {name: [EthosUPartitioner(spec)] for name in methods}, x


def our_methods(**config):
    """Carina's delegates packaged by ExecuTorch. `config`: arguments of ExecutorchBackendConfig."""

    def make(shop):
        from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

        external = bool(config.get("external_constants"))
        methods, partitioners, x = quantized_methods(float_linear=external)
        program = to_edge_transform_and_lower(methods, partitioner=partitioners).to_executorch(
            ExecutorchBackendConfig(**config)
        )
        made = Made(written(shop, program), method_calls(x))
        program.write_tensor_data_to_file(str(shop.folder))
        made.data = next(shop.folder.glob("*.ptd"), None)
        assert (made.data is not None) == external, "a .ptd is there, or is not, as the configuration says"
        return made

    return make


def their_data(shop):
    from executorch.exir import ExecutorchBackendConfig

    x = seeded(1, 3, 8, 8)
    program = edge(Layers(), (x,)).to_executorch(ExecutorchBackendConfig(external_constants=True))
    path = written(shop, program)
    program.write_tensor_data_to_file(str(shop.folder))
    (data,) = shop.folder.glob("*.ptd")
    return Made(path, [Call("forward", arrays([x]))], data=data)


def their_state(shop):
    x = seeded(2, 3)
    return Made(written(shop, edge(Counter(), (x,)).to_executorch()), [Call("forward", arrays([x]), times=3)])


class Rows(nn.Module):
    """A loop in the program: it processes each row."""

    def forward(self, rows, x):
        from torch._higher_order_ops.map import map as over

        return over(lambda row, y: torch.sigmoid(row) * y + row, rows, x)


def their_loop(shop):
    inputs = (seeded(5, 3), seeded(3))
    return Made(
        written(shop, edge(Rows(), inputs).to_executorch()),
        [Call("forward", arrays(inputs)), Call("forward", arrays(inputs), times=2)],
    )


def their_layout(shop):
    x = seeded(2, 3, 8, 8).to(memory_format=torch.channels_last)
    module = Layers().to(memory_format=torch.channels_last)
    return Made(written(shop, edge(module, (x,)).to_executorch()), [Call("forward", arrays([x]), channels_last=[0])])


def their_sizes(shop):
    """Planned for at most 4 images, and run with the number of images in the example."""
    x = seeded(4, 2, 6, 8)
    program = edge(Sizes(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("n", max=4)}}).to_executorch()
    return Made(written(shop, program), [Call("forward", arrays([x]))])


def their_windows(shop):
    """Planned for at most 4 images of 32 x 24, and run with those and with fewer and smaller ones."""
    n, height, width = (
        torch.export.Dim("n", max=4),
        torch.export.Dim("height", min=2, max=8),
        torch.export.Dim("width", min=2, max=6),
    )
    program = edge(
        Windows(), (seeded(4, 3, 32, 24),), dynamic_shapes={"x": {0: n, 2: 4 * height, 3: 4 * width}}
    ).to_executorch()
    path = written(shop, program)
    return Made(
        path,
        [
            Call("forward", arrays([seeded(*shape)]))
            for shape in ((4, 3, 32, 24), (2, 3, 32, 24), (1, 3, 16, 8), (3, 3, 8, 24))
        ],
    )


def with_expected(shop):
    made = their_many(shop)
    for call in made.calls:
        call.wanted = [np.asarray(y) for y in Many()(*many_inputs())]
    return made


FEATURES = [
    Row(
        "Carina",
        "24 inputs and outputs of 4 types",
        "float and integers, CPU",
        our_many("-t", "ethos-u55-128", "--no-delegate"),
    ),
    Row(
        "Carina",
        "24 inputs and outputs of 4 types",
        "integers, ethos-u85-256",
        our_many("-t", "ethos-u85-256", "--delegate-all"),
    ),
    Row(
        "Carina", "2 methods", "int8, ethos-u55-128, packed by ExecuTorch", our_methods(extract_delegate_segments=False)
    ),
    Row(
        "Carina", "2 methods", "int8, ethos-u55-128, delegates as segments", our_methods(extract_delegate_segments=True)
    ),
    Row(
        "Carina",
        "2 methods",
        "int8, ethos-u55-128, constants in a .ptd",
        our_methods(extract_delegate_segments=False, external_constants=True),
    ),
    Row("ExecuTorch", "24 inputs and outputs of 4 types", "float and integers, portable kernels", their_many),
    Row(
        "ExecuTorch",
        "24 inputs and outputs of 4 types",
        "the same beside eager PyTorch",
        with_expected,
        reference="eager PyTorch",
    ),
    Row("ExecuTorch", "2 methods", "float, portable kernels", their_methods),
    Row("ExecuTorch", "constants in a .ptd", "float, portable kernels", their_data),
    Row("ExecuTorch", "state, third run", "float, portable kernels", their_state),
    Row("ExecuTorch", "a loop over rows", "float, portable kernels", their_loop),
    Row("ExecuTorch", "channels last", "float, portable kernels", their_layout),
    Row("ExecuTorch", "sizes known when it runs", "float, portable kernels", their_sizes),
    Row("ExecuTorch", "fewer and smaller images than planned", "float, portable kernels", their_windows),
]
