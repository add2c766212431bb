#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "accelerate/step_internal.h"

// Steps for the integer operators of ExecuTorch's Cortex-M backend: the bits of the runtime's own kernels.
namespace carina::accelerate {

// Nothing when it does not do a call of this name, of these types, sizes and layouts.
std::unique_ptr<Step> make_int8_call(std::string_view name, Arguments arguments);
std::unique_ptr<Step> make_int8_add(Arguments arguments);
std::unique_ptr<Step> make_quantize(Arguments arguments);
std::unique_ptr<Step> make_dequantize(Arguments arguments, size_t out_at);

// The largest magnitude of a sum for requantize().
inline constexpr int64_t kMaxSum = (int64_t{1} << 30) - 1;

// A tensor of int8 whose sizes stay.
inline bool is_int8(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kChar && !value.tensor.resizable;
}

inline bool same_layout(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.dim_order(), b.dim_order());
}

}  // namespace carina::accelerate
