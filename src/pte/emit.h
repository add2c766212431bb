// Declares the step that writes a graph as an ExecuTorch program.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "carina/options.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "pte/program.h"

namespace carina::pte {

using options::CpuKernels;

// Converts the `program` graph of partition::Partitioned to an ExecuTorch program. Each ATen node becomes a call of the
// out-variant kernel in facts/aten; each executorch_call_delegate becomes a call of
// `delegates[index]`. Tensors get planned memory by their live ranges; state is planned for the
// whole method, and copies at the end write it. A delegate that several nodes call is stored
// once. Errors: all nodes whose operator has no kernel (Diagnostic::node); a dtype that .pte does not have.
Result<Program> emit(const ir::Graph& graph, std::span<const Delegate> delegates,
                     CpuKernels kernels = CpuKernels::kPortable);

// One method of a program.
struct MethodGraph {
  std::string name;
  const ir::Graph& graph;
  std::span<const Delegate> delegates;
};

// Likewise for several methods. States with one name are one state: they stand in a second buffer of planned memory,
// for which a runtime gives all methods the same bytes, as ExecuTorch's MemoryPlanningPass(share_mutable_buffers=True)
// plans them. Equal constants are stored once. Errors: also, a state has other types, shapes or initial values in two
// methods.
//   Example: prefill and decode with a state "cache" of 80 bytes: planned {1000, 80} and {200, 80}
Result<Program> emit_methods(std::span<const MethodGraph> methods, CpuKernels kernels = CpuKernels::kPortable);

// Returns whether a node of this op can be written as a kernel call.
bool has_kernel(ir::Op op);

}  // namespace carina::pte
