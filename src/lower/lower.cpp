#include "lower/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>

#include "facts/aten_traits.h"
#include "ir/propagate_quantization.h"
#include "lower/insert_qdq_internal.h"
#include "lower/lowering_internal.h"
#include "lower/ops/casts_internal.h"
#include "lower/tosa_passes/passes.h"
#include "normalize/recurrence.h"
#include "tensor/permutation.h"

namespace carina::lower {

using ir::Node;
using ir::ValueId;

namespace {

constexpr std::array kCleanUp{
    ir::Pass{.name = "sink-transposes", .run = sink_transposes},
    ir::Pass{.name = "choose-layouts", .run = choose_layouts},
    ir::Pass{.name = "merge-axes", .run = merge_axes},
    ir::Pass{.name = "fold-padding", .run = fold_padding},
    ir::Pass{.name = "fold-movement", .run = fold_movement},
    ir::Pass{.name = "fold-flatten", .run = fold_flatten},
    ir::Pass{.name = "merge-duplicates", .run = merge_duplicates},
};
static_assert(ir::is_in_order(kCleanUp));

std::vector<LoweringRow> all_rows() {
  std::vector<LoweringRow> rows;
  for (const auto family : {convolution_rows(), matmul_rows(), pool_rows(), reduce_rows(), arithmetic_rows(),
                            clamp_rows(), unary_rows(), movement_rows(), quantization_rows(), logic_rows(),
                            division_rows(), indexing_rows(), resample_rows(), block_scaled_rows()}) {
    rows.insert(rows.end(), family.begin(), family.end());
  }
  std::ranges::sort(rows, {}, &LoweringRow::op);
  return rows;
}

Result<void> check_scale(const Node& node, const ir::Value& value) {
  const bool sound = !value.quantization ||
                     std::ranges::all_of(value.quantization->scales, [](double s) { return s > 0 && s < 1e30; });
  return sound ? Result<void>()
               : fail(normalize::about(node, value.name + " has a scale that is not a positive number"));
}

// Plain uint8 is stored in TOSA's int8 with the same bits. Data movement and conversions handle that; arithmetic would
// read 200 as -56.
Result<void> check_sign(const Node& node, const ir::Value& input) {
  if (input.dtype != DType::kUInt8 || input.quantization || is_data_movement(node.op.aten())) return {};
  const AtenFamily family = traits_of(node.op.aten()).family;
  if (family == AtenFamily::kQuantization || family == AtenFamily::kConversion) return {};
  if (family == AtenFamily::kBlockScaled) return {};  // the bytes are fp4 or fp6
  Diagnostic diagnostic =
      normalize::about(node, input.name + " is uint8, TOSA computes with integers that have a sign");
  diagnostic.hint = "convert it first: x.to(torch.int32)";
  return fail(std::move(diagnostic));
}

Result<void> check_operand(const Candidate& c, const ir::Value& input) {
  CARINA_CHECKED(check_sign(c.node, input));
  CARINA_CHECKED(accepted(c.node, first_of({check_rank(input), check_activation(c, input)})));
  CARINA_CHECKED(check_scale(c.node, input));
  const bool quantized = works_on_quantized(c);
  if (traits_of(c.node.op.aten()).family == AtenFamily::kQuantization) return {};  // Q/DQ nodes have both by definition
  const bool counts = input.dtype == DType::kFp32 && !(input.constant && takes_float_constants(c.node.op.aten()));
  if (!counts || input.quantization.has_value() == quantized) return {};
  return fail(
      normalize::about(c.node, fmt::format("{} is {}quantized, but {}", input.name, input.quantization ? "" : "not ",
                                           quantized ? "the result is quantized" : "the result is not")));
}

// Checks that all float tensors of a node are quantized, or none is.
Result<void> check_types(const Candidate& c) {
  CARINA_CHECKED(accepted(c.node, check_activation(c, c.output())));
  CARINA_CHECKED(check_scale(c.node, c.output()));
  for (const ValueId id : c.node.inputs) {
    if (id.valid()) CARINA_CHECKED(check_operand(c, c.graph[id]));
  }
  return {};
}

Diagnostic no_lowering(const Node& node) {
  Diagnostic diagnostic = normalize::about(node, fmt::format("{} has no TOSA lowering", node.op.name()));
  diagnostic.hint = "let it run on the CPU, or write the model with other operators";
  return diagnostic;
}

// Lowers all nodes. Nodes that depend on an error are checked as far as possible, so that one run reports all errors.
class Translation {
 public:
  Translation(const ir::Graph& aten, ir::Graph& tosa, const Target& target)
      : in_(aten, tosa, target), aten_(aten), tosa_(tosa), broken_(aten.values.size()) {}

