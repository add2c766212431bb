// One operator of a .tflite file that becomes TOSA nodes.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "frontend/tflite/kernels/fixed_point_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"
#include "frontend/tflite/model.h"
#include "ir/emitter.h"

namespace carina::tflite {

constexpr int64_t kDoubleRound = 3;  // of RESCALE

inline constexpr std::array kOf8{DType::kInt8, DType::kUInt8};
inline constexpr std::array kOf8Or16{DType::kInt8, DType::kUInt8, DType::kInt16};

template <typename Range, typename T>
bool is_among(const Range& range, const T& value) {
  return std::ranges::find(range, value) != std::ranges::end(range);
}

// RESCALE's operands: one multiplier, or one per index of the last axis.
struct Scaling {
  std::vector<Multiplier> multipliers;
  int64_t input_zp = 0;
  int64_t output_zp = 0;
  DType to = DType::kInt8;
  int64_t rounding = kDoubleRound;
};

// The graph under construction. uint8 tensors are int8 in it: 128 less, and so is their zero point. An element of an
// int64 tensor is two of int32, the low word first, so that the bytes are those of the file's tensor.
struct Builder {
  const Subgraph& from;
  std::string where;
  ir::Graph graph = {};
  ir::Emitter emitter{graph};
  std::vector<ir::ValueId> values = {};  // by tensor; invalid: not made yet
};

// The operands, results and options of one operator, and what it is built of.
class Call {
 public:
  Call(Builder& builder, const Operator& op) : builder_(builder), op_(op), out(builder.emitter) {}

  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] const Options& options() const { return op_.options; }
  [[nodiscard]] Rounding rounding() const { return builder_.from.rounding; }

  [[nodiscard]] size_t inputs() const { return op_.inputs.size(); }
  [[nodiscard]] size_t results() const { return op_.outputs.size(); }
  [[nodiscard]] bool has(size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != kAbsent; }
  // The tensor of an operand or result. It must exist.
  [[nodiscard]] const Tensor& in(size_t i) const { return builder_.from.tensors[static_cast<size_t>(op_.inputs[i])]; }
  [[nodiscard]] const Tensor& result(size_t i = 0) const {
    return builder_.from.tensors[static_cast<size_t>(op_.outputs[i])];
  }
  // Whether the elements of a tensor are pairs of int32 in the graph: those of an int64 tensor that is computed.
  [[nodiscard]] static bool is_pair(const Tensor& tensor) {
    return tensor.dtype == DType::kInt64 && !tensor.is_constant;
  }
  // The type of a tensor in the graph: int8 of a uint8.
  [[nodiscard]] static DType type_of(const Tensor& tensor);
  // The shape of a tensor in the graph, with a last axis of 2 for pairs.
  [[nodiscard]] static Shape graph_shape(const Tensor& tensor);
  // The constant of the graph: the file's data; uint8 data 128 less.
  [[nodiscard]] static carina::Tensor graph_constant(const Tensor& tensor);
  // The scale and the zero point of a tensor that is quantized as a whole; the zero point is that of the graph.
  [[nodiscard]] static float scale(const Tensor& tensor) { return tensor.quantization.scales.front(); }
  [[nodiscard]] static int64_t zero_point(const Tensor& tensor) {
    return tensor.quantization.zero_points.front() - (tensor.dtype == DType::kUInt8 ? 128 : 0);
  }
  // The value of an operand; a constant becomes one of the graph.
  ir::ValueId value(size_t i);
  // The integers of a constant operand. Error: it is not one.
  Result<std::vector<int64_t>> constant(size_t i, std::string_view what) const;

  // Gives a variable tensor another value.
  void set_variable(size_t i, ir::ValueId value) { builder_.values[static_cast<size_t>(op_.inputs[i])] = value; }
  [[nodiscard]] const std::string& where() const { return builder_.where; }
  [[nodiscard]] KernelCall kernel_call() const { return {builder_.from, op_}; }

  // Sets a result. Its type and shape must be those of the tensor.
  Result<void> set(size_t i, ir::ValueId value);
  Result<void> set(ir::ValueId value) { return set(0, value); }

  // Fails with the operator and the name of its tensor.
  [[nodiscard]] std::unexpected<Diagnostics> reject(std::string what, std::string expected = {}, std::string got = {},
                                                    std::string hint = {}) const;

  // Checks that operands 0 .. n - 1 exist and that there is at least one result.
  Result<void> need(size_t n) const;
  // Checks that these tensors have one of the types; with `quantized`, also a scale for the whole tensor.
  Result<void> need_type(const Tensor& tensor, std::span<const DType> types) const;
  // int16 tensors have a zero point of 0; with kAny, another one is allowed.
  enum class ZeroPoint { kUsual, kAny };
  Result<void> need_quantized(const Tensor& tensor, std::span<const DType> types,
                              ZeroPoint zero_point = ZeroPoint::kUsual) const;

  ir::ValueId rescale(ir::ValueId input, const Scaling& scaling);
  // input - zero_point in int32.
  ir::ValueId widened(ir::ValueId input, int64_t zero_point);
  // value + zero_point, saturated to a narrower type; |value| < 2^29.
  ir::ValueId narrowed(ir::ValueId value, DType to, int64_t zero_point);
  // The fused activation of this operator's result 0.
  Result<ir::ValueId> activated(ir::ValueId value);
  // Applies a function of the integers of an int8 value.
  ir::ValueId looked_up(ir::ValueId input, const std::function<int64_t(int64_t)>& function);

 private:
  Builder& builder_;
  const Operator& op_;

 public:
  ir::Emitter& out;  // NOLINT: after the references that it is made of
};

}  // namespace carina::tflite
