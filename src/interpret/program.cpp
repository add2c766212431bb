#include <algorithm>
#include <cstring>
#include <functional>

#include "base/memory/prefault.h"
#include "base/parallel/parallel.h"
#include "interpret/program_internal.h"

namespace carina::interpret {

namespace {

kernels::Extremes all_of(std::span<const kernels::Extremes> found) {
  kernels::Extremes all;
  for (const kernels::Extremes& part : found) all.add(part);
  return all;
}

kernels::Extremes find_extremes(std::span<const float> elements, Workers& workers) {
  constexpr int64_t kGrain = 32 * 1024;
  std::vector<kernels::Extremes> found(static_cast<size_t>(workers.threads()));
  split_slots(workers, static_cast<int64_t>(elements.size()), kGrain, [&](int64_t slot, int64_t begin, int64_t end) {
    found[static_cast<size_t>(slot)].add(
        kernels::extremes_of(elements.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
  });
  return all_of(found);
}

}  // namespace

void Program::allocate() {
  if (allocated_) return;
  found_.resize(static_cast<size_t>(options_.threads));
  arena_ = MutableBuffer::allocate(arena_bytes_);
  if (options_.packing == Packing::kOnce) prefer_large_pages(arena_.bytes());
  allocated_ = true;
}

std::byte* Program::address(ir::ValueId value, std::span<const std::byte* const> inputs,
                            std::span<std::byte* const> outputs) {
  const Allocation allocation = allocations_[value.index()];
  switch (allocation.kind) {
    case Allocation::Kind::kNowhere:
      return nullptr;
    // Kernels write only to `out` operands, which are never inputs or constants.
    case Allocation::Kind::kConstant:
      return const_cast<std::byte*>(constants_[allocation.index].data.data());
    case Allocation::Kind::kInput:
      return const_cast<std::byte*>(inputs[allocation.index]);
    case Allocation::Kind::kOutput:
      return outputs[allocation.index];
    case Allocation::Kind::kArena:
      return arena_.bytes().data() + allocation.index;
  }
  CARINA_UNREACHABLE("place", allocation.kind);
}

void Program::bind(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.reads.size(); ++i) step.in[i] = address(step.reads[i], inputs, outputs);
    for (size_t i = 0; i < step.writes.size(); ++i) step.out[i] = address(step.writes[i], inputs, outputs);
  }
}

void Program::show(ir::ValueId value, const std::byte* data, std::span<const kernels::Extremes> found,
                   Workers& workers) const {
  if (!options_.observer && !is_watched(value)) return;
  const ir::Value& described = graph_[value];
  const Tensor view{.dtype = described.dtype,
                    .shape = described.shape,
                    .data = Buffer(nullptr, {data, tensor_bytes(described.dtype, described.shape)})};
  if (options_.observer) options_.observer(graph_, value, view);
  if (!is_watched(value)) return;
  kernels::Extremes extremes = all_of(found);
  if (found.empty() && view.dtype == DType::kFp32) extremes = find_extremes(view.values<float>(), workers);
  // Parallel loops of the watch run on the interpreter's workers, which are awake.
  const ScopedParallelLoop scope([&](size_t count, const std::function<void(size_t)>& body) {
    workers.for_each(static_cast<int64_t>(count), [&](int64_t, int64_t chunk) { body(static_cast<size_t>(chunk)); });
  });
  watch_->see(value, view, extremes);
}

Result<void> Program::run_step(Step& step, Runtime& runtime) {
  const Call call{.in = step.in,
                  .out = step.out,
                  .scratch = arena_.bytes().data() + step.scratch_offset,
                  .runtime = runtime,
                  .where = step.where,
                  .extremes = watch_ != nullptr && step.kernel.finds_extremes ? found_.data() : nullptr};
  if (options_.profiling == Profiling::kOff) return step.kernel.run(call);
  const auto begin = std::chrono::steady_clock::now();
  Result<void> result = step.kernel.run(call);
  step.nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  ++step.calls;
  return result;
}

Result<void> Program::run_and_show(Step& step, Runtime& runtime) {
  if (!options_.observer && watch_ == nullptr) return run_step(step, runtime);
  std::ranges::fill(found_, kernels::Extremes());
  CARINA_CHECKED(run_step(step, runtime));
  const std::span<const kernels::Extremes> found =
      step.kernel.finds_extremes ? std::span<const kernels::Extremes>(found_) : std::span<const kernels::Extremes>();
  for (size_t i = 0; i < step.writes.size(); ++i) show(step.writes[i], step.out[i], found, runtime.workers);
  return {};
}

Result<void> Program::execute(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                              Runtime& runtime) {
  bind(inputs, outputs);
  for (size_t i = 0; i < graph_.inputs.size(); ++i) show(graph_.inputs[i], inputs[i], {}, runtime.workers);
  for (Step& step : steps_) {
    if (options_.between_nodes) options_.between_nodes();
    CARINA_CHECKED(run_and_show(step, runtime));
  }
  for (const OutputCopy& copy : output_copies_) {
    const ir::Value& value = graph_[copy.value];
    const size_t bytes = tensor_bytes(value.dtype, value.shape);
    if (bytes != 0) std::memcpy(outputs[copy.output], address(copy.value, inputs, outputs), bytes);
  }
  return {};
}

void Program::add_times(std::vector<NodeTime>& times) const {
  for (const Step& step : steps_) {
    if (step.calls == 0) continue;
    const ir::Node& node = graph_[step.node];
    std::vector<std::string_view> with;
    for (const ir::NodeId fused : step.fused) with.push_back(graph_[fused].op.name());
    times.push_back({.graph = graph_.name,
                     .node = step.node,
                     .name = node.name,
                     .op = node.op.name(),
                     .with = std::move(with),
                     .calls = step.calls,
                     .nanoseconds = step.nanoseconds});
  }
}

void Program::clear_times() {
  for (Step& step : steps_) step.calls = step.nanoseconds = 0;
}

}  // namespace carina::interpret
