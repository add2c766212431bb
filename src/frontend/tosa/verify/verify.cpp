#include "frontend/tosa/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "facts/tosa_rows.h"
#include "frontend/tosa/verify/rule.h"
#include "tensor/elements.h"

namespace carina::tosa {

std::optional<std::vector<int64_t>> constant_ints(const ir::Value& value) {
  if (!value.constant || !is_integer(value.constant->dtype)) return std::nullopt;
  return integers_if_any(*value.constant);
}

std::optional<IntegerRange> range_of_constant(const RuleContext& at, const ir::Value& value) {
  if (const auto known = at.index.ranges.find(&value); known != at.index.ranges.end()) return known->second;
  const auto values = constant_ints(value);
  if (!values || values->empty()) return std::nullopt;
  const auto [min, max] = std::ranges::minmax(*values);
  return at.index.ranges.emplace(&value, IntegerRange{.min = min, .max = max}).first->second;
}

bool is_nonzero_constant(const ir::Value& value) {
  if (!value.constant) return false;
  const auto bytes = value.constant->data.bytes().first(tensor_bytes(value.constant->dtype, value.constant->shape));
  if (!is_float(value.dtype)) return std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; });
  // -0.0 is equal to zero. The last byte of an element contains its sign.
  const size_t width = element_bytes(value.dtype);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const std::byte magnitude = i % width == width - 1 ? std::byte{0x7F} : std::byte{0xFF};
    if ((bytes[i] & magnitude) != std::byte{0}) return true;
  }
  return false;
}

