#include <cstring>

#include "interpret/program_internal.h"

namespace carina::interpret {

void Program::allocate() {
  if (allocated_) return;
  arena_ = MutableBuffer::allocate(arena_bytes_);
  allocated_ = true;
}

std::byte* Program::address(ir::ValueId value, std::span<const std::byte* const> inputs,
                            std::span<std::byte* const> outputs) {
  const Place place = places_[value.index()];
  switch (place.kind) {
    case Place::Kind::kNowhere:
      return nullptr;
    // Kernels get what they may write as out operands only; an input or constant never stands there.
    case Place::Kind::kConstant:
      return const_cast<std::byte*>(constants_[place.index].data.data());
    case Place::Kind::kInput:
      return const_cast<std::byte*>(inputs[place.index]);
    case Place::Kind::kOutput:
      return outputs[place.index];
    case Place::Kind::kArena:
      return arena_.bytes().data() + place.index;
  }
  CARINA_UNREACHABLE("place", place.kind);
}

void Program::bind(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs) {
  for (Step& step : steps_) {
    for (size_t i = 0; i < step.reads.size(); ++i) step.in[i] = address(step.reads[i], inputs, outputs);
    for (size_t i = 0; i < step.writes.size(); ++i) step.out[i] = address(step.writes[i], inputs, outputs);
  }
}

void Program::observe(ir::ValueId value, const std::byte* data) const {
  const ir::Value& described = graph_[value];
  const Tensor view{.dtype = described.dtype,
                    .shape = described.shape,
                    .data = Buffer(nullptr, {data, tensor_bytes(described.dtype, described.shape)})};
  options_.observer(graph_, value, view);
}

Result<void> Program::run_step(Step& step, Runtime& runtime) {
  const Call call{.in = step.in,
                  .out = step.out,
                  .scratch = arena_.bytes().data() + step.scratch_offset,
                  .runtime = runtime,
                  .where = step.where};
  if (options_.profiling == Profiling::kOff) return step.kernel.run(call);
  const auto begin = std::chrono::steady_clock::now();
  Result<void> result = step.kernel.run(call);
  step.nanoseconds +=
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  ++step.calls;
  return result;
}

Result<void> Program::execute(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                              Runtime& runtime) {
  bind(inputs, outputs);
  const bool observed = static_cast<bool>(options_.observer);
  for (size_t i = 0; observed && i < graph_.inputs.size(); ++i) observe(graph_.inputs[i], inputs[i]);
  for (Step& step : steps_) {
    if (options_.between_nodes) options_.between_nodes();
    CARINA_CHECKED(run_step(step, runtime));
    for (size_t i = 0; observed && i < step.writes.size(); ++i) observe(step.writes[i], step.out[i]);
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
