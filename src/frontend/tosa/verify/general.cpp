#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/checked_math.h"
#include "frontend/tosa/verify/rule.h"
#include "frontend/tosa/verify/shape_pattern_internal.h"
#include "ir/tosa_type.h"

namespace carina::tosa {

namespace {

// The row of an operand. The row of a list applies to all operands from its index on.
const TosaOperand& operand_row(std::span<const TosaOperand> rows, size_t index) {
  return rows[std::min(index, rows.size() - 1)];
}

// Calls visit(row, value) for each operand, inputs before outputs, until it returns a finding.
template <typename Visit>
Problem for_each_operand(const RuleContext& at, const Visit& visit) {
  for (size_t i = 0; i < at.node.inputs.size(); ++i) {
    if (Problem found = visit(operand_row(at.row.inputs, i), at.input(i))) return found;
  }
  for (size_t i = 0; i < at.node.outputs.size(); ++i) {
    if (Problem found = visit(operand_row(at.row.outputs, i), at.output(i))) return found;
  }
  return std::nullopt;
}

// The types at one node, as values of the variables in its type rows. The first operand with a variable defines it.
struct NodeTypes {
  std::array<std::optional<TosaType>, TosaTypeRow::kMaxTypes> types;
  Problem clash;  // two operands with one variable but different types
};

void note_type(NodeTypes& out, const TosaOpRow& row, std::string_view variable, std::optional<TosaType> type,
               std::string_view what) {
  const auto entry = std::ranges::find(row.type_names, variable);
  if (entry == row.type_names.end()) return;
  auto& known = out.types[static_cast<size_t>(entry - row.type_names.begin())];
  const TosaType got = type.value_or(TosaType::kUnknown);
  if (known && *known != got && !out.clash)
    out.clash = fmt::format("{} is {}, but {} is {}", what, name_of(got), variable, name_of(*known));
  known = known.value_or(got);
}

NodeTypes types_of(const RuleContext& at) {
  NodeTypes out;
  for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) {
    note_type(out, at.row, row.type, ir::tosa_type_of(value.dtype), row.name);
    return Problem();
  });
  for (const TosaAttribute& attribute : at.row.attributes) {
    if (attribute.name == "acc_type")
      note_type(out, at.row, "acc_t", ir::tosa_type_of(at.node.attributes.get<DType>("acc_type")), "acc_type");
    if (attribute.name == "type")
      note_type(out, at.row, "in_t", ir::tosa_type_of(at.node.attributes.get<DType>("type")), "type");
  }
  return out;
}

bool matches(const TosaTypeRow& row, const NodeTypes& node) {
  for (size_t i = 0; i < row.types.size(); ++i) {
    if (node.types[i] && row.types[i] != *node.types[i]) return false;
  }
  return true;
}

std::string types_text(const TosaOpRow& row, const NodeTypes& node) {
  std::string out;
  for (size_t i = 0; i < row.type_names.size(); ++i) {
    if (node.types[i])
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", row.type_names[i], name_of(*node.types[i]));
  }
  return out;
}

Problem wrong_fixed_type(const RuleContext& at) {
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    const bool variable = row.type.empty() || std::ranges::find(at.row.type_names, row.type) != at.row.type_names.end();
    if (row.type == "mul_t") {  // follows an attribute of RESCALE
      const DType wanted = at.flag("scale32") ? DType::kInt32 : DType::kInt16;
      return value.dtype == wanted
                 ? std::nullopt
                 : Problem(fmt::format("{} is {}, must be {}", row.name, name_of(value.dtype), name_of(wanted)));
    }
    if (variable || row.type == "index_t") {
      return row.type == "index_t" && value.dtype != DType::kInt32
                 ? Problem(fmt::format("{} is {}, must be i32", row.name, name_of(value.dtype)))
                 : std::nullopt;
    }
    return name_of(value.dtype) == row.type
               ? std::nullopt
               : Problem(fmt::format("{} is {}, must be {}", row.name, name_of(value.dtype), row.type));
  });
}

