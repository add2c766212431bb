#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "pte/steps_internal.h"
#include "tensor/quantization.h"

namespace carina::pte {

// A factor as CMSIS-NN's kernels take it: multiplier / 2^31 * 2^shift.
struct Multiplier {
  int64_t multiplier = 0;
  int64_t shift = 0;
};
Multiplier multiplier_of(double factor);
// Whether the kernels can apply it to sums of `bits` bits: no shift that leaves 32 bits.
bool is_applicable(const Multiplier& multiplier);

// Integers that stand for a value of floats.
struct Integers {
  ir::ValueId value;
  Quantization quantization;
};

// A node between dequantize nodes and a quantize node, with limits that were between it and that.
struct Enclosed {
  const ir::Node& node;
  Quantization to;  // of the quantize node
  int64_t low = 0;  // of the integers
  int64_t high = 0;
  ir::ValueId output;  // of the quantize node
};

// Builds the steps of a program. An integer value with four axes may be stored with its channels last, as another value
// [N, H, W, C]; each form is made on first use.
class IntegerBuilder {
 public:
  explicit IntegerBuilder(const ir::Graph& source);

  [[nodiscard]] const ir::Graph& graph() const { return result_.graph; }
  // The integers behind a value of floats, if it is only a dequantized one (perhaps moved).
  [[nodiscard]] std::optional<Integers> integers_of(ir::ValueId floats) const;
  void set_integers(ir::ValueId floats, Integers integers) { integers_.insert_or_assign(floats, std::move(integers)); }
  // int8 of a constant that was quantized with one zero point of 0, or nothing.
  [[nodiscard]] std::optional<std::vector<int64_t>> weights_of(ir::ValueId constant) const;

  // The value in the order of its axes, and with channels last.
  ir::ValueId plain(ir::ValueId integers);
  ir::ValueId channels_last(ir::ValueId integers);
  [[nodiscard]] bool is_channels_last(ir::ValueId integers) const { return channels_last_.contains(integers); }
  // Returns a new value for a kernel's channels-last output that replaces `integers`.
  ir::ValueId written_channels_last(ir::ValueId integers);
  // Makes `value` an alias of `same`.
  void alias(ir::ValueId value, ir::ValueId same);
  [[nodiscard]] ir::ValueId resolved(ir::ValueId value) const;

  ir::ValueId value(std::string_view name, const Shape& shape);
  ir::ValueId constant(std::string_view name, DType dtype, const Shape& shape, const std::vector<int64_t>& elements);
  void keep(ir::NodeId node);
  // A node beside the graph's that moves integers: `source` with other operands and result.
  ir::ValueId moved(const ir::Node& source, std::vector<ir::ValueId> inputs);
  ir::ValueId reshaped(ir::ValueId integers, const Shape& shape);
  void call(std::string_view name, std::vector<CallArgument> arguments, ir::ValueId output);

  // The steps that the graph's outputs need.
  Steps finish() &&;

 private:
  void define_plain(ir::ValueId integers);

  Steps result_;
  std::map<ir::ValueId, Integers> integers_;
  std::map<ir::ValueId, ir::ValueId> channels_last_;
  std::map<ir::ValueId, ir::ValueId> same_;
  std::vector<bool> undefined_;  // per value: only its form with channels last is there
  std::map<std::pair<DType, std::vector<int64_t>>, ir::ValueId> constants_;
};

// Writes the enclosed node as calls that produce `enclosed.output`. Returns false and writes nothing if it is
// unsupported.
using IntegerKernel = bool (*)(IntegerBuilder& builder, const Enclosed& enclosed);
// A window whose elements are summed, times `factor`, without padding.
struct Window {
  int64_t height = 1, width = 1;
  int64_t row_stride = 1, column_stride = 1;
  double factor = 1;
};
bool summed(IntegerBuilder& builder, const Enclosed& enclosed, const Window& window);  // integer_products.cpp

IntegerKernel integer_linear(AtenOp op);       // integer_products.cpp
IntegerKernel integer_pool(AtenOp op);         // integer_pools.cpp
IntegerKernel integer_elementwise(AtenOp op);  // integer_elementwise.cpp
// The kernel for functions of one element: by a table. Also what has no node: integers as others.
bool by_table(IntegerBuilder& builder, const Enclosed& enclosed);
bool requantized(IntegerBuilder& builder, const Integers& from, const Quantization& to, ir::ValueId output);

// The part of an interval that a limiting node (relu, clamp ...) passes; nothing for other nodes.
struct Interval64 {
  double low, high;
};
std::optional<Interval64> limits_of(const ir::Node& node);

// An attribute of both axes, which one number may stand for.
inline std::vector<int64_t> both_axes(const std::vector<int64_t>& list) {
  return list.size() == 1 ? std::vector<int64_t>{list[0], list[0]} : list;
}

inline bool is_int8(const Quantization& q) {
  return q.dtype == DType::kInt8 && !q.per_channel();
}

}  // namespace carina::pte
