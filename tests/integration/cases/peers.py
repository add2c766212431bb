"""Outputs of other programs for a model: PyTorch's export and results, the Arm backend's quantized programs, Vela's streams, the TOSA reference model's results."""

import contextlib
import copy
import io
import shutil
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import executorch.kernels.quantized  # noqa: F401  the out-variants of quantize and dequantize
import numpy as np
import torch
import tosa_reference_model
from executorch.backends.arm import arm_vela
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.ethosu.backend import EthosUBackend
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from executorch.exir.delegate import executorch_call_delegate
from torch.fx.traceback import NodeSource
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from cases.targets import VELA_DEFAULTS

THREADS = 2  # with another number PyTorch adds floats in another order
# Where a node comes from is written once and only read afterwards, but copied for every node of every pass: a quarter
# of the time of a flow.
NodeSource.__deepcopy__ = lambda self, memo: self


@dataclass
class Case:
    """What a recipe gives: a model in eval mode, its inputs, and what calibrates its quantized form (nothing: the model is not quantized)."""

    model: torch.nn.Module
    inputs: tuple
    calibration: list = field(default_factory=list)
    targets: tuple = ("ethos-u55-128", "ethos-u85-256")
    own_graph: tuple = ()  # targets for which the peer's quantizer annotates other operators than for the first one
    more: dict = field(default_factory=dict)  # name of an .npz -> its arrays


@dataclass
class Part:
    """A delegate of the peer's program: the TOSA graph that Vela got, the blob in the program, and the folder with what Vela made."""

    tosa: bytes
    blob: bytes
    made: Path


def spec_of(target):
    system, memory = VELA_DEFAULTS[target.rsplit("-", 1)[0]]
    return EthosUCompileSpec(target, system_config=system, memory_mode=memory)


def quantized(case, exported, target):
    """The exported model after calibration, int8 with weights per channel; as it is where there is nothing to calibrate with."""
    graph = exported.module(check_guards=False)
    if case.calibration:
        quantizer = EthosUQuantizer(spec_of(target))
        quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
        graph = prepare_pt2e(graph, quantizer)
        for sample in case.calibration:
            graph(*sample)
        graph = convert_pt2e(graph)
    return torch.export.export(graph, case.inputs)


@contextlib.contextmanager
def watched_vela(parts):
    """Keeps what Vela makes of each delegate, which the backend itself throws away."""
    run, compile_tosa = arm_vela.vela.main, EthosUBackend._compile_tosa_flatbuffer
    with tempfile.TemporaryDirectory() as kept:

        def main(arguments):
            with contextlib.redirect_stdout(io.StringIO()):
                run(arguments)
            output = next(a.split("=", 1)[1] for a in arguments if a.startswith("--output-dir="))
            shutil.copytree(output, Path(kept, str(len(parts))))

        def compiled(tosa, spec):
            result = compile_tosa(tosa, spec)
            parts.append(Part(bytes(tosa), bytes(result.processed_bytes), Path(kept, str(len(parts)))))
            return result

        arm_vela.vela.main, EthosUBackend._compile_tosa_flatbuffer = main, staticmethod(compiled)
        try:
            yield
        finally:
            arm_vela.vela.main, EthosUBackend._compile_tosa_flatbuffer = run, staticmethod(compile_tosa)


class OnReferenceModel(torch.fx.Interpreter):
    """Runs a program of the edge dialect with its delegates on the TOSA reference model; keeps their inputs and outputs by their graph."""

    def __init__(self, module, parts):
        super().__init__(module)
        self.parts, self.kept = {part.blob: part for part in parts}, {}

    def call_function(self, target, args, kwargs):
        if target is not executorch_call_delegate:
            return super().call_function(target, args, kwargs)
        lowered, *tensors = args
        part = self.parts[bytes(lowered.processed_bytes)]
        inputs = [np.ascontiguousarray(t.numpy()) for t in tensors]
        outputs, status = tosa_reference_model.run(part.tosa, inputs, verbosity="NONE")
        assert status == tosa_reference_model.GraphStatus.TOSA_VALID, status
        outputs = [np.asarray(y) for y in outputs]
        self.kept[part.blob] = (inputs, outputs)
        return [torch.from_numpy(np.ascontiguousarray(y)) for y in outputs]


