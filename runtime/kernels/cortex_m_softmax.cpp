#include <cmath>

#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/kernels_internal.h"

// The int8 softmax of ExecuTorch's Cortex-M backend; the output's scale is 1/256 and its zero point -128.
namespace carina::runtime {

namespace {

constexpr int kInputIntegerBits = 5;
constexpr int64_t kZeroPoint = -128;
constexpr float kScale = 1.0F / 256;

// The elements along the axis: the first one, the distance between two, and their number.
struct Row {
  const int8_t* in;
  int8_t* out;
  int64_t in_step, out_step, count;
};

// Computed in float, like the Python implementation.
void softmax_row(const Row& row, float zero, float scale) {
  const auto value = [&](int64_t i) { return (static_cast<float>(row.in[i * row.in_step]) - zero) * scale; };
  float max = value(0);
  for (int64_t i = 1; i < row.count; ++i) max = std::max(max, value(i));
  float sum = 0;
  for (int64_t i = 0; i < row.count; ++i) sum += std::exp(value(i) - max);
  for (int64_t i = 0; i < row.count; ++i) {
    const float quantized = std::nearbyint(std::exp(value(i) - max) / sum / kScale) + static_cast<float>(kZeroPoint);
    row.out[i * row.out_step] = static_cast<int8_t>(std::clamp(quantized, -128.0F, 127.0F));
  }
}

}  // namespace

// (input, dim, input zero_point, output zero_point, input multiplier, shift, diff_min, out)
Error cortex_m_softmax(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const auto zero = static_cast<float>(call.integer(2));
  const auto scale = static_cast<float>(
      std::ldexp(static_cast<double>(call.integer(4)), static_cast<int>(call.integer(5)) - 62 + kInputIntegerBits));
  const Tensor& out = call.out(7);
  call.support(in.type == PteScalarType::kChar && out.type == in.type && call.integer(3) == kZeroPoint);
  call.require(takes_sizes_of(out, in) && in.rank() > 0 && scale > 0);
  CARINA_RT_TRY(call.error());
  const size_t axis = call.axis(1, in.rank());
  CARINA_RT_TRY(call.error());
  if (in.elements() == 0) return Error::kOk;
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk;
  for (size_t i = 0; i < from.rank; ++i) {
    if (i != axis) walk.add_axis(from.sizes[i], {from.strides[i], to.strides[i]});
  }
  const int64_t rows = walk.count();
  for (int64_t i = 0; i < rows; ++i, walk.next())
    softmax_row({.in = in.as<const int8_t>() + walk.at[0],
                 .out = out.as<int8_t>() + walk.at[1],
                 .in_step = from.strides[axis],
                 .out_step = to.strides[axis],
                 .count = from.sizes[axis]},
                zero, scale);
  return Error::kOk;
}

}  // namespace carina::runtime
