#include "quantize/headroom_internal.h"

#include <algorithm>
#include <cmath>

namespace carina::quantize {

namespace {

// Whether the segments of a table with headroom lose more than clipping near a pole of the function.
//   Of n operands, about one of n + 1 later ones is larger than all of them. If it is so by a fifth, clipping loses
//   0.2^2 / (n + 1) of the power. A segment has 1/128 of the largest operand. If the smallest is 1/k of it, the table
//   of 1/sqrt(x) loses ((k / 128)^2 * 3/32)^2 there.
bool is_steep(const RangeObserver& seen, double pole) {
  constexpr double kLarger = 0.2, kCurvature = 3.0 / 32, kSegments = 128;
  const double smallest = seen.seen().min - pole, largest = seen.seen().max - pole;
  if (smallest <= 0) return true;
  const double segments = kSegments * smallest / largest;  // up to the smallest operand
  return kCurvature / (segments * segments) > kLarger / std::sqrt(static_cast<double>(seen.count()) + 1);
}

// The same of the square root, which is steep near 0 too but has small results there.
//   In the first segment, whose width is w, the table of sqrt(x) loses w / 30 of the power. An operand that is larger
//   than the largest by a fifth loses 0.0091 of it, and one of n + 1 is. These are equal if 35 of n are in that
//   segment.
bool is_steep_root(const RangeObserver& seen) {
  constexpr double kSegments = 128, kMaxInFirst = 35;
  return seen.seen().min < 0 || seen.count_below(seen.seen().max / kSegments) > kMaxInFirst;
}

// The same of sine and cosine, whose results beyond the range are wrong altogether once their operands reach far.
//   A segment of width w loses 8/15 (w^2 / 8)^2 of the power.
bool turns_fast(const RangeObserver& seen) {
  constexpr double kLarger = 0.2, kSegments = 512, kWrong = 2;
  const double reach = std::max(-seen.seen().min, seen.seen().max), width = 2 * kHeadroom * reach / kSegments;
  const double by_segments = 8.0 / 15 * std::pow(width * width / 8, 2);
  return by_segments > std::min(kWrong, std::pow(kLarger * reach, 2)) / (static_cast<double>(seen.count()) + 1);
}

// Whether the segments of a table with headroom are so wide that exp loses more than 0.2 % between their ends.
bool has_wide_segments(Range seen) {
  constexpr double kWide = 16;
  return std::max(seen.max, -seen.min) > kWide;
}

}  // namespace

Range with_room(Range seen, std::optional<double> limit) {
  const double end = limit ? std::max({*limit, -seen.min, seen.max}) : INFINITY;
  return {.min = std::max(kHeadroom * seen.min, -end), .max = std::min(kHeadroom * seen.max, end)};
}

Headroom headroom_for(const ir::Node& function, const RangeObserver& seen) {
  const auto unless = [](bool is_harmful) { return is_harmful ? Headroom::kHarmful : Headroom::kNeeded; };
  // Where operands were near 0 alone, such a function is a straight line, and clipping changes it as any other. Beyond
  // these limits, an operand that is larger by a fifth changes it by 2 %, and is rare.
  const auto unless_saturated = [&](double saturated) {
    const bool is_saturated = std::max(-seen.seen().min, seen.seen().max) >= saturated;
    return is_saturated ? Headroom::kNeedless : Headroom::kNeeded;
  };
  switch (function.op.aten()) {
    case AtenOp::abs_default:
    case AtenOp::celu_default:
    case AtenOp::elu_default:
    case AtenOp::gelu_default:
    case AtenOp::hardshrink_default:
    case AtenOp::hardswish_default:
    case AtenOp::leaky_relu_default:
    case AtenOp::log_sigmoid_default:
    case AtenOp::mish_default:
    case AtenOp::neg_default:
    case AtenOp::rrelu_default:
    case AtenOp::selu_default:
    case AtenOp::silu_default:
    case AtenOp::softplus_default:
    case AtenOp::softshrink_default:
    case AtenOp::threshold_default:
      return Headroom::kNeeded;
    case AtenOp::atan_default:
      return unless_saturated(8);
    case AtenOp::erf_default:
    case AtenOp::erfc_default:
      return unless_saturated(1.5);
    case AtenOp::hardsigmoid_default:
      return unless_saturated(3);
    case AtenOp::sigmoid_default:
      return unless_saturated(4);
    case AtenOp::tanh_default:
      return unless_saturated(2);
    case AtenOp::exp2_default:
    case AtenOp::exp_default:
    case AtenOp::expm1_default:
      if (seen.seen().max <= 0 && seen.seen().min <= -8) return Headroom::kNeedless;  // exp(-8) is 0.0003
      return unless(has_wide_segments(seen.seen()));
    case AtenOp::log10_default:
    case AtenOp::log2_default:
    case AtenOp::log_default:
    case AtenOp::reciprocal_default:
    case AtenOp::rsqrt_default:
      return unless(is_steep(seen, 0));
    case AtenOp::sqrt_default:
      return unless(is_steep_root(seen));
    case AtenOp::log1p_default:
      return unless(is_steep(seen, -1));
    case AtenOp::cos_default:
    case AtenOp::sin_default:
      return unless(turns_fast(seen));
    case AtenOp::pow_Tensor_Scalar: {
      const double exponent = function.attributes.number("exponent");
      if (exponent < 0) return unless(is_steep(seen, 0));
      return unless(exponent < 1 && is_steep_root(seen));
    }
    default:
      return Headroom::kHarmful;
  }
}

bool saturates(AtenOp function) {
  return function == AtenOp::sigmoid_default || function == AtenOp::tanh_default || function == AtenOp::erf_default;
}

}  // namespace carina::quantize
