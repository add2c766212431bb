#include "litert/arena_internal.h"

#include <algorithm>

#include "carina/check.h"
#include "facts/npu_targets.h"
#include "litert/placement_internal.h"

namespace carina::litert {

namespace {

// Tensors that the interpreter does not place: constants; variables, which keep their value; types and sizes that only
// an operator knows.
bool is_placed(const tflite::Tensor& tensor) {
  return !tensor.is_constant && !tensor.is_variable && tensor.dtype != DType::kUnknown && tensor.bytes() > 0;
}

class Planner {
 public:
  Planner(const tflite::Subgraph& graph, const std::vector<CompiledPart>& parts)
      : graph_(graph), parts_(parts), items_(graph.tensors.size()), is_used_(graph.tensors.size()) {}

  Arena plan() && {
    for (const int32_t input : graph_.inputs) touch(input, 0);
    for (size_t p = 0; p < parts_.size(); ++p) add_part(p);
    for (const int32_t output : graph_.outputs) touch(output, time_ + 1);
    Arena arena{.addresses = addresses(), .bytes = 0, .before = {}, .after = {}};
    for (size_t i = 0; i < graph_.tensors.size(); ++i) {
      if (arena.addresses[i] >= 0) arena.bytes = std::max(arena.bytes, arena.addresses[i] + graph_.tensors[i].bytes());
    }
    for (const Window& window : windows_) arena.bytes = std::max(arena.bytes, window.bytes);
    for (const CompiledPart& part : parts_) add_copies(part, arena);
    return arena;
  }

 private:
  void touch(int32_t tensor, int64_t time) {
    if (tensor == tflite::kAbsent) return;
    const auto at = static_cast<size_t>(tensor);
    Item& item = items_[at];
    if (!is_used_[at]) item = {.bytes = graph_.tensors[at].bytes(), .first = time, .last = time, .hosts = {}};
    is_used_[at] = true;
    item.last = std::max(item.last, time);
  }

  void add_part(size_t p) {
    const CompiledPart& part = parts_[p];
    if (part.part.on_npu) {
      add_stream(part);
      return;
    }
    for (const size_t i : part.part.operators) {
      ++time_;
      for (const int32_t input : graph_.operators[i].inputs) touch(input, time_);
      for (const int32_t output : graph_.operators[i].outputs) touch(output, time_);
    }
  }

  void add_stream(const CompiledPart& part) {
    ++time_;
    const npu::CompiledNetwork& network = part.network.network;
    windows_.push_back({.time = time_, .bytes = network.scratch_bytes});
    const auto add = [&](const std::vector<int32_t>& tensors, const std::vector<npu::IoTensor>& places) {
      for (size_t i = 0; i < tensors.size(); ++i) {
        touch(tensors[i], time_);
        items_[static_cast<size_t>(tensors[i])].hosts.push_back({.time = time_, .address = places[i].offset});
      }
    };
    add(part.part.inputs, network.inputs);
    add(part.part.outputs, network.outputs);
  }

  // A stream may write over its inputs, so its place for an input is the tensor's only if nothing reads it afterwards.
  [[nodiscard]] std::vector<int64_t> addresses() {
    std::vector<Item> items;
    std::vector<size_t> tensors;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!is_used_[i] || !is_placed(graph_.tensors[i])) continue;
      Item item = items_[i];
      std::erase_if(item.hosts, [&](const Host& host) { return host.time != item.first && host.time != item.last; });
      tensors.push_back(i);
      items.push_back(std::move(item));
    }
    const std::vector<int64_t> placed = place(items, windows_, npu::kBaseAlignmentBytes);
    std::vector<int64_t> out(graph_.tensors.size(), -1);
    for (size_t i = 0; i < tensors.size(); ++i) out[tensors[i]] = placed[i];
    return out;
  }

  // TFLM's kernel gives a stream its constants, scratch, fast scratch and then its inputs as regions. A variable is not
  // in the arena: TFLM allocates it where it keeps its value.
  [[nodiscard]] static RegionPlace place_of(const tflite::Part& part, int32_t tensor, const Arena& arena) {
    constexpr int32_t kFirstInput = 3;
    const auto variable = std::ranges::find(part.variables, tensor);
    if (variable != part.variables.end())
      return {.region = kFirstInput + static_cast<int32_t>(variable - part.variables.begin())};
    return {.region = 1, .offset = arena.addresses[static_cast<size_t>(tensor)]};
  }

  void add_copies(const CompiledPart& part, Arena& arena) const {
    std::vector<RegionCopy>& before = arena.before.emplace_back();
    std::vector<RegionCopy>& after = arena.after.emplace_back();
    if (!part.part.on_npu) return;
    const npu::CompiledNetwork& network = part.network.network;
    const auto add = [&](int32_t tensor, const npu::IoTensor& io, bool is_input) {
      const RegionPlace there = place_of(part.part, tensor, arena), here{.region = io.region, .offset = io.offset};
      CARINA_CHECK(io.region == network.scratch_region && there.offset >= 0, "tensor {} has no place", tensor);
      if (there.region == here.region && there.offset == here.offset) return;
      const int64_t bytes = graph_.tensors[static_cast<size_t>(tensor)].bytes();
      if (is_input)
        before.push_back({.from = there, .to = here, .bytes = bytes});
      else
        after.push_back({.from = here, .to = there, .bytes = bytes});
    };
    for (size_t i = 0; i < network.inputs.size(); ++i) add(part.part.inputs[i], network.inputs[i], true);
    for (size_t i = 0; i < network.outputs.size(); ++i) add(part.part.outputs[i], network.outputs[i], false);
  }

  const tflite::Subgraph& graph_;
  const std::vector<CompiledPart>& parts_;
  std::vector<Item> items_;
  std::vector<bool> is_used_;
  std::vector<Window> windows_;
  int64_t time_ = 0;
};

}  // namespace

Arena plan_arena(const tflite::Subgraph& graph, const std::vector<CompiledPart>& parts) {
  return Planner(graph, parts).plan();
}

}  // namespace carina::litert
