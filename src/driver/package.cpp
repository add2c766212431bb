#include "driver/package.h"

#include <algorithm>
#include <numeric>

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

}  // namespace

Result<Package> package(const Delegated& delegated, pte::CpuKernels kernels) {
  std::vector<pte::Delegate> delegates;
  for (const backends::Delegate& delegate : delegated.delegates) delegates.push_back(delegate.packaged);
  return package(delegated.split.partitioned.program, delegates, kernels);
}

Result<Package> package(const ir::Graph& graph, std::span<const pte::Delegate> delegates, pte::CpuKernels kernels) {
  CARINA_TRY(const pte::Program program, pte::emit(graph, delegates, kernels));
  const std::vector<int64_t>& planned = program.plans.front().planned_bytes;
  Package result{.program = {},
                 .planned_bytes = std::accumulate(planned.begin(), planned.end(), int64_t{0}),
                 .in_segments = !pte::delegates_fit_inline(program)};
  const auto storage = result.in_segments ? pte::DelegateData::kSegment : pte::DelegateData::kInline;
  CARINA_TRY(result.program, pte::write_program(program, {.delegate_data = storage}));
  result.tables_bytes = tables_bytes_of(result.program);
  return result;
}

}  // namespace carina::driver
