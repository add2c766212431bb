"""Runs the peer's complete flow from a float .pt2 to a .pte like a user's script: ExecuTorch's Arm backend with Vela.

usage: peer_flow.py MODEL.pt2 INPUT.npy TARGET OUT.pte        prints the seconds of each phase as JSON
"""

import json
import sys
import time

start = time.perf_counter()
phases = {}


def done(name):
    global start
    now = time.perf_counter()
    phases[name] = now - start
    start = now


def main(model, input_file, target, out):
    import numpy as np
    import torch
    from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
    from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.set_num_threads(1)
    done("import")
    inputs = (torch.from_numpy(np.load(input_file)),)
    program = torch.export.load(model)
    done("load")
    system, memory = ("Ethos_U55_High_End_Embedded", "Shared_Sram")
    spec = EthosUCompileSpec(target, system_config=system, memory_mode=memory)
    quantizer = EthosUQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(program.module(check_guards=False), quantizer)
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    done("quantize")
    exported = torch.export.export(converted, inputs, strict=True)
    done("export")
    edge = to_edge_transform_and_lower(
        exported, partitioner=[EthosUPartitioner(spec)], compile_config=EdgeCompileConfig(_check_ir_validity=False)
    )
    done("lower")
    result = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False))
    with open(out, "wb") as file:
        file.write(result.buffer)
    done("write")
    print(json.dumps(phases))


main(*sys.argv[1:])
