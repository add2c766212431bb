#include "ir/tosa_node.h"

#include <fmt/format.h>

#include "carina/check.h"
#include "facts/tosa_rows.h"

namespace carina::ir {

namespace {

Result<void> check_count(std::span<const TosaOperand> rows, size_t count, std::string_view what,
                         const std::string& where) {
  const bool list = !rows.empty() && rows.back().kind == TosaOperandKind::kTensorList;
  const size_t needed = rows.size() - (list ? 1 : 0);
  if (list ? count >= needed : count == needed) return {};
  return fail({.where = where,
               .what = fmt::format("wrong number of {}", what),
               .expected = fmt::format("{}{}", needed, list ? " or more" : ""),
               .got = std::to_string(count)});
}

bool is_of_kind(const Attribute& value, TosaAttributeKind kind) {
  switch (kind) {
    case TosaAttributeKind::kBool:
      return std::holds_alternative<bool>(value);
    case TosaAttributeKind::kInt:
    case TosaAttributeKind::kEnum:
      return std::holds_alternative<int64_t>(value);
    case TosaAttributeKind::kInts:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case TosaAttributeKind::kType:
      return std::holds_alternative<DType>(value);
    case TosaAttributeKind::kScalar:
      return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    case TosaAttributeKind::kString:
    case TosaAttributeKind::kGraph:
      return std::holds_alternative<std::string>(value);
    case TosaAttributeKind::kBytes:
      return std::holds_alternative<Bytes>(value);
  }
  CARINA_UNREACHABLE("attribute kind", kind);
}

std::string_view kind_name(TosaAttributeKind kind) {
  switch (kind) {
    case TosaAttributeKind::kBool:
      return "true or false";
    case TosaAttributeKind::kInt:
      return "a whole number";
    case TosaAttributeKind::kEnum:
      return "one of its names";
    case TosaAttributeKind::kInts:
      return "a list of whole numbers";
    case TosaAttributeKind::kType:
      return "a type";
    case TosaAttributeKind::kScalar:
      return "a number";
    case TosaAttributeKind::kString:
      return "text";
    case TosaAttributeKind::kGraph:
      return "the name of a graph";
    case TosaAttributeKind::kBytes:
      return "bytes";
  }
  CARINA_UNREACHABLE("attribute kind", kind);
}

Result<void> check_attribute(const TosaAttribute& row, const Attributes& attributes, const std::string& where) {
  const Attribute* value = attributes.find(row.name);
  if (value == nullptr) return fail({.where = where, .what = fmt::format("attribute {} is missing", row.name)});
  if (!is_of_kind(*value, row.kind)) {
    return fail({.where = where,
                 .what = fmt::format("attribute {} is of the wrong kind", row.name),
                 .expected = std::string(kind_name(row.kind))});
  }
  const auto* list = std::get_if<std::vector<int64_t>>(value);
  if (list != nullptr && row.count != 0 && list->size() != row.count) {
    return fail({.where = where,
                 .what = fmt::format("attribute {} has the wrong length", row.name),
                 .expected = std::to_string(row.count),
                 .got = std::to_string(list->size())});
  }
  return {};
}

}  // namespace

Result<void> check_row(const Node& node, const std::string& where) {
  const TosaOpRow& row = row_of(node.op.tosa());
  CARINA_CHECKED(check_count(row.inputs, node.inputs.size(), "inputs", where));
  CARINA_CHECKED(check_count(row.outputs, node.outputs.size(), "outputs", where));
  for (const TosaAttribute& attribute : row.attributes)
    CARINA_CHECKED(check_attribute(attribute, node.attributes, where));
  for (const auto& [name, value] : node.attributes.list()) {
    if (std::ranges::find(row.attributes, name, &TosaAttribute::name) == row.attributes.end()) {
      return fail({.where = where, .what = fmt::format("attribute {} is not one of {}", name, name_of(row.op))});
    }
  }
  return {};
}

}  // namespace carina::ir
