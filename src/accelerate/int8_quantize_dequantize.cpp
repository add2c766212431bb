// Conversions between floats and int8.
#include <algorithm>

#include "accelerate/int8_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::accelerate {

namespace {

constexpr int64_t kRun = 16 * 1024;  // elements per additional thread

bool is_float(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kFloat && !value.tensor.resizable;
}

// Returns whether both tensors have the same number of elements in the same memory order.
bool go_together(const EValue& in, const EValue& out) {
  return !out.tensor.read_only && same_layout(in.tensor, out.tensor) && !overlap(in.tensor, out.tensor);
}

class Quantize final : public Step {
 public:
  Quantize(const EValue* in, EValue* out, const kernels::QuantizeFloats& job) : in_(in), out_(out), job_(job) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    kernels::split(workers, static_cast<int64_t>(in_->tensor.elements()), kRun, [&](int64_t first, int64_t end) {
      kernels::QuantizeFloats job = job_;
      job.in = in_->tensor.as<const float>() + first;
      job.out = out_->tensor.as<int8_t>() + first;
      job.count = end - first;
      kernels::quantize_floats(job);
    });
    return Error::kOk;
  }

 private:
  const EValue* in_;
  EValue* out_;
  kernels::QuantizeFloats job_;
};

class Dequantize final : public Step {
 public:
  Dequantize(const EValue* in, EValue* out, int32_t zero_point, float scale)
      : in_(in), out_(out), zero_point_(zero_point), scale_(scale) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    kernels::split(workers, static_cast<int64_t>(in_->tensor.elements()), kRun, [&](int64_t first, int64_t end) {
      const auto* in = in_->tensor.as<const int8_t>() + first;
      auto* out = out_->tensor.as<float>() + first;
      for (int64_t i = 0; i < end - first; ++i) out[i] = static_cast<float>(in[i] - zero_point_) * scale_;
    });
    return Error::kOk;
  }

 private:
  const EValue* in_;
  EValue* out_;
  int32_t zero_point_;
  float scale_;
};

bool is_byte(int64_t value) {
  return value >= INT8_MIN && value <= INT8_MAX;
}

}  // namespace

// (input, scale, zero_point, quant_min, quant_max, dtype, out)
std::unique_ptr<Step> make_quantize(Arguments arguments) {
  if (arguments.size() < 7) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[6];
  const int64_t zero_point = arguments[2]->to_int(), low = arguments[3]->to_int(), high = arguments[4]->to_int();
  if (!is_float(in) || !is_int8(out) || !go_together(in, out) || !is_byte(zero_point) || !is_byte(low) ||
      !is_byte(high) || low > high)
    return nullptr;
  return std::make_unique<Quantize>(
      &in, &out,
      kernels::QuantizeFloats{.in = nullptr,
                              .out = nullptr,
                              .count = 0,
                              .inverse_scale = 1.0F / static_cast<float>(arguments[1]->to_double()),
                              .zero_point = static_cast<float>(zero_point),
                              .low = static_cast<float>(low),
                              .high = static_cast<float>(high)});
}

// (input, scale, zero_point, quant_min, quant_max, dtype, [out_dtype,] out)
std::unique_ptr<Step> make_dequantize(Arguments arguments, size_t out_at) {
  if (arguments.size() <= out_at) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[out_at];
  const int64_t zero_point = arguments[2]->to_int();
  if (!is_int8(in) || !is_float(out) || !go_together(in, out) || !is_byte(zero_point)) return nullptr;
  return std::make_unique<Dequantize>(&in, &out, static_cast<int32_t>(zero_point),
                                      static_cast<float>(arguments[1]->to_double()));
}

}  // namespace carina::accelerate