  Result<void> run() {
    for (const ValueId input : aten_.inputs) add_input(input);
    for (size_t n = 0; n < aten_.nodes.size(); ++n) {
      if (auto result = translate(ir::NodeId(n)); !result) add_errors(std::move(result).error(), ir::NodeId(n));
    }
    if (!errors_.empty()) return fail(std::move(errors_));
    add_outputs();
    return {};
  }

  // For each ATen value, the name of its TOSA value, which is the name of the first ATen value with that TOSA value.
  // Empty if the value was not lowered.
  [[nodiscard]] std::vector<std::string> bound_names() const {
    std::vector<std::string> names(aten_.values.size());
    for (size_t v = 0; v < names.size(); ++v) {
      if (in_.is_bound(ValueId(v))) names[v] = tosa_[in_.bound(ValueId(v))].name;
    }
    return names;
  }

 private:
  void mark_broken(ValueId id) {
    if (id.valid()) broken_[id.index()] = true;
  }

  void add_errors(Diagnostics errors, ir::NodeId node) {
    for (Diagnostic& error : errors) {
      error.node = node.index();
      errors_.push_back(std::move(error));
    }
    for (const ValueId output : aten_[node].outputs) mark_broken(output);
  }

  void add_input(ValueId id) {
    const ir::Value& value = aten_[id];
    const DType type = value.quantization ? value.quantization->dtype : tosa_type(value.dtype);
    const ValueId input = tosa_.add_value(value.name, stored_type(type), value.shape);
    tosa_.inputs.push_back(input);
    in_.bind(id, input);
  }

  void translate_qdq(const Node& node, ir::NodeId node_id) {
    if (broken_[node.inputs.front().index()]) return mark_broken(node.outputs.front());
    in_.out.set_origin(node.name, node.source, node_id);
    in_.bind(node.outputs.front(), lower_qdq(in_, node));
  }

  Result<void> translate(ir::NodeId node_id) {
    const Node& node = aten_[node_id];
    if (is_qdq(node)) {
      translate_qdq(node, node_id);
      return {};
    }
    const LoweringRow* row = lowering_of(node.op);
    if (row == nullptr) {
      CARINA_CHECKED(accepted(node, normalize::check_recurrence(in_.aten, node)));
      return fail(no_lowering(node));
    }
    for (const ValueId output : node.outputs | std::views::drop(1)) mark_broken(output);
    CARINA_CHECKED(check_types(in_.candidate(node)));
    const bool readable =
        std::ranges::none_of(node.inputs, [&](ValueId id) { return id.valid() && broken_[id.index()]; });
    if (!readable) {
      mark_broken(node.outputs.front());
      return {};
    }
    in_.out.set_origin(node.name, node.source, node_id);
    CARINA_TRY(const ValueId result, row->lower(in_, node));
    in_.bind(node.outputs.front(), result);
    return {};
  }

  // Each output of the graph must be computed by a node, and no two outputs may share a value.
  void add_outputs() {
    std::set<ValueId> taken(tosa_.inputs.begin(), tosa_.inputs.end());
    for (const ValueId output : aten_.outputs) {
      ValueId value = in_.operand(output);
      if (tosa_[value].constant || !taken.insert(value).second) {
        in_.out.set_origin(aten_[output].name, "", ir::NodeId());
        value = in_.out.unary(TosaOp::IDENTITY, value);
        taken.insert(value);
      }
      tosa_.rename(value, aten_[output].name);
      tosa_.outputs.push_back(value);
    }
  }

  Lowering in_;
  const ir::Graph& aten_;
  ir::Graph& tosa_;
  std::vector<bool> broken_;
  Diagnostics errors_;
};

// Restores ATen names after the clean-up. The clean-up may remove the value with an ATen name if it differed from
// another value in its layout only. Example: the TRANSPOSE "conv2d" of "conv2d.rescale" is removed. Then
// "conv2d.rescale" is renamed to "conv2d".
class Names {
 public:
  // `bound` are the names of ATen values.
  Names(const ir::Graph& graph, const std::vector<std::string>& bound) : bound_(bound.begin(), bound.end()) {
    const auto producer = ir::producers(graph);
    for (const ir::Value& value : graph.values) {
      if (!bound_.contains(value.name)) continue;
      std::vector<std::string> same;
      for (ir::NodeId id = producer[graph.find_value(value.name)->index()]; id.valid() && keeps_elements(graph[id]);) {
        same.push_back(graph[graph[id].inputs[0]].name);
        id = producer[graph[id].inputs[0].index()];
      }
      if (!same.empty()) others_.emplace_back(value.name, std::move(same));
    }
  }

