// One operator of floats that becomes ATen nodes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/aten_ops.h"
#include "frontend/tflite/model.h"
#include "ir/graph.h"

namespace carina::tflite {

// The graph under construction.
struct AtenBuilder {
  const Subgraph& from;
  std::string where;
  ir::Graph graph = {};
  std::vector<ir::ValueId> values = {};                    // by tensor; invalid: not made yet
  std::map<ir::ValueId, ir::ValueId> channels_first = {};  // the NCHW form of NHWC values
};

// The operands, results and options of one operator, and what it is built of.
class AtenCall {
 public:
  AtenCall(AtenBuilder& builder, size_t index) : builder_(builder), op_(builder.from.operators[index]), index_(index) {}

  [[nodiscard]] const Operator& op() const { return op_; }
  [[nodiscard]] const Options& options() const { return op_.options; }
  [[nodiscard]] size_t inputs() const { return op_.inputs.size(); }
  [[nodiscard]] bool has(size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != kAbsent; }
  [[nodiscard]] const Tensor& in(size_t i) const { return builder_.from.tensors[static_cast<size_t>(op_.inputs[i])]; }
  [[nodiscard]] const Tensor& result(size_t i = 0) const {
    return builder_.from.tensors[static_cast<size_t>(op_.outputs[i])];
  }
  [[nodiscard]] size_t results() const { return op_.outputs.size(); }

  // The value of an operand of floats; a constant becomes one of the graph.
  Result<ir::ValueId> value(size_t i);
  // The floats of a constant operand: its own, or those that its integers or half floats stand for.
  Result<std::vector<float>> floats(size_t i) const;
  // The integers of a constant operand.
  Result<std::vector<int64_t>> integers(size_t i) const;
  [[nodiscard]] Shape shape(ir::ValueId id) const { return builder_.graph[id].shape; }

  // Adds a node, whose result has the shape that the operator gives. A node that does not fit its operands is an error
  // of set().
  ir::ValueId make(AtenOp op, std::vector<ir::ValueId> inputs, ir::Attributes attributes = {});
  ir::ValueId constant(std::string_view suffix, const Shape& shape, const std::vector<float>& values);
  ir::ValueId scalar(double value) { return constant("scalar", Shape{}, {static_cast<float>(value)}); }
  ir::ValueId view(ir::ValueId input, const Shape& shape);
  // [N,H,W,C] as [N,C,H,W], and back.
  ir::ValueId to_nchw(ir::ValueId input);
  ir::ValueId to_nhwc(ir::ValueId input);
  // The operator's fused activation.
  Result<ir::ValueId> activated(ir::ValueId value);

  // Sets a result, whose shape must be the file's.
  Result<void> set(size_t i, ir::ValueId value);
  Result<void> set(ir::ValueId value) { return set(0, value); }

  Result<void> need(size_t n) const;
  Result<void> need_rank(size_t i, size_t rank) const;
  [[nodiscard]] std::unexpected<Diagnostics> reject(std::string what, std::string expected = {},
                                                    std::string got = {}) const;

 private:
  AtenBuilder& builder_;
  const Operator& op_;
  size_t index_;
  std::optional<Diagnostics> broken_ = {};  // the first node that does not fit
};

#define CARINA_TFLITE_ATEN_RULE(name, function) Result<void> aten_##function(AtenCall& call);
#include "frontend/tflite/to_aten/aten_rules.def"
#undef CARINA_TFLITE_ATEN_RULE

}  // namespace carina::tflite
