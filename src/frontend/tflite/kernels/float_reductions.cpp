#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <vector>

#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/kernels/reduced_axes_internal.h"

// MEAN, SUM, REDUCE_MAX, REDUCE_MIN and REDUCE_PROD of floats, in the order of the elements. MEAN divides the sum.
namespace carina::tflite {

namespace {

struct Reduction {
  std::string_view name;
  float first;
  float (*of)(float total, float x);
};
constexpr auto kReductions = std::to_array<Reduction>({
    {"MEAN", 0, [](float total, float x) { return total + x; }},
    {"REDUCE_MAX", std::numeric_limits<float>::lowest(), [](float total, float x) { return x > total ? x : total; }},
    {"REDUCE_MIN", std::numeric_limits<float>::max(), [](float total, float x) { return x < total ? x : total; }},
    {"REDUCE_PROD", 1, [](float total, float x) { return total * x; }},
    {"SUM", 0, [](float total, float x) { return total + x; }},
});

}  // namespace

Result<void> check_reduction(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kFloats));
  CARINA_CHECKED(call.need_type(where, 1, kAxes));
  CARINA_CHECKED(call.need_result(where, kFloats));
  if (!call.in(1).is_constant) return call.reject(where, "the axes are not constant");
  const Shape& shape = call.in(0).shape;
  const std::vector<bool> axes = reduced_axes(call);
  if (!axes.empty() && shape.elements() > 0 &&
      shape.elements() == reduced_elements(call, axes) * call.out().shape.elements())
    return {};
  return call.reject(where, "the axes do not fit the result", {}, to_string(call.out().shape));
}

Result<void> run_reduction(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const Reduction& row = *std::ranges::find(kReductions, call.op().name, &Reduction::name);
  const Shape& shape = call.in(0).shape;
  const std::vector<bool> axes = reduced_axes(call);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  std::ranges::fill(y, row.first);
  for (size_t i = 0; i < x.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t at = 0, stride = 1;
    for (size_t axis = shape.rank(); axis-- > 0; rest /= shape[axis]) {
      if (axes[axis]) continue;
      at += rest % shape[axis] * stride;
      stride *= shape[axis];
    }
    float& total = y[static_cast<size_t>(at)];
    total = row.of(total, x[i]);
  }
  if (row.name != "MEAN") return {};
  const auto count = static_cast<float>(reduced_elements(call, axes));
  for (float& total : y) total /= count;
  return {};
}

}  // namespace carina::tflite
