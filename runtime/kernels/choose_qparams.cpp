#include <algorithm>
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/quantize_internal.h"

namespace carina::runtime {

// ExecuTorch's algorithm, which comes from FBGEMM: the end of the range with the smaller error determines the zero
// point.
Parameters choose_parameters(float min, float max, int64_t low, int64_t high) {
  constexpr double kSmallest = 6.1e-5;  // the smallest number whose reciprocal is finite in fp16
  const auto levels = static_cast<double>(high - low);
  double min_value = std::min(min, 0.0F), max_value = std::max(max, 0.0F);
  double scale = (max_value - min_value) / levels;
  if (static_cast<float>(scale) == 0.0F || std::isinf(1.0F / static_cast<float>(scale))) scale = 0.1;
  if (scale < kSmallest) {
    const double factor = kSmallest / scale;
    scale = kSmallest;
    if (min_value == 0) {
      max_value = kSmallest * levels;
    } else if (max_value == 0) {
      min_value = -kSmallest * levels;
    } else {
      min_value *= factor;
      max_value *= factor;
    }
  }
  const double min_level = min_value / scale, max_level = max_value / scale;
  const double error_at_min = std::fabs(static_cast<double>(low)) + std::fabs(min_level);
  const double error_at_max = std::fabs(static_cast<double>(high)) + std::fabs(max_level);
  const double exact =
      error_at_min < error_at_max ? static_cast<double>(low) - min_level : static_cast<double>(high) - max_level;
  const int64_t nudged = exact < static_cast<double>(low)    ? low
                         : exact > static_cast<double>(high) ? high
                                                             : to_int64(std::nearbyint(static_cast<float>(exact)));
  return {.scale = scale, .zero_point = nudged};
}

namespace {

struct Bounds {
  float min = 0, max = 0;
};

// The minimum and maximum of the next `count` elements of `walk`.
Bounds bounds_of(const Tensor& in, Walk<1>& walk, int64_t count) {
  const auto read = Numbers::reader(in);
  Bounds bounds;
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    const auto value = static_cast<float>(read(walk.at[0]));
    bounds.min = i == 0 ? value : std::min(bounds.min, value);
    bounds.max = i == 0 ? value : std::max(bounds.max, value);
  }
  return bounds;
}

}  // namespace

// (input, quant_min, quant_max, eps, dtype, scale, zero_point); scale and zero_point are tensors of one element
Error choose_qparams(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t low = call.integer(1), high = call.integer(2);
  static_cast<void>(call.number(3));
  const Tensor &scale = call.out(5), &zero_point = call.out(6);
  call.require(low < high && high - low <= INT32_MAX && scale.elements() == 1 && zero_point.elements() == 1 &&
               in.elements() > 0);
  call.support(is_floating(in.type) && is_floating(scale.type) && !is_floating(zero_point.type));
  CARINA_RT_TRY(call.error());
  Walk<1> walk = walk_over(in);
  const Bounds bounds = bounds_of(in, walk, static_cast<int64_t>(in.elements()));
  const Parameters chosen = choose_parameters(bounds.min, bounds.max, low, high);
  Numbers::writer(scale)(0, chosen.scale);
  Integers::writer(zero_point)(0, chosen.zero_point);
  return Error::kOk;
}

// (input [..., K], dtype, scales [..., 1], zero_points [..., 1]): the int8 parameters of each row
Error choose_qparams_per_token(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &scales = call.out(2), &zero_points = call.out(3);
  call.support(is_floating(in.type) && is_floating(scales.type) && !is_floating(zero_points.type));
  call.require(in.rank() >= 1);
  CARINA_RT_TRY(call.error());
  Extents sizes = layout_of(in).sizes;
  const int64_t each = sizes[in.rank() - 1];
  sizes[in.rank() - 1] = 1;
  call.fit(scales, std::span(sizes.data(), in.rank()));
  call.fit(zero_points, std::span(sizes.data(), in.rank()));
  call.require(each > 0);
  CARINA_RT_TRY(call.error());
  Walk<1> walk = walk_over(in);
  Walk<1> scale = walk_over(scales), zero_point = walk_over(zero_points);
  const int64_t rows = scale.count();
  for (int64_t row = 0; row < rows; ++row, scale.next(), zero_point.next()) {
    const Bounds bounds = bounds_of(in, walk, each);
    const Parameters chosen = choose_parameters(bounds.min, bounds.max, INT8_MIN, INT8_MAX);
    Numbers::writer(scales)(scale.at[0], chosen.scale);
    Integers::writer(zero_points)(zero_point.at[0], chosen.zero_point);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
