#include "driver/package.h"

#include <algorithm>
#include <numeric>

#include "carina/tensor.h"
#include "pte/emit.h"
#include "pte/writer.h"
#include "runtime/backends/npu_sizes.h"
#include "runtime/program.h"
#include "runtime/sizes.h"

namespace carina::driver {

namespace {

int64_t tables_bytes_of(std::span<const std::byte> file) {
  runtime::Program program;
  runtime::MethodSizes sizes;
  const bool known = program.load(file) == runtime::Error::kOk &&
                     runtime::method_sizes(program, 0, {.delegate = runtime::npu_delegate_sizes}, sizes,
                                           runtime::kCortexMTypes) == runtime::Error::kOk;
  return known ? static_cast<int64_t>(sizes.method_bytes) : 0;
}

// The bytes that the write-backs of a program copy.
int64_t copied_state_bytes_of(const pte::Plan& plan) {
  int64_t bytes = 0;
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::KernelCall>(&instruction);
    if (call == nullptr || plan.operators[static_cast<size_t>(call->op)].name != "aten::copy_") continue;
    const auto& state = std::get<pte::TensorSpec>(plan.values[static_cast<size_t>(call->arguments.front())]);
    bytes += static_cast<int64_t>(tensor_bytes(state.dtype, state.shape));
  }
  return bytes;
}

std::vector<pte::Delegate> packaged(const Delegated& delegated) {
  std::vector<pte::Delegate> delegates;
  for (const backends::Delegate& delegate : delegated.delegates) delegates.push_back(delegate.packaged);
  return delegates;
}

pte::DelegateData storage_of(const pte::Program& program) {
  return pte::delegates_fit_inline(program) ? pte::DelegateData::kInline : pte::DelegateData::kSegment;
}

}  // namespace

Result<Package> package(const Delegated& delegated, pte::CpuKernels kernels) {
  return package(delegated.split.partitioned.program, packaged(delegated), kernels);
}

Result<std::vector<std::byte>> package_methods(std::span<const PackagedMethod> methods, pte::CpuKernels kernels) {
  std::vector<std::vector<pte::Delegate>> delegates;
  for (const PackagedMethod& method : methods) delegates.push_back(packaged(method.delegated));
  std::vector<pte::MethodGraph> graphs;
  for (size_t i = 0; i < methods.size(); ++i)
    graphs.push_back(
        {.name = methods[i].name, .graph = methods[i].delegated.split.partitioned.program, .delegates = delegates[i]});
  CARINA_TRY(const pte::Program program, pte::emit_methods(graphs, kernels));
  return pte::write_program(program, {.delegate_data = storage_of(program)});
}

Result<Package> package(const ir::Graph& graph, std::span<const pte::Delegate> delegates, pte::CpuKernels kernels) {
  CARINA_TRY(const pte::Program program, pte::emit(graph, delegates, kernels));
  const std::vector<int64_t>& planned = program.plans.front().planned_bytes;
  Package result{.program = {},
                 .planned_bytes = std::accumulate(planned.begin(), planned.end(), int64_t{0}),
                 .copied_state_bytes = copied_state_bytes_of(program.plans.front()),
                 .in_segments = !pte::delegates_fit_inline(program)};
  CARINA_TRY(result.program, pte::write_program(program, {.delegate_data = storage_of(program)}));
  result.tables_bytes = tables_bytes_of(result.program);
  return result;
}

}  // namespace carina::driver
