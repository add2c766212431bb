"""The rows of the matrix: programs of Carina and of ExecuTorch, each with the inputs of its runs."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

MODELS = ("add_float", "add_int32", "ds_cnn", "kws", "lstm", "mobilenet_v2", "resnet20", "resnet8", "softmax")
PEERS_TARGETS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512",
                 "ethos-u85-128", "ethos-u85-256", "ethos-u85-512", "ethos-u85-1024", "ethos-u85-2048")  # fmt: skip


@dataclass
class Call:
    """A method and its inputs. With `times`, one loaded program runs several times and the last run is compared."""

    method: str
    inputs: list[np.ndarray]
    times: int = 1
    channels_last: list[int] = field(default_factory=list)  # indices of the inputs with channels-last memory
    wanted: list[np.ndarray] | None = None  # outputs of another reference, for kernels that the official runtime lacks


@dataclass
class Made:
    program: Path
    calls: list[Call]
    data: Path | None = None  # a .ptd file


@dataclass(frozen=True)
class Row:
    producer: str  # "Carina" or "ExecuTorch"
    model: str
    form: str
    make: Callable[["Workshop"], Made]
    reference: str = "official runtime"

    @property
    def name(self) -> str:
        return f"{self.producer}/{self.model}/{self.form}"


@dataclass(frozen=True)
class Workshop:
    """What rows need: the program `carina`, the folder of the cases, and a folder for output."""

    carina: Path
    cases: Path
    folder: Path

    def compile(self, source: Path, *options: object) -> Path:
        """Raises: AssertionError with the compiler's message."""
        output = self.folder / "model.pte"
        command = [self.carina, "compile", source, "-o", output, *options]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-800:]
        return output

    def inputs(self, model: str) -> list[np.ndarray]:
        return [np.load(path) for path in sorted((self.cases / model).glob("input_*.npy"))]


# --- programs of Carina -----------------------------------------------------------------------------------------------


def compiled(model, file, *options):
    def make(shop):
        program = shop.compile(shop.cases / model / file, *options)
        return Made(program, [Call("forward", shop.inputs(model))])

    return make


def calibrated(model, *options):
    def make(shop):
        data = shop.folder / "calibration.npz"
        np.savez(data, x=shop.inputs(model)[0])
        program = shop.compile(shop.cases / model / "model.pt2", "--calibrate", data, *options)
        return Made(program, [Call("forward", shop.inputs(model))])

    return make


def nodes_on_the_npu(shop, source, target):
    done = subprocess.run(
        [shop.carina, "explain", source, "-t", target, "--json"], capture_output=True, text=True, check=True
    )
    return [node["name"] for node in json.loads(done.stdout)["nodes"] if node["runs_on"] == "npu"]


