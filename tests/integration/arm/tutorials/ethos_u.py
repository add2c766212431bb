"""The steps of the Ethos-U page of the official documentation, on a network similar to the page's torchvision mobilenet_v2."""

import numpy as np
import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.extension.export_util.utils import save_pte_program
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from network import example_inputs, network

compile_spec = EthosUCompileSpec(
    target="ethos-u55-128",
    system_config="Ethos_U55_High_End_Embedded",
    memory_mode="Shared_Sram",
    extra_flags=["--output-format=raw", "--debug-force-regor"],
)
quantizer = EthosUQuantizer(compile_spec)
quantizer.set_global(get_symmetric_quantization_config(is_per_channel=False))
module = prepare_pt2e(torch.export.export(network, example_inputs).module(check_guards=False), quantizer)
module(*example_inputs)
quantized = convert_pt2e(module)
program = torch.export.export(quantized, example_inputs)

edge = to_edge_transform_and_lower(
    program, partitioner=[EthosUPartitioner(compile_spec)], compile_config=EdgeCompileConfig(_check_ir_validity=False)
)
save_pte_program(edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False)), "ethos_u.pte")

np.save("ethos_u_input.npy", example_inputs[0].numpy())
np.save("ethos_u_eager.npy", quantized(*example_inputs).detach().numpy())
torch.export.save(program, "ethos_u.pt2")
