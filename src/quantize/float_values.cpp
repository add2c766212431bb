#include "quantize/float_values_internal.h"

#include <algorithm>
#include <optional>

#include "quantize/sharing.h"
#include "tensor/elements.h"

namespace carina::quantize {

namespace {

// The floats that the integers of symmetric weights represent. Those of some layers are integers already
// (fine_weights_internal.h).
Tensor rounded(const Tensor& weights, const Quantization& q) {
  if (weights.dtype != DType::kFp32) return dequantized(weights, q);
  MutableTensor result(DType::kFp32, weights.shape);
  const auto from = weights.values<float>();
  const auto to = result.values<float>();
  const ChannelOf channel(weights.shape, q);
  const size_t run = channel.run(from.size());
  constexpr float kRounding = 12'582'912;  // 1.5 * 2^23: a float of this size has no fraction
  const auto low = static_cast<float>(q.qmin), high = static_cast<float>(q.qmax);
  for (size_t first = 0; first < from.size(); first += run) {
    const auto scale = static_cast<float>(q.scales[channel(first)]), inverse = 1 / scale;
    for (size_t i = first; i < std::min(first + run, from.size()); ++i)
      to[i] = ((std::clamp(from[i] * inverse, low, high) + kRounding) - kRounding) * scale;
  }
  return std::move(result).freeze();
}

}  // namespace

ir::Graph with_float_values(ir::Graph quantized) {
  std::vector<bool> is_rounded(quantized.values.size(), false);
  for (const ir::Node& node : quantized.nodes) {
    const std::optional<WeightRole> role = weight_role_of(node);
    if (!role || !node.inputs[role->weight].valid()) continue;
    ir::Value& weight = quantized[node.inputs[role->weight]];
    if (!weight.constant || !weight.quantization || is_rounded[node.inputs[role->weight].index()]) continue;
    weight.constant = rounded(*weight.constant, *weight.quantization);
    is_rounded[node.inputs[role->weight].index()] = true;
  }
  for (ir::Value& value : quantized.values) value.quantization.reset();
  return quantized;
}

}  // namespace carina::quantize