Problem wrong_types(const RuleContext& at) {
  if (Problem fixed = wrong_fixed_type(at)) return fixed;
  if (at.row.types.empty()) return std::nullopt;
  NodeTypes types = types_of(at);
  if (types.clash) return types.clash;
  if (std::ranges::any_of(at.row.types, [&](const TosaTypeRow& row) { return matches(row, types); }))
    return std::nullopt;
  return types_text(at.row, types);
}

std::string features_text(TosaFeatures features) {
  std::string out;
  for (const TosaFeatureName& row : kTosaFeatureNames) {
    if (features.has(row.feature)) out += (out.empty() ? "" : " or ") + std::string(row.name);
  }
  return out;
}

Problem missing_feature(const RuleContext& at) {
  const TosaFeatures also = at.row.also_needs;
  if (also.bits != 0 && !at.options.features.meets(also)) return "needs " + features_text(also);
  if (at.row.types.empty()) return std::nullopt;
  const NodeTypes types = types_of(at);
  TosaFeatures wanted;
  for (const TosaTypeRow& row : at.row.types) {
    if (!matches(row, types)) continue;
    if (row.any_of.meets(at.options.features)) return std::nullopt;
    wanted.bits |= row.any_of.bits;
  }
  return fmt::format("{} needs {}", types_text(at.row, types), features_text(wanted));
}

Problem wrong_rank(const RuleContext& at) {
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    if (row.kind == TosaOperandKind::kTensorList && row.type.empty()) return std::nullopt;
    const size_t max = row.max_rank == TosaOperand::kMaxRank ? Shape::kMaxRank : row.max_rank;
    if (value.shape.rank() >= row.min_rank && value.shape.rank() <= max) return std::nullopt;
    return fmt::format("{} has rank {}, must be {}", row.name, value.shape.rank(),
                       row.min_rank == max ? std::to_string(max) : fmt::format("{} to {}", row.min_rank, max));
  });
}

// Rejects tensors without elements. Shape values are exempt: the shape of a scalar has no elements.
Problem wrong_size(const RuleContext& at) {
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    if (value.dtype == DType::kShape) return std::nullopt;
    if (std::ranges::all_of(value.shape.dims(), [](int64_t size) { return size >= 1 && size <= INT32_MAX; }))
      return std::nullopt;
    return fmt::format("{} is {}", row.name, carina::to_string(value.shape));
  });
}

Problem over_level_rank(const RuleContext& at) {
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    if (static_cast<int64_t>(value.shape.rank()) <= at.options.level.max_rank || value.dtype == DType::kShape)
      return std::nullopt;
    return fmt::format("{} has rank {}, level {} allows {}", row.name, value.shape.rank(), at.options.level.name,
                       at.options.level.max_rank);
  });
}

Problem over_level_size(const RuleContext& at) {
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    const auto elements = checked_product(value.shape.dims());
    const auto bytes =
        elements ? checked_mul<int64_t>(*elements, std::max<int64_t>(1, row_of(value.dtype).bits / 8)) : std::nullopt;
    const int64_t log2_size = at.options.level.max_log2_size;
    if (bytes && (log2_size >= 63 || *bytes < int64_t{1} << log2_size)) return std::nullopt;
    return fmt::format("{} is {}, level {} allows 2^{} - 1 bytes", row.name, carina::to_string(value.shape),
                       at.options.level.name, log2_size);
  });
}

Problem over_level_list(const RuleContext& at) {
  const auto limit = static_cast<size_t>(at.options.level.max_tensor_list_size);
  const bool list = std::ranges::any_of(
      at.row.inputs, [](const TosaOperand& row) { return row.kind == TosaOperandKind::kTensorList; });
  if (!list || (at.node.inputs.size() <= limit && at.node.outputs.size() <= limit)) return std::nullopt;
  return fmt::format("{} inputs, {} outputs, level {} allows {}", at.node.inputs.size(), at.node.outputs.size(),
                     at.options.level.name, limit);
}

