#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "frontend/tflite/kernels/float_activation_internal.h"
#include "frontend/tflite/kernels/hybrid_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/kernels/repeated_internal.h"

// Kernels of floats: ADD, CAST, QUANTIZE, DEQUANTIZE, DIV, LOGISTIC, MUL, SQRT, TANH, FULLY_CONNECTED (also hybrid:
// with int8 weights) and SOFTMAX; and FLOOR_DIV of int32. Sums are in the order of the operands and in float, as in
// LiteRT's reference kernels, so that their bits are the same.
namespace carina::tflite {

namespace {

constexpr std::array kQuantized{DType::kInt8, DType::kUInt8, DType::kInt16};
constexpr std::array kCastable{DType::kInt8,  DType::kUInt8, DType::kInt16, DType::kInt32,
                               DType::kInt64, DType::kBool,  DType::kFp32};
constexpr std::array kInt32s{DType::kInt32};

Result<void> check_unary_kernel(const KernelCall& call, const std::string& where, std::span<const DType> in,
                                std::span<const DType> out) {
  CARINA_CHECKED(call.need_type(where, 0, in));
  CARINA_CHECKED(call.need_result(where, out));
  if (call.in(0).shape.elements() == call.out().shape.elements()) return {};
  return call.reject(where, "input and result have different sizes", to_string(call.in(0).shape),
                     to_string(call.out().shape));
}

Result<void> need_scale(const KernelCall& call, const std::string& where, const Tensor& tensor) {
  if (tensor.quantization.scales.size() == 1 && KernelCall::scale(tensor) > 0) return {};
  return call.reject(where, "a tensor is not quantized with one scale", {}, tensor.name);
}

}  // namespace

Result<void> check_cast(const KernelCall& call, const std::string& where) {
  return check_unary_kernel(call, where, kCastable, kCastable);
}

Result<void> run_cast(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  with_type(call.in(0).dtype, [&](auto from_type) {
    with_type(call.out().dtype, [&](auto to_type) {
      using From = decltype(from_type);
      using To = decltype(to_type);
      const auto from = values_of<From>(bytes.read(call.op().inputs[0]));
      const bool to_bool = call.out().dtype == DType::kBool;
      std::ranges::transform(from, values_of<To>(bytes.write(call.op().outputs[0])).begin(), [&](From x) {
        if (to_bool) return static_cast<To>(x != From{0});
        if constexpr (std::is_same_v<From, float> && !std::is_same_v<To, float>) {
          // Beyond the type's range C++ defines nothing.
          using Limits = std::numeric_limits<To>;
          if (std::isnan(x)) return To{0};
          if (x >= static_cast<float>(Limits::max())) return Limits::max();
          if (x <= static_cast<float>(Limits::min())) return Limits::min();
        }
        return static_cast<To>(x);
      });
    });
  });
  return {};
}

Result<void> check_quantize(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_unary_kernel(call, where, kFloats, kQuantized));
  return need_scale(call, where, call.out());
}

Result<void> run_quantize(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const float scale = KernelCall::scale(call.out());
  const auto zero = static_cast<double>(KernelCall::zero_point(call.out()));
  const auto from = values_of<float>(bytes.read(call.op().inputs[0]));
  with_type(call.out().dtype, [&](auto type) {
    using To = decltype(type);
    using Limits = std::numeric_limits<To>;
    std::ranges::transform(from, values_of<To>(bytes.write(call.op().outputs[0])).begin(), [&](float x) {
      const float steps = std::round(x / scale);
      const double whole = std::isnan(steps) ? 0 : static_cast<double>(steps) + zero;
      return static_cast<To>(std::clamp(whole, static_cast<double>(Limits::min()), static_cast<double>(Limits::max())));
    });
  });
  return {};
}

Result<void> check_dequantize(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_unary_kernel(call, where, kQuantized, kFloats));
  return need_scale(call, where, call.in(0));
}

Result<void> run_dequantize(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const float scale = KernelCall::scale(call.in(0));
  const int64_t zero = KernelCall::zero_point(call.in(0));
  const std::span<float> to = values_of<float>(bytes.write(call.op().outputs[0]));
  with_type(call.in(0).dtype, [&](auto type) {
    const auto from = values_of<decltype(type)>(bytes.read(call.op().inputs[0]));
    std::ranges::transform(from, to.begin(),
                           [&](auto x) { return scale * static_cast<float>(static_cast<int64_t>(x) - zero); });
  });
  return {};
}