def split(model, target, parts):
    """Leaves nodes in the middle on the CPU, so that there are several delegates with kernels between them."""

    def make(shop):
        source = shop.cases / model / "model_int8.pt2"
        names = nodes_on_the_npu(shop, source, target)
        kept = [names[len(names) * (i + 1) // parts] for i in range(parts - 1)]
        program = shop.compile(
            source, "-t", target, "--delegate-all", *(word for name in kept for word in ("--cpu-node", name))
        )
        return Made(program, [Call("forward", shop.inputs(model))])

    return make


def raw_io(model, target):
    """int8 in and out. The inputs are random, because their meaning does not matter here."""

    def make(shop):
        program = shop.compile(shop.cases / model / "model_int8.pt2", "-t", target, "--io", "int8")
        generator = np.random.default_rng(7)
        inputs = [generator.integers(-128, 128, x.shape).astype(np.int8) for x in shop.inputs(model)]
        return Made(program, [Call("forward", inputs)])

    return make


def of_carina(model):
    integer = "model.pt2" if model == "add_int32" else "model_int8.pt2"
    yield Row(
        "Carina",
        model,
        "float, CPU" if model != "add_int32" else "int32, CPU",
        compiled(model, "model.pt2", "-t", "ethos-u55-128", "--no-delegate"),
    )
    if model != "add_int32":
        yield Row("Carina", model, "int8, CPU", compiled(model, integer, "-t", "ethos-u55-128", "--no-delegate"))
    for target in ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256", "vgf"):
        kind = "int32" if model == "add_int32" else "int8"
        yield Row("Carina", model, f"{kind}, {target}", compiled(model, integer, "-t", target, "--delegate-all"))
    if model != "add_int32":
        yield Row("Carina", model, "float, vgf", compiled(model, "model.pt2", "-t", "vgf", "--delegate-all"))
        yield Row(
            "Carina",
            model,
            "int16x8, ethos-u85-256",
            calibrated(model, "-t", "ethos-u85-256", "-q", "int16x8", "--delegate-all"),
        )
    if model in ("ds_cnn", "kws", "lstm", "mobilenet_v2", "resnet20", "resnet8"):
        yield Row("Carina", model, "int8, 2 delegates, ethos-u55-128", split(model, "ethos-u55-128", 2))
        yield Row("Carina", model, "int8, 4 delegates, ethos-u85-256", split(model, "ethos-u85-256", 4))
        yield Row("Carina", model, "int8, int8 in and out, ethos-u55-128", raw_io(model, "ethos-u55-128"))
        yield Row(
            "Carina",
            model,
            "int8, CPU, Cortex-M operators",
            integer_kernels(model),
            reference="ExecuTorch's Python implementations",
        )


def integer_kernels(model):
    """Programs with ExecuTorch's Cortex-M operators. Their Python implementations are the reference, because the host runtime has no
    kernels for them."""

    def make(shop):
        import pte_in_python
        import torch

        program = shop.compile(
            shop.cases / model / "model_int8.pt2", "-t", "ethos-u55-128", "--no-delegate", "--cpu-kernels", "cortex-m"
        )
        inputs = shop.inputs(model)
        wanted = [y.numpy() for y in pte_in_python.run(program.read_bytes(), [torch.from_numpy(x) for x in inputs])]
        return Made(program, [Call("forward", inputs, wanted=wanted)])

    return make


# --- programs of ExecuTorch -------------------------------------------------------------------------------------------


def of_the_peer(model, target):
    def make(shop):
        return Made(shop.cases / model / target / "model.pte", [Call("forward", shop.inputs(model))])

    return make


def portable(model, file):
    """Without delegates: portable kernels, with quantize and dequantize kernels between them if the model has them."""

    def make(shop):
        import executorch.kernels.quantized  # noqa: F401  knows the out-variants
        import torch
        import torchao.quantization.pt2e  # noqa: F401  defines the operators of the int8 models
        from executorch.exir import EdgeCompileConfig, to_edge

        exported = torch.export.load(shop.cases / model / file)
        program = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch()
        path = shop.folder / "model.pte"
        path.write_bytes(program.buffer)
        return Made(path, [Call("forward", shop.inputs(model))])

    return make


def partly(model, target):
    """The Arm backend's partitioner, except for the nodes in the middle."""

    def make(shop):
        import executorch.kernels.quantized  # noqa: F401
        import torch
        import torchao.quantization.pt2e  # noqa: F401
        from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
        from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
        from torch.fx.passes.operator_support import OperatorSupportBase

        exported = torch.export.load(shop.cases / model / "model_int8.pt2")
        convolutions = []

        class Middle(OperatorSupportBase):
            def is_node_supported(self, submodules, node):
                if "convolution" in str(node.target) and node.name not in convolutions:
                    convolutions.append(node.name)
                return node.name not in convolutions[2:3]

        partitioner = EthosUPartitioner(EthosUCompileSpec(target), additional_checks=[Middle()])
        program = to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch(
            ExecutorchBackendConfig(extract_delegate_segments=False)
        )
        path = shop.folder / "model.pte"
        path.write_bytes(program.buffer)
        return Made(path, [Call("forward", shop.inputs(model))])

    return make


def cortex_m(model):
    """Programs with ExecuTorch's Cortex-M operators. The Python implementations are the reference, because the host runtime has no kernels
    for them."""

    def make(shop):
        import torch
        from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
        from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
        from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
        from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
        from executorch.exir import EdgeProgramManager, to_edge
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        arrays = shop.inputs(model)
        last = [x.ndim == 4 for x in arrays]
        inputs = tuple(
            torch.from_numpy(x).to(memory_format=torch.channels_last if flag else torch.contiguous_format)
            for x, flag in zip(arrays, last)
        )
        module = (
            torch.export.load(shop.cases / model / "model.pt2")
            .module(check_guards=False)
            .to(memory_format=torch.channels_last)
        )
        prepared = prepare_pt2e(torch.export.export(module, inputs).module(check_guards=False), CortexMQuantizer())
        prepared(*inputs)
        config = cortex_m_edge_compile_config()
        edge = to_edge(torch.export.export(convert_pt2e(prepared), inputs), compile_config=config)
        passes = CortexMPassManager(
            edge.exported_program(), CortexMPassManager.pass_list, target_config=CortexMTargetConfig(cpu=CortexM.M55)
        )
        manager = EdgeProgramManager(passes.transform(), compile_config=config)
        with torch.no_grad():
            outputs = manager.exported_program().module(check_guards=False)(*inputs)
        wanted = [y.contiguous().numpy() for y in ([outputs] if isinstance(outputs, torch.Tensor) else outputs)]
        path = shop.folder / "model.pte"
        path.write_bytes(manager.to_executorch().buffer)
        return Made(
            path, [Call("forward", arrays, channels_last=[i for i, flag in enumerate(last) if flag], wanted=wanted)]
        )

    return make


def of_executorch(model):
    for target in PEERS_TARGETS:
        yield Row(
            "ExecuTorch",
            model,
            f"{'int32' if model == 'add_int32' else 'int8'}, {target}, by Vela",
            of_the_peer(model, target),
        )
    yield Row(
        "ExecuTorch",
        model,
        "float, portable kernels" if model != "add_int32" else "int32, portable kernels",
        portable(model, "model.pt2"),
    )
    if model != "add_int32":
        yield Row("ExecuTorch", model, "int8, portable kernels", portable(model, "model_int8.pt2"))
    if model in ("ds_cnn", "kws", "resnet8"):
        yield Row("ExecuTorch", model, "int8, 2 delegates, ethos-u55-128, by Vela", partly(model, "ethos-u55-128"))
    if model in ("ds_cnn", "kws", "mobilenet_v2", "resnet8"):
        yield Row(
            "ExecuTorch", model, "int8, Cortex-M operators", cortex_m(model), reference="its Python implementations"
        )


def rows(cases: Path) -> list[Row]:
    """All rows in the order of the page, without models that have no program of the peer for a target."""
    from features import FEATURES

    found = [row for model in MODELS for row in of_carina(model)]
    for model in MODELS:
        for row in of_executorch(model):
            target = row.form.split(", ")[1]
            if target not in PEERS_TARGETS or (cases / model / target / "model.pte").exists():
                found.append(row)
    return found + FEATURES