  void restore(ir::Graph& graph) const {
    for (size_t v = 0; v < graph.values.size(); ++v) {
      const auto before = name_before_reordering(graph.values[v].name);
      if (!before) continue;
      const std::string base(*before);
      if (!graph.find_value(base)) graph.rename(ValueId(v), base);
    }
    for (const auto& [name, same] : others_) restore(graph, name, same);
  }

 private:
  static bool keeps_elements(const Node& node) {
    return node.op == ir::Op(TosaOp::TRANSPOSE) || node.op == ir::Op(TosaOp::RESHAPE) ||
           node.op == ir::Op(TosaOp::IDENTITY);
  }

  void restore(ir::Graph& graph, const std::string& name, const std::vector<std::string>& same) const {
    if (graph.find_value(name)) return;
    for (const std::string& other : same) {
      const auto value = graph.find_value(other);
      if (!value || bound_.contains(other)) continue;
      graph.rename(*value, name);
      return;
    }
  }

  std::set<std::string, std::less<>> bound_;
  std::vector<std::pair<std::string, std::vector<std::string>>> others_;
};

// The TOSA values with the elements of each ATen value. The clean-up keeps names, so a value is found by its own name,
// or by the name of the value that it shares.
std::vector<ValueId> values_of(const ir::Graph& aten, const std::vector<std::string>& bound, const ir::Graph& tosa) {
  std::vector<ValueId> found(aten.values.size());
  for (size_t v = 0; v < found.size(); ++v) {
    if (bound[v].empty()) continue;
    found[v] = tosa.find_value(aten.values[v].name).value_or(tosa.find_value(bound[v]).value_or(ValueId()));
  }
  return found;
}

// Translates a graph with Q/DQ nodes. Errors and origins refer to nodes of the graph without them.
Result<std::vector<std::string>> translate(const QdqGraph& qdq, const Target& target, ir::Graph& tosa) {
  Translation translation(qdq.graph, tosa, target);
  auto done = translation.run();
  if (!done) {
    for (Diagnostic& error : done.error()) {
      if (error.node) error.node = qdq.node_of[*error.node].index();
    }
    return std::unexpected(std::move(done).error());
  }
  for (ir::Node& node : tosa.nodes) {
    if (node.origin.valid()) node.origin = qdq.node_of[node.origin.index()];
  }
  return translation.bound_names();
}

Result<std::vector<std::string>> translate(const ir::Graph& aten, const Target& target, ir::Graph& tosa) {
  if (target.takes_floats) return translate(insert_qdq(aten, target), target, tosa);
  Translation translation(aten, tosa, target);
  CARINA_CHECKED(translation.run());
  return translation.bound_names();
}

// One of the two passes that place transpositions runs.
ir::PassOptions options_for(const Target& target, const ir::PassOptions& options) {
  ir::PassOptions own = options;
  own.disabled.emplace_back(target.fewest_transposes ? "sink-transposes" : "choose-layouts");
  return own;
}

}  // namespace

std::span<const ir::Pass> clean_up_pipeline() {
  return kCleanUp;
}

const LoweringRow* lowering_of(ir::Op op) {
  static const std::vector<LoweringRow> rows = all_rows();
  if (!op.is_aten()) return nullptr;
  const auto row = std::ranges::lower_bound(rows, op.aten(), {}, &LoweringRow::op);
  return row != rows.end() && row->op == op.aten() ? &*row : nullptr;
}

bool has_lowering(ir::Op op) {
  return op.is_aten() && is_lowered(op.aten());
}

Result<Lowered> to_tosa(const ir::Graph& aten, const Target& target, const ir::PassOptions& options, const Log& log) {
  ir::Graph quantized = aten;
  ir::propagate_quantization(quantized);
  ir::Graph tosa;
  tosa.name = aten.name.empty() ? "main" : aten.name;
  CARINA_TRY(const std::vector<std::string> bound, translate(quantized, target, tosa));
  ir::remove_dead(tosa);
  const Names names(tosa, bound);
  CARINA_CHECKED(ir::run_passes(tosa, kCleanUp, options_for(target, options), log));
  names.restore(tosa);
  std::vector<ValueId> value_of = values_of(aten, bound, tosa);
  return Lowered{.graph = std::move(tosa), .value_of = std::move(value_of)};
}

Result<Lowered> to_tosa(const ir::Graph& aten, const Target& target, const Log& log) {
  return to_tosa(aten, target, ir::PassOptions{}, log);
}

}  // namespace carina::lower