Result<void> check_square_root(const KernelCall& call, const std::string& where) {
  return check_unary_kernel(call, where, kFloats, kFloats);
}

Result<void> run_square_root(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  std::ranges::transform(values_of<float>(bytes.read(call.op().inputs[0])),
                         values_of<float>(bytes.write(call.op().outputs[0])).begin(),
                         [](float x) { return std::sqrt(x); });
  return {};
}

Result<void> check_two_operands(const KernelCall& call, const std::string& where, std::span<const DType> type) {
  for (const size_t i : {size_t{0}, size_t{1}}) CARINA_CHECKED(call.need_type(where, i, type));
  CARINA_CHECKED(call.need_result(where, type));
  CARINA_CHECKED(need_float_activation(call, where));
  const Shape& out = call.out().shape;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const Shape& in = call.in(i).shape;
    bool fits = in.rank() <= out.rank();
    for (size_t k = 1; fits && k <= in.rank(); ++k)
      fits = in[in.rank() - k] == 1 || in[in.rank() - k] == out[out.rank() - k];
    if (!fits) return call.reject(where, "the operands' shapes do not fit", to_string(out), to_string(in));
  }
  return {};
}

namespace {

template <typename Function>
void run_one_operand(const KernelCall& call, const TensorBytes& bytes, const Function& function) {
  std::ranges::transform(values_of<float>(bytes.read(call.op().inputs[0])),
                         values_of<float>(bytes.write(call.op().outputs[0])).begin(), function);
}

}  // namespace

Result<void> check_addition(const KernelCall& call, const std::string& where) {
  return check_two_operands(call, where, kFloats);
}

Result<void> run_addition(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  run_two_operands(call, bytes, [](float a, float b) { return a + b; });
  return {};
}

Result<void> check_product(const KernelCall& call, const std::string& where) {
  return check_two_operands(call, where, kFloats);
}

Result<void> run_product(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  run_two_operands(call, bytes, [](float a, float b) { return a * b; });
  return {};
}

Result<void> check_logistic(const KernelCall& call, const std::string& where) {
  return check_unary_kernel(call, where, kFloats, kFloats);
}

// Far from zero the reference kernel leaves the formula out.
Result<void> run_logistic(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  constexpr float kUpper = 16.619047164916992188F, kLower = -9.0F;
  run_one_operand(call, bytes, [](float x) {
    if (x > kUpper) return 1.0F;
    return x < kLower ? std::exp(x) : 1.0F / (1.0F + std::exp(-x));
  });
  return {};
}

Result<void> check_tangent(const KernelCall& call, const std::string& where) {
  return check_unary_kernel(call, where, kFloats, kFloats);
}

Result<void> run_tangent(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  run_one_operand(call, bytes, [](float x) { return std::tanh(x); });
  return {};
}

// DIV of floats; FLOOR_DIV of floats or int32.
Result<void> check_division(const KernelCall& call, const std::string& where) {
  const bool is_float = call.has(0) && call.in(0).dtype == DType::kFp32;
  return check_two_operands(call, where, is_float ? std::span<const DType>(kFloats) : std::span<const DType>(kInt32s));
}

Result<void> run_division(const KernelCall& call, const TensorBytes& bytes, const std::string& where) {
  const Repeated first(call.in(0).shape, call.out().shape), second(call.in(1).shape, call.out().shape);
  const std::span a = bytes.read(call.op().inputs[0]), b = bytes.read(call.op().inputs[1]);
  const std::span out = bytes.write(call.op().outputs[0]);
  if (call.out().dtype == DType::kFp32) {
    const auto x = values_of<float>(a), y = values_of<float>(b);
    const std::span<float> to = values_of<float>(out);
    const bool is_floor = call.op().name == "FLOOR_DIV";
    for (size_t i = 0; i < to.size(); ++i) {
      const float quotient = x[first(i)] / y[second(i)];
      to[i] = is_floor ? std::floor(quotient) : activated(call.op().options.activation, quotient);
    }
    return {};
  }
  const auto x = values_of<int32_t>(a), y = values_of<int32_t>(b);
  const std::span<int32_t> to = values_of<int32_t>(out);
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t dividend = x[first(i)], divisor = y[second(i)];
    if (divisor == 0) return call.reject(where, "a division by zero");
    to[i] = static_cast<int32_t>(dividend / divisor - (dividend % divisor != 0 && (dividend < 0) != (divisor < 0)));
  }
  return {};
}

