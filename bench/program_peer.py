"""Runs a program in the official ExecuTorch runtime: for bench/run.py.

usage: program_peer.py make MODEL.pt2 FOLDER                writes FOLDER/portable.pte (undelegated, float) and FOLDER/xnnpack.pte
       program_peer.py cortex_m MODEL.pt2 INPUT.npy FOLDER  writes FOLDER/cortex_m.pte: int8, ExecuTorch's Cortex-M operators
       program_peer.py xnnpack8 MODEL.pt2 INPUT.npy FOLDER  writes FOLDER/xnnpack8.pte: int8
       program_peer.py run PROGRAM.pte INPUT.npy            prints {"cpu": seconds, "wall": seconds} of the fastest inference, one thread
"""

import json
import sys
import time
from pathlib import Path


def make(model, folder):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge, to_edge_transform_and_lower

    def exported():
        return torch.export.load(model)

    programs = {
        "portable": to_edge(exported()),
        "xnnpack": to_edge_transform_and_lower(exported(), partitioner=[XnnpackPartitioner()]),
    }
    for name, program in programs.items():
        (Path(folder) / f"{name}.pte").write_bytes(program.to_executorch().buffer)


def quantized(model, inputs, quantizer):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(model, quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def exported(module, inputs):
    import torch

    return torch.export.export(module, inputs)


def int8_inputs(input_file):
    import numpy as np
    import torch

    return (torch.from_numpy(np.load(input_file)),)


def make_cortex_m(model, input_file, folder):
    import torch
    from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
    from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
    from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
    from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
    from executorch.exir import EdgeProgramManager, to_edge

    float_module = torch.export.load(model).module(check_guards=False)
    # The Cortex-M backend requires convolutions with channels-last inputs from the beginning.
    last = tuple(x.to(memory_format=torch.channels_last) for x in int8_inputs(input_file))
    module = quantized(
        exported(float_module.to(memory_format=torch.channels_last), last).module(check_guards=False),
        last,
        CortexMQuantizer(),
    )
    edge = to_edge(exported(module, last), compile_config=cortex_m_edge_compile_config())
    passes = CortexMPassManager(
        edge.exported_program(), CortexMPassManager.pass_list, target_config=CortexMTargetConfig(cpu=CortexM.M55)
    )
    program = EdgeProgramManager(passes.transform(), compile_config=cortex_m_edge_compile_config())
    (Path(folder) / "cortex_m.pte").write_bytes(program.to_executorch().buffer)


def make_xnnpack_int8(model, input_file, folder):
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.exir import to_edge_transform_and_lower

    inputs = int8_inputs(input_file)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    module = quantized(torch.export.load(model).module(check_guards=False), inputs, quantizer)
    program = to_edge_transform_and_lower(exported(module, inputs), partitioner=[XnnpackPartitioner()])
    (Path(folder) / "xnnpack8.pte").write_bytes(program.to_executorch().buffer)


def run(program, input_file):
    import numpy as np
    import torch
    from executorch.extension.pybindings import portable_lib

    torch.set_num_threads(1)
    portable_lib._unsafe_reset_threadpool(
        1
    )  # XNNPACK's thread pool, which by default has as many threads as the machine has cores
    method = portable_lib._load_for_executorch(program)
    inputs = [torch.from_numpy(np.load(input_file))]
    method.forward(inputs)
    best, end, calls = (float("inf"), 0.0), time.perf_counter() + 2, 0
    while calls < 3 or time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        method.forward(inputs)
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
        calls += 1
    print(json.dumps({"cpu": best[0], "wall": best[1]}))


if __name__ == "__main__":
    {"make": make, "cortex_m": make_cortex_m, "xnnpack8": make_xnnpack_int8, "run": run}[sys.argv[1]](*sys.argv[2:])
