#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "carina/result.h"
#include "ir/graph.h"
#include "ir/rejection.h"
#include "lower/target.h"

// Checks of a node against a target's limits. The legality rule of each lowering consists of them.
namespace carina::lower {

using Rejected = std::optional<ir::Rejection>;

// A node with its graph and the target.
struct Candidate {
  const ir::Graph& graph;
  const ir::Node& node;
  const Target& target;

  [[nodiscard]] const ir::Value& input(size_t index) const { return graph[node.inputs[index]]; }
  [[nodiscard]] const ir::Value& output() const { return graph[node.outputs.front()]; }
  // The type in the lowered graph: for a quantized value, that of its integers.
  [[nodiscard]] static DType type_of(const ir::Value& value) {
    return value.quantization ? value.quantization->dtype : value.dtype;
  }
};

inline Rejected rejected(std::string_view rule, std::string reason, std::string hint = {}) {
  return ir::Rejection{.rule = std::string(rule), .reason = std::move(reason), .hint = std::move(hint)};
}

inline Rejected first_of(std::initializer_list<Rejected> rejections) {
  for (const Rejected& rejection : rejections) {
    if (rejection) return rejection;
  }
  return std::nullopt;
}

// Converts a rejection to an error about the node.
Result<void> accepted(const ir::Node& node, Rejected rejection);

// Checks for all operators. check_rank(): at most six axes, all static.
Rejected check_rank(const ir::Value& value);
Rejected check_activation(const Candidate& c, const ir::Value& value);  // per tensor, int8 or int16
// Returns whether the node computes on integers that represent floats. The result decides, or the operands if the
// result cannot be quantized (bools, indices).
bool works_on_quantized(const Candidate& c);
// Either all floats of a node are quantized, or none is.
Rejected check_mixture(const Candidate& c);

// Checks that several operators share (ops/limits.cpp).
Rejected check_axes(const Candidate& c, const ir::Value& value);
// `stride`, `kernel` and `dilation` are in the order y, x. The result is [N,C,H,W].
Rejected check_stride(const Candidate& c, const std::vector<int64_t>& stride);
Rejected check_kernel(const Candidate& c, const std::vector<int64_t>& kernel, const std::vector<int64_t>& dilation,
                      const WindowLimit& limit);
// Checks the kernel of a convolution in two dimensions. Rows and columns can change places, so a kernel may be as high
// as it may be wide. With int8, parts of any kernel are convolutions whose sums of 32 bits are added.
Rejected check_convolution_kernel(const Candidate& c, const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& dilation);

// Checks an operator of MXFP (ops/block_scaled.cpp): the target, constant weights of a known type. No other operator is
// rejected.
Rejected check_block_scaled(const Candidate& c);

// Checks of weights (ops/weights.cpp). Quantized weights are int8 or int4, symmetric if constant, with one scale or one
// per index of `axis`.
Rejected check_quantized_weights(const Candidate& c, size_t axis);
// Like check_quantized_weights(), and weights and bias must be constant.
Rejected check_weights(const Candidate& c, size_t axis = 0);

}  // namespace carina::lower
