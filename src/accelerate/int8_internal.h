#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "accelerate/step_internal.h"

// Steps for the integer operators of ExecuTorch's Cortex-M backend. They give the same bits as the runtime's kernels.
namespace carina::accelerate {

// Returns nullptr if the name, the types, the sizes or the layouts of the call are not supported.
std::unique_ptr<Step> make_int8_call(std::string_view name, Arguments arguments, int threads);
std::unique_ptr<Step> make_int8_add(Arguments arguments);
std::unique_ptr<Step> make_quantize(Arguments arguments);
std::unique_ptr<Step> make_dequantize(Arguments arguments, size_t out_at);

// The largest magnitude of a sum that requantize() accepts.
inline constexpr int64_t kMaxSum = (int64_t{1} << 30) - 1;

// Returns whether the value is an int8 tensor of fixed size.
inline bool is_int8(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kChar && !value.tensor.resizable;
}

}  // namespace carina::accelerate