Result<void> check_fully_connected(const KernelCall& call, const std::string& where) {
  constexpr std::array kWeights{DType::kFp32, DType::kInt8};
  CARINA_CHECKED(call.need_type(where, 0, kFloats));
  CARINA_CHECKED(call.need_type(where, 1, kWeights));
  if (call.has(2)) CARINA_CHECKED(call.need_type(where, 2, kFloats));
  CARINA_CHECKED(call.need_result(where, kFloats));
  CARINA_CHECKED(need_float_activation(call, where));
  const Shape& weights = call.in(1).shape;
  if (call.in(1).dtype == DType::kInt8) {
    CARINA_CHECKED(need_scale(call, where, call.in(1)));
    const bool is_symmetric = KernelCall::zero_point(call.in(1)) == 0 && !call.op().options.asymmetric_inputs;
    if (!is_symmetric) return call.reject(where, "int8 weights beside floats with a zero point, of weights or input");
  }
  if (weights.rank() != 2 || weights[0] < 1 || weights[1] < 1 || call.op().options.weights_format != 0)
    return call.reject(where, "the weights are not a matrix", {}, to_string(weights));
  const int64_t elements = call.in(0).shape.elements();
  if (elements % weights[1] != 0 || call.out().shape.elements() != elements / weights[1] * weights[0] ||
      (call.has(2) && call.in(2).shape.elements() != weights[0]))
    return call.reject(where, "the shapes do not fit", to_string(weights), to_string(call.in(0).shape));
  return {};
}

namespace {

// Each row of the input is quantized by itself.
void multiply_hybrid(const KernelCall& call, const TensorBytes& bytes) {
  const auto depth = static_cast<size_t>(call.in(1).shape[1]), channels = static_cast<size_t>(call.in(1).shape[0]);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const auto weights = values_of<int8_t>(bytes.read(call.op().inputs[1]));
  const auto bias = call.has(2) ? values_of<float>(bytes.read(call.op().inputs[2])) : std::span<const float>();
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  for (size_t row = 0; row * channels < y.size(); ++row) {
    const QuantizedInput q = symmetric(x.subspan(row * depth, depth));
    const float scale = q.scale * KernelCall::scale(call.in(1));
    for (size_t channel = 0; channel < channels; ++channel) {
      int32_t total = 0;
      for (size_t d = 0; d < depth; ++d) total += q.values[d] * weights[channel * depth + d];
      const float start = bias.empty() ? 0.0F : bias[channel];
      y[row * channels + channel] = activated(call.op().options.activation, start + static_cast<float>(total) * scale);
    }
  }
}

}  // namespace

Result<void> run_fully_connected(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  if (call.in(1).dtype == DType::kInt8) {
    multiply_hybrid(call, bytes);
    return {};
  }
  const auto depth = static_cast<size_t>(call.in(1).shape[1]), channels = static_cast<size_t>(call.in(1).shape[0]);
  const auto x = values_of<float>(bytes.read(call.op().inputs[0])),
             weights = values_of<float>(bytes.read(call.op().inputs[1]));
  const auto bias = call.has(2) ? values_of<float>(bytes.read(call.op().inputs[2])) : std::span<const float>();
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / channels, channel = i % channels;
    float total = 0;
    for (size_t d = 0; d < depth; ++d) total += x[row * depth + d] * weights[channel * depth + d];
    y[i] = activated(call.op().options.activation, total + (bias.empty() ? 0.0F : bias[channel]));
  }
  return {};
}

Result<void> check_softmax(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(check_unary_kernel(call, where, kFloats, kFloats));
  const Shape& shape = call.in(0).shape;
  return shape.rank() > 0 && shape[shape.rank() - 1] > 0 ? Result<void>() : call.reject(where, "a scalar");
}

Result<void> run_softmax(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const auto depth = static_cast<size_t>(call.in(0).shape[call.in(0).shape.rank() - 1]);
  const float beta = call.op().options.beta;
  const auto x = values_of<float>(bytes.read(call.op().inputs[0]));
  const std::span<float> y = values_of<float>(bytes.write(call.op().outputs[0]));
  for (size_t row = 0; row < x.size(); row += depth) {
    const float largest = std::ranges::max(x.subspan(row, depth));
    float sum = 0;
    for (size_t i = row; i < row + depth; ++i) sum += y[i] = std::exp((x[i] - largest) * beta);
    for (size_t i = row; i < row + depth; ++i) y[i] /= sum;
  }
  return {};
}

}  // namespace carina::tflite
