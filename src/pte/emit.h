#pragma once

#include <cstdint>
#include <span>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "pte/program.h"

namespace carina::pte {

// Which kernels nodes on the CPU are written as. kPortable: those that every ExecuTorch runtime has; nodes of a
// quantized network compute in floats between dequantize and quantize. kCortexM: int8 stays int8 where ExecuTorch's
// Cortex-M backend has a kernel.
enum class CpuKernels : uint8_t { kPortable, kCortexM };

// Makes the program of partition's `program` graph: each ATen node becomes a call of the out-variant kernel of
// facts/executorch_kernels.def, each executorch_call_delegate a call of `delegates[index]`; tensors get planned memory
// by their life times. A delegate that several nodes call stands once. Errors: a node whose op has no kernel (all of
// them are reported, Diagnostic::node), a dtype that .pte does not have.
Result<Program> emit(const ir::Graph& graph, std::span<const Delegate> delegates,
                     CpuKernels kernels = CpuKernels::kPortable);

// Whether nodes of this op can be written: as the call of a kernel.
bool has_kernel(ir::Op op);

}  // namespace carina::pte
