#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "frontend/tflite/kernels/fixed_point_16_internal.h"
#include "frontend/tflite/kernels/fixed_point_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/kernels/lstm_internal.h"

// UNIDIRECTIONAL_SEQUENCE_LSTM of int8 with an int16 cell state, step by step:
//   gate   = f(W x + b + R h)                 f: logistic, or tanh for the cell's gate; int16 in Q3.12
//   c      = forget * c + input * candidate   each product rounded to the cell's scale, which is a power of two
//   h      = output * tanh(c)                 int8
// W x + b and R h are rounded to int16 each by itself. Without weights of the input gate (CIFG), it is 1 - forget.
namespace carina::tflite {

namespace {

// The exponent of a power of two.
std::optional<int> exact_log2(float value) {
  int exponent = 0;
  if (std::frexp(value, &exponent) != 0.5F) return std::nullopt;
  return exponent - 1;
}

constexpr double kUnitsOfGate = 4096;  // Q3.12

struct Sizes {
  int64_t batches = 1;
  int64_t steps = 1;
  int64_t inputs = 0;
  int64_t cells = 0;
};

Sizes sizes_of(const KernelCall& call) {
  const Shape& x = call.in(0).shape;
  const bool is_sequence = x.rank() == 3;
  const bool time_first = call.op().options.time_major;
  return {.batches = is_sequence ? x[time_first ? 1 : 0] : x[0],
          .steps = is_sequence ? x[time_first ? 0 : 1] : 1,
          .inputs = x[x.rank() - 1],
          .cells = call.in(kCellState).shape[1]};
}

// A matrix with its multiplier and what it reads.
struct Product {
  std::span<const int8_t> weights;
  std::span<const int32_t> bias = {};  // may be empty
  int32_t zero_point = 0;
  Multiplier multiplier;

  // Adds the product to the sums, which saturate.
  void add_to(std::span<int16_t> sums, std::span<const int8_t> x) const {
    for (size_t row = 0; row < sums.size(); ++row) {
      int64_t total = bias.empty() ? 0 : bias[row];
      for (size_t i = 0; i < x.size(); ++i) total += weights[row * x.size() + i] * (x[i] - zero_point);
      sums[row] = saturated_sum(sums[row], multiply(static_cast<int32_t>(total), multiplier));
    }
  }

  static int16_t saturated_sum(int32_t a, int32_t b) {
    return static_cast<int16_t>(
        std::clamp<int64_t>(int64_t{a} + b, std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()));
  }
};

class Lstm {
 public:
  Lstm(const KernelCall& call, const TensorBytes& bytes)
      : call_(call),
        bytes_(bytes),
        sizes_(sizes_of(call)),
        cell_log2_(*exact_log2(KernelCall::scale(call.in(kCellState)))) {
    for (size_t gate = 0; gate < kGates; ++gate) {
      if (!call.has(kInputWeights + gate)) continue;
      of_input_[gate] = product(call.in(0), kInputWeights + gate);
      of_input_[gate].bias = values_of<int32_t>(read(kGateBiases + gate));
      of_state_[gate] = product(call.in(kOutputState), kRecurrentWeights + gate);
    }
    const Tensor& known = hidden_of(call);
    // In float, as LiteRT computes it.
    hidden_ = multiplier_of(static_cast<float>(std::ldexp(1.0, -15) / KernelCall::scale(known) * std::ldexp(1.0, -15)));
    hidden_zero_point_ = static_cast<int32_t>(KernelCall::zero_point(known));
    for (auto& gate : gates_) gate.resize(static_cast<size_t>(sizes_.cells));
  }

