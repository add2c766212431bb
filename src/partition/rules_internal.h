#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "partition/partition.h"

namespace carina::partition {

// What the rules look at: the graph with its quantization spread (ir::spread_quantization), and whom they speak for.
struct Candidate {
  const ir::Graph& graph;
  const ir::Node& node;
  const PartitionOptions& options;

  [[nodiscard]] const ir::Value& input(size_t index) const { return graph[node.inputs[index]]; }
  [[nodiscard]] const ir::Value& output() const { return graph[node.outputs.front()]; }
  // The type that the NPU would see: that of the integers for a quantized value.
  [[nodiscard]] static DType type_of(const ir::Value& value) {
    return value.quantization ? value.quantization->dtype : value.dtype;
  }
};

// The first rule that a node breaks, if any: op known, types integers or quantized, shapes static, limits of the op.
std::optional<ir::Refusal> refusal_of(const Candidate& candidate);

}  // namespace carina::partition
