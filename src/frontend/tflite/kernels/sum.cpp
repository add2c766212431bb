#include <array>
#include <vector>

#include "frontend/tflite/kernels/float_sum_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/kernels/reduced_axes_internal.h"

// SUM of quantized integers (FloatSum), for those ratios of scales of which the NPU has no form.
namespace carina::tflite {

namespace {

constexpr std::array kSummed{DType::kInt8, DType::kUInt8, DType::kInt16};

}  // namespace

Result<void> check_sum(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kSummed));
  CARINA_CHECKED(call.need_type(where, 1, kAxes));
  CARINA_CHECKED(call.need_result(where, std::array{call.in(0).dtype}));
  for (const Tensor* tensor : {&call.in(0), &call.out()}) {
    if (tensor->quantization.scales.size() != 1 || !(KernelCall::scale(*tensor) > 0))
      return call.reject(where, "a tensor is not quantized with one scale", {}, tensor->name);
  }
  if (!call.in(1).is_constant) return call.reject(where, "the axes are not constant");
  const std::vector<bool> axes = reduced_axes(call);
  const int64_t count = axes.empty() ? 0 : reduced_elements(call, axes);
  constexpr int64_t kMaxCount = 1 << 15;  // sums of 16 bits stay below 2^31
  if (count < 1 || count > kMaxCount || call.in(0).shape.elements() != count * call.out().shape.elements())
    return call.reject(where, "the axes do not fit the result", {}, to_string(call.out().shape));
  return {};
}

namespace {

template <typename T>
void sum_as(const KernelCall& call, const TensorBytes& bytes) {
  const Shape& shape = call.in(0).shape;
  const std::vector<bool> axes = reduced_axes(call);
  const std::span<const T> from = values_of<T>(bytes.read(call.op().inputs[0]));
  const std::span<T> to = values_of<T>(bytes.write(call.op().outputs[0]));
  std::vector<int32_t> totals(to.size());
  for (size_t i = 0; i < from.size(); ++i) {
    size_t rest = i, place = 0, step = 1;  // from the innermost axis
    for (size_t axis = shape.rank(); axis-- > 0;) {
      const auto size = static_cast<size_t>(shape[axis]);
      if (!axes[axis]) {
        place += rest % size * step;
        step *= size;
      }
      rest /= size;
    }
    totals[place] += from[i];
  }
  const FloatSum sum =
      FloatSum::of(KernelCall::scale(call.in(0)) / KernelCall::scale(call.out()), KernelCall::zero_point(call.in(0)),
                   reduced_elements(call, axes), KernelCall::zero_point(call.out()), range_of(call.out().dtype));
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(sum(totals[i] - sum.zero_points));
}

}  // namespace

Result<void> run_sum(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  if (call.in(0).dtype == DType::kInt8) sum_as<int8_t>(call, bytes);
  if (call.in(0).dtype == DType::kUInt8) sum_as<uint8_t>(call, bytes);
  if (call.in(0).dtype == DType::kInt16) sum_as<int16_t>(call, bytes);
  return {};
}

}  // namespace carina::tflite
