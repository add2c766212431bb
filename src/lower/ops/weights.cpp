// Checks of the weights and biases of convolutions and linear layers.

#include <fmt/format.h>

#include <algorithm>

#include "lower/legality_internal.h"

namespace carina::lower {

Rejected check_quantized_weights(const Candidate& c, size_t axis) {
  const ir::Value& weight = c.input(1);
  if (!weight.quantization) {
    return rejected("weights.not-quantized", fmt::format("the weights {} are not quantized", weight.name),
                    "quantize the weights to int8");
  }
  const Quantization& q = *weight.quantization;
  if (q.dtype != DType::kInt8 && q.dtype != DType::kInt4) {
    return rejected(
        "weights.type",
        fmt::format("the weights {} are {}, {} needs int8 or int4", weight.name, name_of(q.dtype), c.target.name),
        "quantize the weights to int8");
  }
  if (!weight.constant) return std::nullopt;
  if (!std::ranges::all_of(q.zero_points, [](int64_t zp) { return zp == 0; })) {
    return rejected("weights.zero-points", fmt::format("the weights {} have zero points", weight.name),
                    "quantize the weights symmetrically");
  }
  if (q.per_channel() && q.axis != static_cast<int>(axis)) {
    return rejected(
        "weights.axis",
        fmt::format("the weights {} are quantized along axis {}, {} needs one scale for each output channel",
                    weight.name, q.axis, c.target.name),
        fmt::format("quantize the weights per tensor, or along axis {}", axis));
  }
  return std::nullopt;
}

Rejected check_weights(const Candidate& c, size_t axis) {
  const ir::Value& weight = c.input(1);
  if (!weight.constant) {
    return rejected("weights.computed", fmt::format("the weights {} are computed at run time", weight.name),
                    "make the weights constant");
  }
  if (c.output().quantization) {
    if (auto rejection = check_quantized_weights(c, axis)) return rejection;
  }
  if (c.node.inputs.size() > 2 && c.node.inputs[2].valid() && !c.input(2).constant) {
    return rejected("bias.computed", fmt::format("the bias {} is computed at run time", c.input(2).name),
                    "add it with an addition of its own");
  }
  return std::nullopt;
}

}  // namespace carina::lower
