"""The steps of ExecuTorch's tutorial before 1.0: a compile spec is built as a list, with the function names of that time."""

import numpy as np
import torch
from executorch.backends.arm.arm_backend import ArmCompileSpecBuilder
from executorch.backends.arm.ethosu_partitioner import EthosUPartitioner
from executorch.backends.arm.quantizer.arm_quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from network import example_inputs, network

compile_spec = (
    ArmCompileSpecBuilder()
    .ethosu_compile_spec(
        "ethos-u55-128",
        system_config="Ethos_U55_High_End_Embedded",
        memory_mode="Shared_Sram",
        extra_flags="--output-format=raw --debug-force-regor",
    )
    .build()
)
quantizer = EthosUQuantizer(compile_spec)
quantizer.set_global(get_symmetric_quantization_config())
module = prepare_pt2e(torch.export.export(network, example_inputs).module(), quantizer)
module(*example_inputs)
quantized = convert_pt2e(module)
program = torch.export.export(quantized, example_inputs)

edge = to_edge_transform_and_lower(
    program, partitioner=[EthosUPartitioner(compile_spec)], compile_config=EdgeCompileConfig(_check_ir_validity=False)
)
executorch = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False))
with open("builder.pte", "wb") as file:
    executorch.write_to_file(file)

np.save("builder_input.npy", example_inputs[0].numpy())
np.save("builder_eager.npy", quantized(*example_inputs).detach().numpy())
torch.export.save(program, "builder.pt2")