Problem wrong_shape(const RuleContext& at) {
  ShapePattern pattern;
  // The first pass binds the names that the specification gives to operands' axes. The second pass checks axes that are
  // expressions of these names.
  for (const bool expressions : {false, true}) {
    Problem found = for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
      if (row.kind == TosaOperandKind::kTensorList) return std::nullopt;
      const bool has_expression = row.shape.find_first_of("*+/(") != std::string_view::npos;
      return has_expression == expressions ? pattern.match(row.name, row.shape, value.shape) : std::nullopt;
    });
    if (found) return found;
  }
  return std::nullopt;
}

Problem not_constant(const RuleContext& at) {
  if (at.options.features.has(TosaFeature::kExtDynamic)) return std::nullopt;
  return for_each_operand(at, [&](const TosaOperand& row, const ir::Value& value) -> Problem {
    if (row.constness != TosaConstness::kCompileTime || value.constant) return std::nullopt;
    return fmt::format("{} is not a constant", row.name);
  });
}

// Integer types ignore NaN modes, and some writers omit them.
Problem wrong_enum(const RuleContext& at) {
  for (const TosaAttribute& attribute : at.row.attributes) {
    if (attribute.kind != TosaAttributeKind::kEnum) continue;
    const int64_t value = at.integer(attribute.name);
    if (attribute.name == "nan_mode" && !at.node.inputs.empty() && !is_float(at.input(0).dtype)) continue;
    if (std::ranges::find(attribute.values, value, &TosaEnumValue::value) == attribute.values.end()) {
      return fmt::format("{} is {}", attribute.name, value);
    }
  }
  return std::nullopt;
}

Problem wide_integer(const RuleContext& at) {
  const auto fits = [](int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; };
  for (const auto& [name, value] : at.node.attributes.list()) {
    const auto* number = std::get_if<int64_t>(&value);
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    const bool scalar = name == "min_val" || name == "max_val";  // these have the tensor's type
    if (number != nullptr && !scalar && !fits(*number)) return fmt::format("{} is {}", name, *number);
    if (list != nullptr && !std::ranges::all_of(*list, fits)) return fmt::format("{} is {}", name, to_string(*list));
  }
  return std::nullopt;
}

constexpr auto kRules = std::to_array<Rule>({
    {.id = "ATTRIBUTE.1", .must = "integers of attributes must fit 32 bits", .broken = wide_integer},
    {.id = "TYPE.1",
     .must = "the types must be a row of the operator's table of supported types",
     .broken = wrong_types},
    {.id = "PROFILE.1",
     .must = "the types must be of a profile or extension that is enabled",
     .broken = missing_feature},
    {.id = "RANK.1", .must = "operands must have the rank that the operator wants", .broken = wrong_rank},
    {.id = "SHAPE.1", .must = "each size must be at least 1, and fit 32 bits", .broken = wrong_size},
    {.id = "SHAPE.2", .must = "the shapes must fit each other", .broken = wrong_shape},
    {.id = "LEVEL.1", .must = "ranks must keep to the level's MAX_RANK", .broken = over_level_rank},
    {.id = "LEVEL.2", .must = "sizes must keep to the level's MAX_LOG2_SIZE", .broken = over_level_size},
    {.id = "LEVEL.3", .must = "lists must keep to the level's MAX_TENSOR_LIST_SIZE", .broken = over_level_list},
    {.id = "CONST.1", .must = "the operand must be a constant, unless EXT-DYNAMIC is enabled", .broken = not_constant},
    {.id = "ENUM.1", .must = "the attribute must be one of its named values", .broken = wrong_enum},
});

}  // namespace

std::span<const Rule> general_rules() {
  return kRules;
}

}  // namespace carina::tosa
