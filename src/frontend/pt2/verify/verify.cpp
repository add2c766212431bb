#include "frontend/pt2/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/schema.h"

namespace carina::aten {

namespace {

using Checked = std::expected<void, std::string>;

// Whole numbers that are larger would let sums overflow. No tensor has that many elements.
constexpr int64_t kMaxNumber = int64_t{1} << 40;

struct FamilyRule {
  AtenFamily family;
  ShapeRule shapes;
  TypeRule types;
};
// The rules of operators without a row of their own.
constexpr std::array kFamilyRules = {
    FamilyRule{AtenFamily::kFunction, same_as_first, promoted_float},
    FamilyRule{AtenFamily::kArithmetic, broadcast_of_all, promoted},
    FamilyRule{AtenFamily::kDivision, broadcast_of_all, quotient},
    FamilyRule{AtenFamily::kLogic, broadcast_of_all, promoted},
    FamilyRule{AtenFamily::kLimit, broadcast_of_all, promoted},
    FamilyRule{AtenFamily::kConversion, same_as_first, same_type},
    FamilyRule{AtenFamily::kMovement, same_as_first, same_type},
};

using Rules = std::array<Rule, kAtenOps.size()>;

Rules make_rules() {
  Rules rules{};
  for (size_t i = 0; i < rules.size(); ++i) {
    rules[i] = {.op = static_cast<AtenOp>(i), .shapes = unchecked, .types = unchecked_type};
    const auto row = std::ranges::find(kFamilyRules, kAtenTraits[i].family, &FamilyRule::family);
    if (row == kFamilyRules.end()) continue;
    rules[i].shapes = row->shapes;
    rules[i].types = row->types;
  }
  for (const auto& list :
       {convolution_rules(), product_rules(), normalization_rules(), elementwise_rules(), pool_rules(),
        resample_rules(), reduction_rules(), view_rules(), movement_rules(), split_rules(), indexing_rules(),
        conversion_rules(), source_rules(), composite_rules(), quantization_rules(), block_scaled_rules()}) {
    for (const Rule& rule : list) rules[static_cast<size_t>(rule.op)] = rule;
  }
  return rules;
}

const Rule& rule_of(AtenOp op) {
  static const Rules kRules = make_rules();
  return kRules[static_cast<size_t>(op)];
}

bool is_list_of_tensors(const ArgumentRow& row) {
  return row.type == ArgumentType::kTensor && row.is_list;
}

// Operands stand in the order of the schema, lists flattened: all but one list have a length that other arguments say.
Checked check_operands(const ir::Node& node, const Schema& schema) {
  const auto lists = std::ranges::count_if(schema.arguments, is_list_of_tensors);
  size_t next = 0;
  for (const ArgumentRow& row : schema.arguments) {
    if (row.type != ArgumentType::kTensor) continue;
    if (row.is_list) {
      const auto after = static_cast<size_t>(
          std::count_if(&row + 1, schema.arguments.data() + schema.arguments.size(),
                        [](const ArgumentRow& other) { return other.type == ArgumentType::kTensor; }));
      if (node.inputs.size() < next + after) return broken("operands are missing");
      const size_t end = node.inputs.size() - (lists == 1 ? after : 0);
      for (; next < end; ++next) {
        if (!node.inputs[next].valid() && !row.optional_elements)
          return broken("an element of {} is missing", row.name);
      }
      if (lists > 1) return {};  // the rules of recurrences know the lengths
      continue;
    }
    if (next >= node.inputs.size() || (!node.inputs[next].valid() && !row.optional))
      return broken("its operand {} is missing", row.name);
    ++next;
  }
  if (next != node.inputs.size()) return broken("it has {} operands, not {}", node.inputs.size(), next);
  return {};
}

// The ends of slices are clamped, so any number is possible there.
bool is_clamped(std::string_view name) {
  return name == "start" || name == "end";
}

bool is_possible(int64_t number) {
  return number >= -kMaxNumber && number <= kMaxNumber;
}

Checked check_numbers(const ir::Node& node, const Schema& schema) {
  for (const ArgumentRow& row : schema.arguments) {
    const ir::Attribute* value = node.attributes.find(row.name);
    if (row.type != ArgumentType::kInt || value == nullptr) continue;
    if (const auto* number = std::get_if<int64_t>(value); number != nullptr && !is_clamped(row.name)) {
      if (!is_possible(*number)) return broken("its argument {} is {}", row.name, *number);
    }
    const auto* list = std::get_if<Sizes>(value);
    if (list == nullptr) continue;
    if (!std::ranges::all_of(*list, is_possible)) return broken("a number of its argument {} is too large", row.name);
    const bool fits = row.list_size < 2 || std::ssize(*list) == row.list_size || *value == row.default_value;
    if (!fits) return broken("its argument {} has {} numbers, not {}", row.name, list->size(), row.list_size);
  }
  return {};
}

Checked check_count(const ir::Node& node, const Schema& schema) {
  const bool is_list = schema.result_is_list.size() == 1 && schema.result_is_list.front();
  if (is_list || node.outputs.size() == schema.result_is_list.size()) return {};
  return broken("it has {} results, not {}", node.outputs.size(), schema.result_is_list.size());
}

bool is_accepted(const NodeView& n, const ResultType& type, DType declared) {
  switch (type.instead) {
    case ResultType::Instead::kNothing:
      return declared == type.dtype;
    case ResultType::Instead::kFirstFloat:
      return declared == type.dtype || (n.has(0) && declared == n.dtype(0) && is_float(declared));
    case ResultType::Instead::kAnyFloat:
      return is_float(declared);
    case ResultType::Instead::kBool:
      return declared == type.dtype || declared == DType::kBool;
    case ResultType::Instead::kAnything:
      return true;
  }
  CARINA_UNREACHABLE("alternative of a type", type.instead);
}

Checked check_arguments(const ir::Node& node) {
  const Schema& schema = schema_of(node.op.aten());
  CARINA_CHECKED(check_operands(node, schema));
  CARINA_CHECKED(check_numbers(node, schema));
  return check_count(node, schema);
}

Diagnostic impossible(const ir::Node& node, const std::string& where, const std::string& what) {
  return {.where = where, .what = fmt::format("{} is not possible: {}", node.op.name(), what)};
}

Diagnostic mismatch(const ir::Node& node, const std::string& where, size_t result, std::string expected,
                    std::string got) {
  return {.where = where,
          .what = fmt::format("result {} of {} is not what the operator gives", result, node.op.name()),
          .expected = std::move(expected),
          .got = std::move(got),
          .hint = "the file is damaged, or was edited: export the model again"};
}

}  // namespace

Result<void> verify_node(const ir::Graph& graph, const ir::Node& node, const std::string& where) {
  if (node.op == ir::Op(AtenOp::executorch_call_delegate_default)) return {};
  if (const Checked found = check_arguments(node); !found) return fail(impossible(node, where, found.error()));
  const NodeView view{.graph = graph, .node = node};
  const Rule& rule = rule_of(node.op.aten());
  const Shapes shapes = rule.shapes(view);
  if (!shapes) return fail(impossible(node, where, shapes.error()));
  if (shapes->size() != node.outputs.size()) {
    return fail(impossible(node, where, fmt::format("it has {} results, not {}", node.outputs.size(), shapes->size())));
  }
  for (size_t i = 0; i < shapes->size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    const ir::Value& declared = graph[node.outputs[i]];
    const auto& shape = (*shapes)[i];
    if (shape && *shape != declared.shape)
      return fail(mismatch(node, where, i, to_string(*shape), to_string(declared.shape)));
    const ResultType type = rule.types(view, i);
    if (!is_accepted(view, type, declared.dtype))
      return fail(mismatch(node, where, i, std::string(name_of(type.dtype)), std::string(name_of(declared.dtype))));
  }
  return {};
}

std::optional<ResultOf> result_of(const ir::Graph& graph, const ir::Node& node, size_t result) {
  const NodeView view{.graph = graph, .node = node};
  const Rule& rule = rule_of(node.op.aten());
  const Shapes shapes = rule.shapes(view);
  const ResultType type = rule.types(view, result);
  if (!shapes || !(*shapes)[result] || type.dtype == DType::kUnknown) return std::nullopt;
  return ResultOf{.dtype = type.dtype, .shape = *(*shapes)[result]};
}

}  // namespace carina::aten
