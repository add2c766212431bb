#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/int8_dot_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

// Rows of int8 of a matrix product.
struct Operand {
  const int8_t* data;
  int64_t offset;  // added to each element
};

int64_t products(const Operand& a, const Operand& b, int64_t count) {
  if (b.offset == 0 && sums_fit(count, a.offset))
    return dot(a.data, b.data, static_cast<int32_t>(count), static_cast<int32_t>(a.offset));
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (a.data[i] + a.offset) * (b.data[i] + b.offset);
  return sum;
}

bool is_int8(const Tensor& tensor) {
  return tensor.type == PteScalarType::kChar && tensor.contiguous();
}

// Returns whether there is one int32 for each of `count` channels, or no tensor.
bool fits(const Tensor* sums, int64_t count) {
  return sums == nullptr ||
         (sums->type == PteScalarType::kInt && static_cast<int64_t>(sums->elements()) == count && sums->contiguous());
}

}  // namespace

// (input [..., K], weights [N, K], bias or None, kernel_sum or None, input_offset, filter_offset, output_offset,
// multipliers, shifts, activation_max, activation_min, out). If kernel_sum is given, it contains the bias and the
// products of the weights and the input's offset, so only the filter's offset is applied.
Error cortex_m_linear(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& weights = call.tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const Tensor* kernel_sum = call.optional_tensor(3);
  const int64_t filter_offset = call.integer(5), output_offset = call.integer(6);
  const int64_t input_offset = kernel_sum != nullptr ? 0 : call.integer(4);
  const auto multipliers = call.integers(7), shifts = call.integers(8);
  const int64_t high = call.integer(9), low = call.integer(10);
  const Tensor& out = call.out(11);
  call.support(is_int8(in) && is_int8(weights) && is_int8(out));
  call.require(in.rank() >= 1 && weights.rank() == 2 && !multipliers.empty() && !shifts.empty() && low <= high);
  CARINA_RT_TRY(call.error());
  const int64_t inner = weights.sizes()[1], channels = weights.sizes()[0];
  const Tensor* start = kernel_sum != nullptr ? kernel_sum : bias;
  const Requantization scale{.multiplier = multipliers[0], .shift = shifts[0]};
  call.require(in.sizes()[in.rank() - 1] == inner && fits(start, channels) && scale.is_sane());
  const int64_t rows = inner == 0 ? 0 : static_cast<int64_t>(in.elements()) / inner;
  call.require(static_cast<int64_t>(out.elements()) == rows * channels);
  CARINA_RT_TRY(call.error());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t n = 0; n < channels; ++n) {
      const Operand a{.data = in.as<const int8_t>() + row * inner, .offset = input_offset};
      const Operand b{.data = weights.as<const int8_t>() + n * inner, .offset = filter_offset};
      const int64_t sum = products(a, b, inner) + (start == nullptr ? 0 : start->as<const int32_t>()[n]);
      out.as<int8_t>()[row * channels + n] =
          static_cast<int8_t>(std::clamp<int64_t>(scale(sum) + output_offset, low, high));
    }
  }
  return Error::kOk;
}

// (lhs [B, M, K], offset, rhs transposed [B, N, K], offset, output zero_point, multiplier, shift, scratch, out)
Error cortex_m_batch_matmul(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& lhs = call.tensor(0);
  const Tensor& rhs = call.tensor(2);
  const int64_t lhs_offset = call.integer(1), rhs_offset = call.integer(3), zero = call.integer(4);
  const Requantization scale = requantization(call, 5);
  const Tensor& out = call.out(8);
  call.support(is_int8(lhs) && is_int8(rhs) && is_int8(out));
  call.require(lhs.rank() == 3 && rhs.rank() == 3 && out.rank() == 3);
  CARINA_RT_TRY(call.error());
  const int64_t batches = lhs.sizes()[0], rows = lhs.sizes()[1], inner = lhs.sizes()[2], columns = rhs.sizes()[1];
  call.require(rhs.sizes()[0] == batches && rhs.sizes()[2] == inner && out.sizes()[0] == batches &&
               out.sizes()[1] == rows && out.sizes()[2] == columns);
  CARINA_RT_TRY(call.error());
  int8_t* to = out.as<int8_t>();
  for (int64_t row = 0; row < batches * rows; ++row) {
    for (int64_t n = 0; n < columns; ++n) {
      const Operand a{.data = lhs.as<const int8_t>() + row * inner, .offset = lhs_offset};
      const Operand b{.data = rhs.as<const int8_t>() + (row / rows * columns + n) * inner, .offset = rhs_offset};
      *to++ = static_cast<int8_t>(std::clamp<int64_t>(scale(products(a, b, inner)) + zero, INT8_MIN, INT8_MAX));
    }
  }
  return Error::kOk;
}

}  // namespace carina::runtime