  void run() {
    const std::span<const int8_t> x = values_of<int8_t>(read(0));
    const std::span<int8_t> y = values_of<int8_t>(bytes_.write(call_.op().outputs[0]));
    const std::span<int8_t> h = values_of<int8_t>(bytes_.write(call_.op().inputs[kOutputState]));
    const std::span<int16_t> c = values_of<int16_t>(bytes_.write(call_.op().inputs[kCellState]));
    const auto cells = static_cast<size_t>(sizes_.cells), inputs = static_cast<size_t>(sizes_.inputs);
    for (size_t b = 0; b < static_cast<size_t>(sizes_.batches); ++b) {
      for (size_t t = 0; t < static_cast<size_t>(sizes_.steps); ++t) {
        const size_t at = call_.op().options.time_major ? t * static_cast<size_t>(sizes_.batches) + b
                                                        : b * static_cast<size_t>(sizes_.steps) + t;
        step(x.subspan(at * inputs, inputs), h.subspan(b * cells, cells), c.subspan(b * cells, cells));
        std::ranges::copy(h.subspan(b * cells, cells), y.subspan(at * cells).begin());
      }
    }
  }

 private:
  std::span<const std::byte> read(size_t input) const { return bytes_.read(call_.op().inputs[input]); }

  // LiteRT computes the scale in float.
  Product product(const Tensor& operand, size_t weights) const {
    constexpr float kGateScale = 1.0F / 4096;
    return {
        .weights = values_of<int8_t>(read(weights)),
        .zero_point = static_cast<int32_t>(KernelCall::zero_point(operand)),
        .multiplier = multiplier_of(KernelCall::scale(call_.in(weights)) * KernelCall::scale(operand) / kGateScale)};
  }

  void fill_gate(size_t gate, std::span<const int8_t> x, std::span<const int8_t> h) {
    std::vector<int16_t>& sums = gates_[gate];
    std::ranges::fill(sums, int16_t{0});
    of_input_[gate].add_to(sums, x);
    of_state_[gate].add_to(sums, h);
    for (int16_t& value : sums) value = gate == kCellGate ? tanh_16(value, 3) : logistic_16(value);
  }

  void step(std::span<const int8_t> x, std::span<int8_t> h, std::span<int16_t> c) {
    const bool has_input_gate = call_.has(kInputWeights);
    for (size_t gate = has_input_gate ? kInputGate : kForgetGate; gate < kGates; ++gate) fill_gate(gate, x, h);
    for (size_t i = 0; i < c.size(); ++i) {
      const int16_t forget = gates_[kForgetGate][i];
      const int32_t input = has_input_gate ? gates_[kInputGate][i] : std::numeric_limits<int16_t>::max() - forget;
      const auto kept = static_cast<int16_t>(rounding_divide(int32_t{forget} * c[i], 15));
      const auto added = static_cast<int16_t>(rounding_divide(input * gates_[kCellGate][i], 30 + cell_log2_));
      c[i] = Product::saturated_sum(kept, added);
      if (cell_clip_ > 0) c[i] = std::clamp<int16_t>(c[i], static_cast<int16_t>(-cell_clip_), cell_clip_);
      const int32_t hidden = int32_t{gates_[kOutputGate][i]} * tanh_16(c[i], 15 + cell_log2_);
      h[i] = static_cast<int8_t>(std::clamp(multiply(hidden, hidden_) + hidden_zero_point_, -128, 127));
    }
  }

  const KernelCall& call_;
  const TensorBytes& bytes_;
  Sizes sizes_;
  int cell_log2_;
  int16_t cell_clip_ = clip_of(call_);
  std::array<Product, kGates> of_input_;
  std::array<Product, kGates> of_state_;
  std::array<std::vector<int16_t>, kGates> gates_;
  Multiplier hidden_;
  int32_t hidden_zero_point_ = 0;

