#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "carina/result.h"
#include "ir/graph.h"
#include "ir/refusal.h"
#include "lower/target.h"

namespace carina::lower {

using Refused = std::optional<ir::Refusal>;

// A node in its graph, and the target.
struct Candidate {
  const ir::Graph& graph;
  const ir::Node& node;
  const Target& target;

  [[nodiscard]] const ir::Value& input(size_t index) const { return graph[node.inputs[index]]; }
  [[nodiscard]] const ir::Value& output() const { return graph[node.outputs.front()]; }
  // The type that the target would see: that of the integers for a quantized value.
  [[nodiscard]] static DType type_of(const ir::Value& value) {
    return value.quantization ? value.quantization->dtype : value.dtype;
  }
};

inline Refused refused(std::string_view rule, std::string reason, std::string hint = {}) {
  return ir::Refusal{.rule = std::string(rule), .reason = std::move(reason), .hint = std::move(hint)};
}

inline Refused first_of(std::initializer_list<Refused> refusals) {
  for (const Refused& refusal : refusals) {
    if (refusal) return refusal;
  }
  return std::nullopt;
}

// A refusal as an error about the node.
Result<void> accepted(const ir::Node& node, Refused refusal);

// What holds for every operator.
Refused check_rank(const ir::Value& value);                            // at most six axes, all static
Refused check_activation(const Candidate& c, const ir::Value& value);  // per tensor, int8 or int16
// The node works on integers that stand for floats: its result, or, where that is no real number, what it reads.
bool works_on_quantized(const Candidate& c);
// All of a node's floats are quantized, or none is.
Refused check_mixture(const Candidate& c);

// ops/limits.cpp: what several operators ask.
Refused check_axes(const Candidate& c, const ir::Value& value);
// `stride`, `kernel`, `dilation`: y, x. The result is [N,C,H,W].
Refused check_stride(const Candidate& c, const std::vector<int64_t>& stride);
Refused check_kernel(const Candidate& c, const std::vector<int64_t>& kernel, const std::vector<int64_t>& dilation,
                     const WindowLimit& limit);

// ops/weights.cpp. Where the node is quantized: int8 or int4, symmetric where constant, with one scale or one for each
// index of `axis`.
Refused check_quantized_weights(const Candidate& c, size_t axis);
// The same, and constant; a constant bias.
Refused check_weights(const Candidate& c, size_t axis = 0);

}  // namespace carina::lower
