#include <algorithm>
#include <bit>
#include <cstdlib>

#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"

// Sums of int16 times int8 that fit 32 bits. TOSA has them as int48, and one RESCALE of these has a multiplier of 15
// bits. All 31 bits take two: to int32, which at most shifts to the left, and from there. With accumulators of 32 bits
// the NPU scales by all 31 bits itself, so that both are one factor:
//   (sum * 2^k) * m / 2^s = sum * m / 2^(s - k)
// The first RESCALE saturates. That changes no result if what it saturates is beyond the result's range anyway.
namespace carina::plan {
namespace {

// The largest magnitude of each channel's sums.
std::vector<int64_t> largest_sums(const Convolution& c, const std::vector<int64_t>& biases) {
  constexpr int64_t kLargestInput = 32768;
  std::vector<int64_t> sums;
  for (const int64_t bias : biases) sums.push_back(std::abs(bias));
  c.weights.visit([&](const auto& weights) {
    const size_t each = weights.size() / sums.size();
    for (size_t i = 0; i < weights.size(); ++i) sums[i / each] += std::abs(int64_t{weights[i]}) * kLargestInput;
  });
  return sums;
}

const ScaleFactor& factor_of(const Rescale& r, size_t channel) {
  return r.factors[r.per_channel ? channel : 0];
}

// Both factors as one, for sums up to `largest`.
std::optional<ScaleFactor> joined(const Rescale& first, const Rescale& second, size_t channel, int64_t largest) {
  const auto whole = whole_factor(Scaling{factor_of(first, channel), Rounding::kSingle});
  if (!whole || !std::has_single_bit(*whole) || largest > kSigned32.max()) return std::nullopt;
  const int left = std::countr_zero(*whole);
  ScaleFactor factor = factor_of(second, channel);
  const auto scaled = [&](int64_t value) {
    return apply_scale_32(value, static_cast<int32_t>(factor.multiplier), factor.shift, second.rounding);
  };
  const bool saturates = largest > kSigned32.max() >> left;
  if (saturates && (scaled(kSigned32.max()) + second.output_zp < second.out.max() ||
                    scaled(kSigned32.min()) + second.output_zp > second.out.min()))
    return std::nullopt;
  if (left > factor.shift || (left != 0 && second.rounding != Rounding::kSingle)) return std::nullopt;
  factor.shift -= left;
  return factor;
}

}  // namespace

std::optional<Epilogue> narrow_epilogue(Selection& s, const Convolution& c, const std::vector<int64_t>& biases) {
  if (s.value(s.output()).dtype != DType::kInt48 || biases.empty()) return std::nullopt;
  const auto first = rescale_after(s, s.output());
  if (!first || first->rescale.out != kSigned32 || first->rescale.output_zp != 0) return std::nullopt;
  const auto second = rescale_after(s, s.graph()[first->node].outputs[0]);
  if (!second || second->rescale.out.bits > 16) return std::nullopt;
  Epilogue epilogue = epilogue_of(second->rescale, s.graph()[second->node].outputs[0]);
  epilogue.per_channel = first->rescale.per_channel || second->rescale.per_channel;
  epilogue.sums_fit_32 = true;
  epilogue.factors.clear();
  const std::vector<int64_t> largest = largest_sums(c, biases);
  for (size_t channel = 0; channel < largest.size(); ++channel) {
    const auto factor = joined(first->rescale, second->rescale, channel, largest[channel]);
    if (!factor) return std::nullopt;
    epilogue.factors.push_back(*factor);
  }
  if (!epilogue.per_channel) epilogue.factors.resize(1);
  for (const ir::NodeId node : {first->node, second->node}) s.absorb(node);
  return s.follow(epilogue, {});
}

}  // namespace carina::plan
