#include "supported_ops.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "facts/tosa_0_80.h"
#include "facts/tosa_rows.h"
#include "frontend/tosa/verify/verify.h"

namespace carina::tosa {

namespace {

constexpr std::string_view kTitle = R"(# Supported TOSA operators

All operators of TOSA 1.0 are read, written, printed, verified and interpreted. Constants (CONST,
CONST_SHAPE) are properties of values, not nodes (docs/ir.md).
)";

constexpr std::string_view kSummaryHead = R"(
`CARINA_REBASE=1 build/release/bin/tosa_test` writes this page from `facts/tosa_rows.h`; otherwise
the test compares it. `make docs` writes `build/pages/tosa-operators.md`: each operator with its
operands, attributes, types and number in TOSA 0.80, and each rule of the verifier.
)";

constexpr std::string_view kHead = R"(
This page lists the operators with their types and the rules of the verifier. `make docs` writes it
from `facts/tosa_rows.h`.

- The types are those of the operator's variables, in the order of their names. The features that a
  row of types needs are after `+`.
- The column "0.80" is the operator's number in files of TOSA 0.80. Operands in *italics* are
  attributes there.
)";

std::string short_name(std::string_view op) {
  return std::string(op.substr(op.find('.') + 1));
}

std::string features_text(TosaFeatures features) {
  std::string out;
  for (const TosaFeatureName& row : kTosaFeatureNames) {
    if (features.has(row.feature)) out += (out.empty() ? "" : "/") + std::string(row.name);
  }
  return out;
}

// The attribute table of the operator in 0.80, if it has the operator.
const Tosa080Op* old_row(TosaOp op) {
  const auto number = number_in_0_80(op);
  return number ? &kTosa080Ops[*number - 1] : nullptr;
}

std::string operands_text(const TosaOpRow& op) {
  const Tosa080Op* old = old_row(op.op);
  std::string out;
  for (const TosaOperand& row : op.inputs) {
    const bool folded = old != nullptr && slot_of_operand(old->table, row.name, true) != nullptr;
    out += fmt::format("{}{}{}{}{}{}", out.empty() ? "" : ", ", folded ? "*" : "", row.name, folded ? "*" : "",
                       row.kind == TosaOperandKind::kTensorList ? "..." : "",
                       row.constness == TosaConstness::kCompileTime ? "\\*" : "");
  }
  return out;
}

std::string attributes_text(std::span<const TosaAttribute> rows) {
  std::string out;
  for (const TosaAttribute& row : rows) out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out;
}

// Type rows grouped by the extension that they require: "i8,i32; i16,i32 + EXT-INT16".
std::string types_text(const TosaOpRow& row) {
  if (row.types.empty()) return "any";
  std::vector<std::pair<std::string, std::string>> groups;
  for (const TosaTypeRow& types : row.types) {
    std::string names;
    for (size_t i = 0; i < row.type_names.size(); ++i)
      names += (i == 0 ? "" : ",") + std::string(name_of(types.types[i]));
    const std::string needs = features_text(types.any_of);
    const auto known = std::ranges::find(groups, needs, &std::pair<std::string, std::string>::first);
    if (known == groups.end())
      groups.emplace_back(needs, names);
    else
      known->second += "; " + names;
  }
  std::string out;
  for (const auto& [needs, names] : groups) out += fmt::format("{}{} + {}", out.empty() ? "" : "<br>", names, needs);
  return out;
}

std::string old_number(TosaOp op) {
  const auto number = number_in_0_80(op);
  return number ? std::to_string(*number) : "-";
}

std::string operators_table() {
  std::string out;
  std::string_view group;
  for (const TosaOpRow& row : kTosaRows) {
    if (row.group != group) {
      group = row.group;
      out += fmt::format(
          "\n## {}\n\n| operator | section | 0.80 | inputs (\\* constant without EXT-DYNAMIC) | attributes | types "
          "|\n|---|---|---|---|---|---|\n",
          group);
    }
    std::string needs = row.also_needs.bits == 0 ? "" : "<br>all: + " + features_text(row.also_needs);
    out += fmt::format("| {} | {} | {} | {} | {} | {}{} |\n", short_name(name_of(row.op)), row.section,
                       old_number(row.op), operands_text(row), attributes_text(row.attributes), types_text(row), needs);
  }
  return out;
}

std::string rules_table() {
  std::string out = "\n## Rules of the verifier\n\n| rule | operators | what must hold |\n|---|---|---|\n";
  for (const RuleText& rule : rule_texts()) {
    std::string ops;
    for (const TosaOp op : rule.ops) ops += (ops.empty() ? "" : ", ") + short_name(name_of(op));
    out += fmt::format("| {} | {} | {} |\n", rule.id, ops.empty() ? "all" : ops, rule.must);
  }
  return out;
}

// The names of the operators of each group, and how many of them 0.80 has.
std::string names_table() {
  std::string out = "\n| group | operators | of them in 0.80 |\n|---|---|--:|\n";
  for (size_t first = 0; first < std::size(kTosaRows);) {
    const std::string_view group = kTosaRows[first].group;
    std::string names;
    size_t count = 0, old = 0;
    for (; first < std::size(kTosaRows) && kTosaRows[first].group == group; ++first, ++count) {
      names += (names.empty() ? "" : ", ") + short_name(name_of(kTosaRows[first].op));
      old += number_in_0_80(kTosaRows[first].op) ? 1 : 0;
    }
    out += fmt::format("| {} | {} | {} of {} |\n", group, names, old, count);
  }
  return out;
}

}  // namespace

std::string supported_ops_page() {
  return std::string(kTitle) + std::string(kHead) + operators_table() + rules_table();
}

std::string supported_ops_summary() {
  return std::string(kTitle) + std::string(kSummaryHead) + names_table() +
         fmt::format("\nThe verifier has {} rules. A message quotes the number of the rule that is broken.\n",
                     rule_texts().size());
}

}  // namespace carina::tosa
