#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "frontend/tflite/kernels/float_activation_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/kernels/repeated_internal.h"

// Operators that compute each float of the result from one or two floats: a row each. GELU is not among them: LiteRT
// computes it by other approximations than the C library's.
namespace carina::tflite {

namespace {

float hard_swish(float x) {
  return x * std::min(6.0F, std::max(0.0F, x + 3.0F)) / 6.0F;
}
struct OfOne {
  std::string_view name;
  float (*of)(float x, const Options& options);
};
constexpr auto kOfOne = std::to_array<OfOne>({
    {"ABS", [](float x, const Options& /*o*/) { return std::abs(x); }},
    {"COS", [](float x, const Options& /*o*/) { return std::cos(x); }},
    {"ELU", [](float x, const Options& /*o*/) { return x < 0 ? std::expm1(x) : x; }},
    {"EXP", [](float x, const Options& /*o*/) { return std::exp(x); }},
    {"FLOOR", [](float x, const Options& /*o*/) { return std::floor(x); }},
    {"HARD_SWISH", [](float x, const Options& /*o*/) { return hard_swish(x); }},
    {"LEAKY_RELU", [](float x, const Options& o) { return x > 0 ? x : x * o.alpha; }},
    {"LOG", [](float x, const Options& /*o*/) { return std::log(x); }},
    {"NEG", [](float x, const Options& /*o*/) { return -x; }},
    {"RELU", [](float x, const Options& /*o*/) { return x < 0 ? 0.0F : x; }},
    {"RELU6", [](float x, const Options& /*o*/) { return std::clamp(x, 0.0F, 6.0F); }},
    {"RELU_0_TO_1", [](float x, const Options& /*o*/) { return std::clamp(x, 0.0F, 1.0F); }},
    {"RELU_N1_TO_1", [](float x, const Options& /*o*/) { return std::clamp(x, -1.0F, 1.0F); }},
    {"RSQRT", [](float x, const Options& /*o*/) { return 1.0F / std::sqrt(x); }},
    {"SIN", [](float x, const Options& /*o*/) { return std::sin(x); }},
    {"SQUARE", [](float x, const Options& /*o*/) { return x * x; }},
});

struct OfTwo {
  std::string_view name;
  float (*of)(float a, float b);
};
constexpr auto kOfTwo = std::to_array<OfTwo>({
    {"MAXIMUM", [](float a, float b) { return a > b ? a : b; }},
    {"MINIMUM", [](float a, float b) { return a < b ? a : b; }},
    {"POW", [](float a, float b) { return std::pow(a, b); }},
    {"PRELU", [](float a, float b) { return a >= 0 ? a : a * b; }},
    {"SQUARED_DIFFERENCE", [](float a, float b) { return (a - b) * (a - b); }},
    {"SUB", [](float a, float b) { return a - b; }},
});

}  // namespace

Result<void> check_function(const KernelCall& call, const std::string& where) {
  CARINA_CHECKED(call.need_type(where, 0, kFloats));
  CARINA_CHECKED(call.need_result(where, kFloats));
  if (call.in(0).shape.elements() == call.out().shape.elements()) return {};
  return call.reject(where, "input and result have different sizes", to_string(call.in(0).shape),
                     to_string(call.out().shape));
}

Result<void> run_function(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const OfOne& row = *std::ranges::find(kOfOne, call.op().name, &OfOne::name);
  std::ranges::transform(values_of<float>(bytes.read(call.op().inputs[0])),
                         values_of<float>(bytes.write(call.op().outputs[0])).begin(),
                         [&](float x) { return row.of(x, call.op().options); });
  return {};
}

Result<void> check_two_floats(const KernelCall& call, const std::string& where) {
  return check_two_operands(call, where, kFloats);
}

Result<void> run_two_floats(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  run_two_operands(call, bytes, std::ranges::find(kOfTwo, call.op().name, &OfTwo::name)->of);
  return {};
}

}  // namespace carina::tflite
