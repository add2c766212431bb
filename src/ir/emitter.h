#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace carina::ir {

// TOSA's numbers of the enumerated attributes (FlatBuffer schema 1.0).
inline constexpr int64_t kNanPropagate = 1;
inline constexpr int64_t kSingleRound = 1;

// A RESCALE: real factor and zero points; one factor, or one for each index of the last axis. Integers without a sign
// are stored as those with one, of the same bits.
struct Rescaling {
  std::vector<double> scales;
  int64_t input_zp = 0;
  int64_t output_zp = 0;
  DType to = DType::kInt8;
  bool from_unsigned = false;
  bool to_unsigned = false;
};

// Writes TOSA nodes: fills in attributes, makes the constants that TOSA wants as operands, gives nodes and values their
// names. A new value is called "<origin>.<suffix>" (ATen names have no dot); who knows better renames it.
class Emitter {
 public:
  explicit Emitter(ir::Graph& graph) : graph_(graph) {}

  // Which ATen node the nodes to come are made for.
  void set_origin(std::string_view name, std::string_view source, ir::NodeId node) {
    name_ = name;
    source_ = source;
    origin_ = node;
  }
  // The nodes to come take the place of `node` of this graph.
  void set_origin_of(const ir::Node& node) { set_origin(node.name, node.source, node.origin); }
  ir::Graph& graph() { return graph_; }
  // A copy: values move when others are added.
  [[nodiscard]] Shape shape(ir::ValueId id) const { return graph_[id].shape; }
  [[nodiscard]] DType dtype(ir::ValueId id) const { return graph_[id].dtype; }

  struct Made {
    DType dtype;
    Shape shape;
    std::string_view suffix;
  };
  ir::ValueId emit(TosaOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Made& made);

  ir::ValueId constant(std::string_view name, Tensor tensor) { return graph_.add_constant(name, std::move(tensor)); }
  // A rank-1 constant of integers or floats; equal ones are made once.
  ir::ValueId integers(DType dtype, std::span<const int64_t> values);
  ir::ValueId integer(DType dtype, int64_t value) { return integers(dtype, std::span(&value, 1)); }
  ir::ValueId shape_constant(std::span<const int64_t> values);
  // A constant of one element, of the given rank (sizes 1): an operand that broadcasts. dtype fp32 or int32.
  ir::ValueId splat(DType dtype, double value, size_t rank);
  // The zero point operand of a tensor of this type: `value` in integers, 0.0 in floats.
  ir::ValueId zero_point(DType dtype, int64_t value);

  // Constants are reshaped at once.
  ir::ValueId reshape(ir::ValueId input, const Shape& shape);
  ir::ValueId transpose(ir::ValueId input, const std::vector<int64_t>& perms);
  ir::ValueId slice(ir::ValueId input, const std::vector<int64_t>& start, const Shape& size);
  // Repeated until it has this shape, each of whose sizes is a multiple of the input's; leading axes are added.
  ir::ValueId tile(ir::ValueId input, const Shape& shape);
  // `padding`: before and after for each axis; `value` as an element of the input's type.
  ir::ValueId pad(ir::ValueId input, const std::vector<int64_t>& padding, double value);
  ir::ValueId rescale(ir::ValueId input, const Rescaling& rescaling);
  // Between `min` and `max`, in the input's own numbers.
  ir::ValueId clamp(ir::ValueId input, const ir::Attribute& min, const ir::Attribute& max);
  ir::ValueId unary(TosaOp op, ir::ValueId input);
  // Operands of one type whose ranks are made equal (leading axes of size 1); the result has their broadcast shape.
  ir::ValueId binary(TosaOp op, ir::ValueId a, ir::ValueId b);
  // The same with a result of bools.
  ir::ValueId compare(TosaOp op, ir::ValueId a, ir::ValueId b);
  // `yes` where the condition holds, else `no`, which are of one type; all three are broadcast.
  ir::ValueId select(ir::ValueId condition, ir::ValueId yes, ir::ValueId no);
  ir::ValueId reduce(TosaOp op, ir::ValueId input, size_t axis);
  ir::ValueId concat(const std::vector<ir::ValueId>& inputs, size_t axis);
  ir::ValueId cast(ir::ValueId input, DType to);

  // [N,C,H,W] <-> [N,H,W,C]
  ir::ValueId to_nhwc(ir::ValueId input) { return transpose(input, {0, 2, 3, 1}); }
  ir::ValueId to_nchw(ir::ValueId input) { return transpose(input, {0, 3, 1, 2}); }
  ir::ValueId with_rank(ir::ValueId input, size_t rank);

 private:
  ir::ValueId elementwise(TosaOp op, ir::ValueId a, ir::ValueId b, DType made);

  ir::Graph& graph_;
  std::string name_;
  std::string source_;
  ir::NodeId origin_;
  std::map<std::string, ir::ValueId> constants_;  // the small ones, by name, which says what they hold
};

}  // namespace carina::ir