def save_arrays(folder, prefix, arrays):
    for i, array in enumerate(arrays):
        np.save(folder / f"{prefix}{i}.npy", array.detach().numpy() if isinstance(array, torch.Tensor) else array)


def results(model, inputs):
    with torch.no_grad():
        found = model(*inputs)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def names_of(parts):
    """A graph that the peer split has a part for each delegate."""
    return [f"p{i}_" if len(parts) > 1 else "" for i in range(len(parts))]


def save_streams(parts, folder):
    for name, part in zip(names_of(parts), parts, strict=True):
        shutil.copy(part.made / "out_vela.npz", folder / f"out_{name}vela.npz")
        (summary,) = part.made.glob("*summary*.csv")
        shutil.copy(summary, folder / f"out_{name}summary.csv")


def save_graphs(parts, program, inputs, folder):
    """The TOSA graphs, and what the reference model makes of them in the whole program."""
    runner = OnReferenceModel(program.module(check_guards=False), parts)
    with torch.no_grad():
        outputs = runner.run(*inputs)
    save_arrays(folder, "out_tosa_e2e_", [outputs] if isinstance(outputs, torch.Tensor) else outputs)
    for name, part in zip(names_of(parts), parts, strict=True):
        (folder / f"out_{name}".rstrip("_")).with_suffix(".tosa").write_bytes(part.tosa)
        entered, left = runner.kept[part.blob]
        save_arrays(folder, f"tosa_{name}in_", entered)
        save_arrays(folder, f"tosa_{name}out_", left)


def compile_for(exported, inputs, target, folder, above):
    """The peer's program for a target with its streams, into `folder`; the graphs and their values into `above`. Returns the graphs."""
    parts = []
    with watched_vela(parts):
        manager = to_edge_transform_and_lower(exported, partitioner=[EthosUPartitioner(spec_of(target))])
        save_streams(parts, folder)
    save_graphs(parts, manager.exported_program(), inputs, above)
    executable = manager.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False))
    (folder / "model.pte").write_bytes(executable.buffer)
    return [part.tosa for part in parts]


def compile_again(graphs, first, target, folder):
    """The same for another target whose graphs are the same: only Vela's part is made anew, and put into the first target's program."""
    parts = []
    with watched_vela(parts):
        for tosa in graphs:
            EthosUBackend._compile_tosa_flatbuffer(tosa, spec_of(target))
        save_streams(parts, folder)
    file = copy.deepcopy(deserialize_pte_binary(first.read_bytes()))
    (plan,) = file.program.execution_plan
    for delegate, part in zip(plan.delegates, parts, strict=True):
        file.program.backend_delegate_data[delegate.processed.index].data = part.blob
        delegate.compile_specs = spec_of(target)._to_list()
    (folder / "model.pte").write_bytes(bytes(serialize_pte_binary(file)))


def save_quantized(case, exported, folder):
    torch.export.save(exported, folder / "model_int8.pt2")
    if case.calibration:
        save_arrays(folder, "out_torch_int8_", results(exported.module(check_guards=False), case.inputs))


def save_model(case, exported, folder):
    torch.export.save(exported, folder / "model.pt2")
    save_arrays(folder, "input_", case.inputs)
    save_arrays(folder, "out_torch_float_", results(case.model, case.inputs))
    for name, arrays in case.more.items():
        np.savez(folder / f"{name}.npz", **arrays)


def make(case, folder):
    """Writes the files of a case (README.md)."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(THREADS)
    model = torch.export.export(case.model, case.inputs)
    save_model(case, model, folder)
    first, *others = case.targets
    for target in case.targets:
        (folder / target).mkdir()
    exported = quantized(case, model, first)
    save_quantized(case, exported, folder)
    graphs = compile_for(exported, case.inputs, first, folder / first, folder)
    for target in others:
        if target in case.own_graph:
            own = quantized(case, model, target)
            save_quantized(case, own, folder / target)
            compile_for(own, case.inputs, target, folder / target, folder / target)
        else:
            compile_again(graphs, folder / first / "model.pte", target, folder / target)
