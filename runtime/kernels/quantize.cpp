#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/quantize_internal.h"

namespace carina::runtime {

// (input, scale, zero_point, quant_min, quant_max, dtype, out)
Error quantize_per_tensor(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const float inverse_scale = 1.0F / static_cast<float>(call.number(1));
  const int64_t zero_point = call.integer(2);
  const int64_t low = call.integer(3);
  const int64_t high = call.integer(4);
  const Tensor& out = call.out(6);
  if (out.resizable) call.fit_like(out, in);
  call.require(in.elements() == out.elements() && low <= high);
  CARINA_RT_TRY(call.error());
  quantize_row(in, 0, out, 0, in.elements(),
               {.scale = inverse_scale, .zero_point = zero_point, .low = low, .high = high});
  return Error::kOk;
}

namespace {

Error dequantize(Arguments arguments, size_t out_index) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const auto scale = static_cast<float>(call.number(1));
  const int64_t zero_point = call.integer(2);
  const Tensor& out = call.out(out_index);
  if (out.resizable) call.fit_like(out, in);
  call.require(in.elements() == out.elements());
  CARINA_RT_TRY(call.error());
  dequantize_row(in, 0, out, 0, in.elements(), {.scale = scale, .zero_point = zero_point});
  return Error::kOk;
}

}  // namespace

// (input, scale, zero_point, quant_min, quant_max, dtype, out_dtype, out)
Error dequantize_per_tensor(Arguments arguments, Arena& /*scratch*/) {
  return dequantize(arguments, 7);
}

// The cortex_m variant: (input, scale, zero_point, quant_min, quant_max, dtype, out), whose output is always float
Error dequantize_to_float(Arguments arguments, Arena& /*scratch*/) {
  return dequantize(arguments, 6);
}

}  // namespace carina::runtime
