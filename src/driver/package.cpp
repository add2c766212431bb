#include "driver/package.h"

#include <algorithm>
#include <numeric>

#include "carina/tensor.h"
#include "pte/emit.h"
#include "pte/writer.h"
#include "runtime/backends/ethos_u.h"
#include "runtime/backends/npu_sizes.h"
#include "runtime/delegate_state.h"
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

// The bytes of state among the arguments of delegates: a state that is read and written counts twice.
int64_t delegated_state_bytes_of(const pte::Plan& plan) {
  int64_t bytes = 0;
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::DelegateCall>(&instruction);
    if (call == nullptr) continue;
    for (const int32_t argument : call->arguments) {
      const auto* tensor = std::get_if<pte::TensorSpec>(&plan.values[static_cast<size_t>(argument)]);
      if (tensor != nullptr && !tensor->state_name.empty())
        bytes += static_cast<int64_t>(tensor_bytes(tensor->dtype, tensor->shape));
    }
  }
  return bytes;
}

void count_copies_of_state(const pte::Plan& plan, Package& result) {
  result.written_back_bytes = copied_state_bytes_of(plan);
  result.official_copied_bytes = result.copied_bytes = delegated_state_bytes_of(plan);
  runtime::Program program;
  if (program.load(result.program) != runtime::Error::kOk) return;
  const runtime::DelegateState state(program, 0, runtime::npu_argument_place);
  result.state_in_delegate_bytes = static_cast<int64_t>(state.state_bytes());
  result.copied_bytes += static_cast<int64_t>(state.moved_bytes()) - 2 * result.state_in_delegate_bytes;
  result.planned_bytes = 0;
  for (size_t i = 0; i < program.planned_buffers(0); ++i)
    result.planned_bytes += static_cast<int64_t>(state.planned_bytes(i));
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
                 .in_segments = !pte::delegates_fit_inline(program)};
  CARINA_TRY(result.program, pte::write_program(program, {.delegate_data = storage_of(program)}));
  result.tables_bytes = tables_bytes_of(result.program);
  count_copies_of_state(program.plans.front(), result);
  return result;
}

}  // namespace carina::driver
