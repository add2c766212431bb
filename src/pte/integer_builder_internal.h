#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "pte/steps_internal.h"
#include "tensor/quantization.h"

namespace carina::pte {

// A factor in the form of CMSIS-NN's kernels: multiplier / 2^31 * 2^shift.
struct Multiplier {
  int64_t multiplier = 0;
  int64_t shift = 0;
};
Multiplier multiplier_of(double factor);
// Returns whether the kernels support the shift of this factor.
bool is_applicable(const Multiplier& multiplier);

// The integers that represent a float value.
struct Integers {
  ir::ValueId value;
  Quantization quantization;
};

// A node between dequantize nodes and a quantize node. Limiting nodes (relu, clamp ...) between it and the quantize
// node are folded into `low` and `high`.
struct Enclosed {
  const ir::Node& node;
  Quantization to;  // parameters of the quantize node
  int64_t low = 0;  // limits of the integers
  int64_t high = 0;
  ir::ValueId output;  // output of the quantize node
};

// Builds the steps of a program. An integer value with four axes may also be stored channels last, as another value [N,
// H, W, C]. Each form is made on first use.
class IntegerBuilder {
 public:
  explicit IntegerBuilder(const ir::Graph& source);

  [[nodiscard]] const ir::Graph& graph() const { return result_.graph; }
  // Returns the integers of a float value that is only dequantized, and perhaps moved. No value for other values.
  [[nodiscard]] std::optional<Integers> integers_of(ir::ValueId floats) const;
  void set_integers(ir::ValueId floats, Integers integers) { integers_.insert_or_assign(floats, std::move(integers)); }
  // Returns the int8 values of a constant that was quantized with zero point 0 only. No value for other constants.
  [[nodiscard]] std::optional<std::vector<int64_t>> weights_of(ir::ValueId constant) const;

  // Returns the value with its axes in their order, or with channels last.
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
  // Adds a node that moves integers: a copy of `source` with these operands and a new result.
  ir::ValueId moved(const ir::Node& source, std::vector<ir::ValueId> inputs);
  ir::ValueId reshaped(ir::ValueId integers, const Shape& shape);
  void call(std::string_view name, std::vector<CallArgument> arguments, ir::ValueId output);

  // Returns the steps that the graph's outputs need.
  Steps finish() &&;

 private:
  void define_plain(ir::ValueId integers);

  Steps result_;
  std::map<ir::ValueId, Integers> integers_;
  std::map<ir::ValueId, ir::ValueId> channels_last_;
  std::map<ir::ValueId, ir::ValueId> same_;
  std::vector<bool> undefined_;  // per value: it exists only with channels last
  std::map<std::pair<DType, std::vector<int64_t>>, ir::ValueId> constants_;
};

// Writes the enclosed node as calls that produce `enclosed.output`. Returns false and writes nothing if it is
// unsupported.
using IntegerKernel = bool (*)(IntegerBuilder& builder, const Enclosed& enclosed);
// The window of an average or sum without padding: its elements are summed and multiplied by `factor`.
struct Window {
  int64_t height = 1, width = 1;
  int64_t row_stride = 1, column_stride = 1;
  double factor = 1;
};
bool summed(IntegerBuilder& builder, const Enclosed& enclosed, const Window& window);  // integer_products.cpp

IntegerKernel integer_linear(AtenOp op);       // integer_products.cpp
IntegerKernel integer_pool(AtenOp op);         // integer_pools.cpp
IntegerKernel integer_elementwise(AtenOp op);  // integer_elementwise.cpp
// by_table() supports functions of one element with a table lookup. requantized() converts integers to other
// parameters, also by a table; it needs no node.
bool by_table(IntegerBuilder& builder, const Enclosed& enclosed);
bool requantized(IntegerBuilder& builder, const Integers& from, const Quantization& to, ir::ValueId output);

// The interval to which a limiting node (relu, clamp ...) limits its input. No value for other nodes.
struct Interval64 {
  double low, high;
};
std::optional<Interval64> limits_of(const ir::Node& node);

// Returns an attribute's values for both axes. The list may hold one value for both.
inline std::vector<int64_t> both_axes(const std::vector<int64_t>& list) {
  return list.size() == 1 ? std::vector<int64_t>{list[0], list[0]} : list;
}

inline bool is_int8(const Quantization& q) {
  return q.dtype == DType::kInt8 && !q.per_channel();
}

}  // namespace carina::pte
