#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

// (input, scale, zero_point, quant_min, quant_max, dtype, out). In float, as ExecuTorch computes it: the reciprocal of
// the scale is rounded first, and half way goes to the even neighbour.
Error quantize_per_tensor(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const float inverse_scale = 1.0F / static_cast<float>(call.number(1));
  const auto zero_point = static_cast<float>(call.integer(2));
  const int64_t low = call.integer(3);
  const int64_t high = call.integer(4);
  const Tensor& out = call.out(6);
  call.require(in.elements() == out.elements() && low <= high);
  CARINA_RT_TRY(call.error());
  const NumberLoader load = number_loader(in.type);
  const IntegerStorer store = integer_storer(out.type);
  for (size_t i = 0; i < in.elements(); ++i) {
    const float scaled = std::nearbyint(inverse_scale * static_cast<float>(load(in.data, i)));
    const int64_t value = to_int64(static_cast<double>(zero_point + scaled));
    store(out.data, i, value < low ? low : value > high ? high : value);
  }
  return Error::kOk;
}

namespace {

Error dequantize(Arguments arguments, size_t out_index) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const auto scale = static_cast<float>(call.number(1));
  const int64_t zero_point = call.integer(2);
  const Tensor& out = call.out(out_index);
  call.require(in.elements() == out.elements());
  CARINA_RT_TRY(call.error());
  const IntegerLoader load = integer_loader(in.type);
  const NumberStorer store = number_storer(out.type);
  for (size_t i = 0; i < in.elements(); ++i) {
    const auto value = static_cast<float>(
        static_cast<int64_t>(static_cast<uint64_t>(load(in.data, i)) - static_cast<uint64_t>(zero_point)));
    store(out.data, i, static_cast<double>(value * scale));
  }
  return Error::kOk;
}

}  // namespace

// (input, scale, zero_point, quant_min, quant_max, dtype, out_dtype, out)
Error dequantize_per_tensor(Arguments arguments, Arena& /*scratch*/) {
  return dequantize(arguments, 7);
}

// cortex_m's: (input, scale, zero_point, quant_min, quant_max, dtype, out), always to float.
Error dequantize_to_float(Arguments arguments, Arena& /*scratch*/) {
  return dequantize(arguments, 6);
}

}  // namespace carina::runtime