  static int16_t clip_of(const KernelCall& call) {
    const float clip = call.op().options.cell_clip;
    if (!(clip > 0)) return 0;
    return static_cast<int16_t>(std::min(clip / KernelCall::scale(call.in(kCellState)), 32767.0F));
  }
};

Result<void> check_gates(const KernelCall& call, const std::string& where, const Sizes& sizes) {
  for (size_t gate = 0; gate < kGates; ++gate) {
    if (gate == kInputGate && !call.has(kInputWeights)) continue;
    for (const size_t i : {kInputWeights + gate, kRecurrentWeights + gate, kGateBiases + gate}) {
      if (!call.has(i)) return call.reject(where, fmt::format("operand {} is missing", i));
      if (!call.in(i).is_constant) return call.reject(where, "the weights are not constant", {}, call.in(i).name);
    }
    CARINA_CHECKED(call.need(where, call.in(kInputWeights + gate), DType::kInt8, Shape{sizes.cells, sizes.inputs}));
    CARINA_CHECKED(call.need(where, call.in(kRecurrentWeights + gate), DType::kInt8, Shape{sizes.cells, sizes.cells}));
    CARINA_CHECKED(call.need(where, call.in(kGateBiases + gate), DType::kInt32, Shape{sizes.cells}));
    CARINA_CHECKED(call.need_ratio(
        where, kUnitsOfGate * KernelCall::scale(call.in(0)) * KernelCall::scale(call.in(kInputWeights + gate))));
    CARINA_CHECKED(call.need_ratio(where, kUnitsOfGate * KernelCall::scale(call.in(kOutputState)) *
                                              KernelCall::scale(call.in(kRecurrentWeights + gate))));
  }
  return {};
}

}  // namespace

const Tensor& hidden_of(const KernelCall& call) {
  constexpr size_t kHidden = 4;
  if (call.op().intermediates.size() <= kHidden) return call.out();
  const Tensor& hidden = call.intermediate(kHidden);
  const bool is_quantized = hidden.quantization.scales.size() == 1 && KernelCall::scale(hidden) > 0 &&
                            std::abs(KernelCall::zero_point(hidden)) <= 128;
  return is_quantized ? hidden : call.out();
}

Result<void> check_lstm(const KernelCall& call, const std::string& where) {
  for (const size_t i : {size_t{0}, kOutputState, kCellState}) {
    if (!call.has(i)) return call.reject(where, fmt::format("operand {} is missing", i));
  }
  for (size_t i = kPeephole; i < kLstmOperands; ++i) {
    const bool is_extra = i < kGateBiases || i == kProjection || i == kProjection + 1 || i >= kLayerNorm;
    if (is_extra && call.has(i))
      return call.reject(where, "peephole connections, projections and layer norm are not supported");
  }
  const Tensor& x = call.in(0);
  if ((x.shape.rank() != 2 && x.shape.rank() != 3) || call.in(kCellState).shape.rank() != 2)
    return call.reject(where, "a tensor has another rank", "2 or 3", to_string(x.shape));
  const Sizes sizes = sizes_of(call);
  CARINA_CHECKED(call.need(where, x, DType::kInt8, x.shape));
  CARINA_CHECKED(call.need(where, call.in(kCellState), DType::kInt16, Shape{sizes.batches, sizes.cells}));
  CARINA_CHECKED(call.need(where, call.in(kOutputState), DType::kInt8, Shape{sizes.batches, sizes.cells}));
  Shape result = x.shape;
  result[result.rank() - 1] = sizes.cells;
  CARINA_CHECKED(call.need(where, call.out(), DType::kInt8, result));
  if (!call.in(kCellState).is_variable || !call.in(kOutputState).is_variable)
    return call.reject(where, "a state that is not a variable tensor");
  for (const Tensor* tensor : {&call.in(kCellState), &call.in(kOutputState), &call.out()})
    CARINA_CHECKED(call.need_memory(where, *tensor));
  CARINA_CHECKED(call.need_ratio(where, std::ldexp(1.0, -30) / KernelCall::scale(hidden_of(call))));
  if (call.op().options.activation != Activation::kTanh) return call.reject(where, "another activation than TANH");
  const auto log2 = exact_log2(KernelCall::scale(call.in(kCellState)));
  if (!log2 || *log2 < -15 || *log2 > -9)
    return call.reject(where, "the scale of the cell state is not supported", "a power of two, 2^-15 to 2^-9",
                       fmt::format("{}", KernelCall::scale(call.in(kCellState))));
  return check_gates(call, where, sizes);
}

Result<void> run_lstm(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  Lstm(call, bytes).run();
  return {};
}

}  // namespace carina::tflite