std::string to_string(std::span<const int64_t> numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

Problem differs(std::string_view name, int64_t got, std::optional<int64_t> wanted) {
  if (wanted && *wanted == got) return std::nullopt;
  return wanted ? fmt::format("{} is {}, must be {}", name, got, *wanted)
                : fmt::format("{} is {}, but the division leaves a rest", name, got);
}

std::optional<int64_t> exact_quotient(int64_t numerator, int64_t denominator) {
  if (denominator == 0 || numerator % denominator != 0) return std::nullopt;
  return numerator / denominator;
}

namespace {

// The graphs that the control flow of a graph calls.
std::vector<const ir::Graph*> graphs_run_by(const ModuleIndex& index, const ir::Graph& graph) {
  std::vector<const ir::Graph*> out;
  for (const ir::Node& node : graph.nodes) {
    if (!node.op.is_tosa()) continue;
    for (const TosaAttribute& attribute : row_of(node.op.tosa()).attributes) {
      if (attribute.kind != TosaAttributeKind::kGraph) continue;
      const auto found = index.graphs.find(node.attributes.get<std::string>(attribute.name));
      if (found != index.graphs.end()) out.push_back(found->second);
    }
  }
  return out;
}

// In each round, graphs whose callees have a depth get their own depth. Graphs without a depth after `limit` rounds are
// in a cycle or nested too deep.
void find_depths(ModuleIndex& index, int64_t limit) {
  std::vector<std::pair<const ir::Graph*, std::vector<const ir::Graph*>>> open;
  for (const auto& [name, graph] : index.graphs) {
    index.depths.emplace(name, std::nullopt);
    open.emplace_back(graph, graphs_run_by(index, *graph));
  }
  for (int64_t depth = 0; depth < limit && !open.empty(); ++depth) {
    std::vector<std::string_view> settled;
    std::erase_if(open, [&](const auto& entry) {
      const bool ready = std::ranges::all_of(
          entry.second, [&](const ir::Graph* run) { return index.depths.at(run->name).has_value(); });
      if (ready) settled.push_back(entry.first->name);
      return ready;
    });
    for (const std::string_view name : settled) index.depths[name] = depth;
  }
}

}  // namespace

ModuleIndex::ModuleIndex(const ir::Module& module, int64_t max_nesting) {
  for (const ir::Graph& graph : module.graphs) {
    graphs.emplace(graph.name, &graph);
    for (const ir::Node& node : graph.nodes) {
      if (node.op == ir::Op(TosaOp::VARIABLE))
        variables.emplace(node.attributes.get<std::string>("name"), Declaration{.graph = &graph, .node = &node});
    }
  }
  find_depths(*this, max_nesting);
}

namespace {

// In the order of facts/tosa_ops.def.
std::array<std::span<const Rule>, kTosaOpCount> collect_rules() {
  std::array<std::span<const Rule>, kTosaOpCount> out;
  for (const auto& family :
       {convolution_rules(), pooling_rules(), matrix_rules(), elementwise_rules(), reduction_rules(), layout_rules(),
        resize_rules(), rescale_rules(), control_flow_rules(), variable_rules(), block_scaled_rules()}) {
    for (const OpRules& row : family) out[index_of(row.op)] = row.rules;
  }
  return out;
}

std::span<const Rule> rules_of(TosaOp op) {
  static const auto kAll = collect_rules();
  return kAll[index_of(op)];
}

// The first rule that does not hold. Later rules assume the earlier ones.
std::optional<Violation> first_broken(const RuleContext& at, std::span<const Rule> rules) {
  for (const Rule& rule : rules) {
    Problem found = rule.broken(at);
    if (!found) continue;
    return Violation{.rule = rule.id,
                     .section = at.row.section,
                     .must = rule.must,
                     .found = *std::move(found),
                     .graph = at.graph.name,
                     .op = std::string(name_of(at.row.op)),
                     .node = at.node.name,
                     .index = static_cast<size_t>(&at.node - at.graph.nodes.data()),
                     .source = at.node.source};
  }
  return std::nullopt;
}

constexpr std::string_view kOperatorRule = "OPERATOR.1";
constexpr std::string_view kOperatorMust = "every node must be an operator of TOSA";

Violation not_an_operator(const ir::Graph& graph, const ir::Node& node) {
  return {.rule = kOperatorRule,
          .section = "2",
          .must = kOperatorMust,
          .found = std::string(node.op.name()),
          .graph = graph.name,
          .op = std::string(node.op.name()),
          .node = node.name,
          .index = static_cast<size_t>(&node - graph.nodes.data()),
          .source = node.source};
}

void verify_graph(const ModuleIndex& index, const ir::Graph& graph, const VerifyOptions& options,
                  std::vector<Violation>& out) {
  for (const ir::Node& node : graph.nodes) {
    if (out.size() >= options.max_messages) return;
    if (!node.op.is_tosa()) {
      out.push_back(not_an_operator(graph, node));
      continue;
    }
    const RuleContext at{
        .index = index, .graph = graph, .node = node, .row = row_of(node.op.tosa()), .options = options};
    std::optional<Violation> broken = first_broken(at, general_rules());
    if (!broken) broken = first_broken(at, rules_of(node.op.tosa()));
    if (broken) out.push_back(*std::move(broken));
  }
}

}  // namespace

Diagnostic to_diagnostic(const Violation& violation, const std::string& where) {
  std::string location = fmt::format("{}: {}: {} ({}", where, violation.graph, violation.op, violation.node);
  if (!violation.source.empty()) location += ", " + violation.source;
  return {.where = location + ")",
          .what = fmt::format("rule {} (TOSA{}, section {}): {}", violation.rule,
                              violation.section.ends_with("draft") ? "" : " 1.0", violation.section, violation.must),
          .got = violation.found,
          .node = violation.index};
}

std::vector<Violation> violations(const ir::Module& module, const VerifyOptions& options) {
  std::vector<Violation> out;
  const ModuleIndex index(module, options.level.max_nesting);
  for (const ir::Graph& graph : module.graphs) verify_graph(index, graph, options, out);
  return out;
}

Result<void> verify(const ir::Module& module, const VerifyOptions& options) {
  Diagnostics out;
  for (const Violation& violation : violations(module, options)) out.push_back(to_diagnostic(violation, options.where));
  if (out.empty()) return {};
  return fail(std::move(out));
}

std::vector<RuleText> rule_texts() {
  std::vector<RuleText> out{{.id = kOperatorRule, .must = kOperatorMust, .ops = {}}};
  for (const Rule& rule : general_rules()) out.push_back({.id = rule.id, .must = rule.must, .ops = {}});
  for (const TosaOpRow& row : kTosaRows) {
    for (const Rule& rule : rules_of(row.op)) {
      auto known = std::ranges::find(out, rule.id, &RuleText::id);
      if (known == out.end()) known = out.insert(out.end(), {.id = rule.id, .must = rule.must, .ops = {}});
      known->ops.push_back(row.op);
    }
  }
  return out;
}

}  // namespace carina::tosa
