// Declares the builder of TOSA nodes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace carina::ir {

// The values of TOSA's enumerated attributes (FlatBuffer schema 1.0).
inline constexpr int64_t kNanPropagate = 1;
inline constexpr int64_t kSingleRound = 1;

// The parameters of a RESCALE: real factors and zero points. There is one factor, or one per index of the last axis.
// Unsigned integers are stored as signed ones with the same bits.
struct Rescaling {
  std::vector<double> scales;
  int64_t input_zp = 0;
  int64_t output_zp = 0;
  DType to = DType::kInt8;
  bool from_unsigned = false;
  bool to_unsigned = false;
};

// Adds TOSA nodes to a graph. It sets their attributes, makes the constants that TOSA requires as operands, and names
// nodes and values. A new value is named "<origin>.<suffix>" (ATen names have no dot); the caller may rename it.
class Emitter {
 public:
  explicit Emitter(ir::Graph& graph) : graph_(graph) {}

  // Sets the ATen node for which the following nodes are made.
  void set_origin(std::string_view name, std::string_view source, ir::NodeId node) {
    name_ = name;
    source_ = source;
    origin_ = node;
  }
  // Sets the origin of the following nodes to the origin of `node`, which they replace.
  void set_origin_of(const ir::Node& node) { set_origin(node.name, node.source, node.origin); }
  ir::Graph& graph() { return graph_; }
  // Returns a copy, since values move when others are added.
  [[nodiscard]] Shape shape(ir::ValueId id) const { return graph_[id].shape; }
  [[nodiscard]] DType dtype(ir::ValueId id) const { return graph_[id].dtype; }

  struct Made {
    DType dtype;
    Shape shape;
    std::string_view suffix;
  };
  ir::ValueId emit(TosaOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes, const Made& made);
  // Adds a node with several outputs, which it returns in order.
  std::vector<ir::ValueId> emit(TosaOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes,
                                std::span<const Made> made);

  ir::ValueId constant(std::string_view name, Tensor tensor) { return graph_.add_constant(name, std::move(tensor)); }
  // Returns a rank-1 constant of integers or floats. Equal constants are shared.
  ir::ValueId integers(DType dtype, std::span<const int64_t> values);
  ir::ValueId integer(DType dtype, int64_t value) { return integers(dtype, std::span(&value, 1)); }
  ir::ValueId shape_constant(std::span<const int64_t> values);
  // Returns a constant of one element with the given rank (all sizes 1), for use as a broadcast operand. dtype is fp32
  // or int32.
  ir::ValueId splat(DType dtype, double value, size_t rank);
  // Returns the zero-point operand for a tensor of this type: `value` for integers, 0.0 for floats.
  ir::ValueId zero_point(DType dtype, int64_t value);

  // Reshapes a value; a constant is reshaped at compile time.
  ir::ValueId reshape(ir::ValueId input, const Shape& shape);
  ir::ValueId transpose(ir::ValueId input, const std::vector<int64_t>& perms);
  ir::ValueId slice(ir::ValueId input, const std::vector<int64_t>& start, const Shape& size);
  // Repeats the input up to this shape. Each size must be a multiple of the input's; leading axes are added.
  ir::ValueId tile(ir::ValueId input, const Shape& shape);
  // `padding` has two numbers per axis, before and after; `value` is in the input's type.
  ir::ValueId pad(ir::ValueId input, const std::vector<int64_t>& padding, double value);
  ir::ValueId rescale(ir::ValueId input, const Rescaling& rescaling);
  // Clamps to [min, max], in the input's type.
  ir::ValueId clamp(ir::ValueId input, const ir::Attribute& min, const ir::Attribute& max);
  ir::ValueId unary(TosaOp op, ir::ValueId input);
  // Adds a binary operator. Operands have one type; leading axes of size 1 make their ranks equal; the result has the
  // broadcast shape.
  ir::ValueId binary(TosaOp op, ir::ValueId a, ir::ValueId b);
  // Adds a binary operator with a bool result.
  ir::ValueId compare(TosaOp op, ir::ValueId a, ir::ValueId b);
  // Gives `yes` where the condition is true, else `no`. Both have one type; all three are broadcast.
  ir::ValueId select(ir::ValueId condition, ir::ValueId yes, ir::ValueId no);
  ir::ValueId reduce(TosaOp op, ir::ValueId input, size_t axis);
  // Level 8K of TOSA limits the inputs of a CONCAT, so more of them are a tree of CONCATs.
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
  std::map<std::string, ir::ValueId> constants_;  // small constants; the key encodes the content
};

}  // namespace carina::ir
