#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "frontend/tosa/verify/rule.h"

namespace carina::tosa {

namespace {

// Rules of section 2.10.
Problem same_rank(const RuleContext& at) {
  if (at.in_shape(0).rank() == at.out_shape(0).rank()) return std::nullopt;
  return fmt::format("{} and {}", carina::to_string(at.in_shape(0)), carina::to_string(at.out_shape(0)));
}

Problem axis_range(const RuleContext& at) {
  const int64_t axis = at.integer("axis");
  if (axis >= 0 && axis < static_cast<int64_t>(at.in_shape(0).rank())) return std::nullopt;
  return fmt::format("{} for {}", axis, carina::to_string(at.in_shape(0)));
}

Problem concat_inputs(const RuleContext& at) {
  return at.node.inputs.empty() ? Problem("none") : std::nullopt;
}

Problem concat_shapes(const RuleContext& at) {
  const auto joined = static_cast<size_t>(at.integer("axis"));
  for (size_t i = 1; i < at.node.inputs.size(); ++i) {
    Shape shape = at.in_shape(i);
    const bool ranks = shape.rank() == at.in_shape(0).rank();
    if (ranks) shape[joined] = at.in_shape(0)[joined];
    if (!ranks || shape != at.in_shape(0))
      return fmt::format("{} and {}", carina::to_string(at.in_shape(0)), carina::to_string(at.in_shape(i)));
  }
  return std::nullopt;
}

Problem concat_output(const RuleContext& at) {
  Shape wanted = at.in_shape(0);
  const auto joined = static_cast<size_t>(at.integer("axis"));
  for (size_t i = 1; i < at.node.inputs.size(); ++i) {
    const auto sum = checked_add(wanted[joined], at.in_shape(i)[joined]);
    if (!sum) return "sizes whose sum overflows";
    wanted[joined] = *sum;
  }
  if (wanted == at.out_shape(0)) return std::nullopt;
  return fmt::format("{}, must be {}", carina::to_string(at.out_shape(0)), carina::to_string(wanted));
}

Problem pad_amounts(const RuleContext& at) {
  const auto padding = constant_ints(at.input(1));
  if (!padding || std::ranges::all_of(*padding, [](int64_t amount) { return amount >= 0; })) return std::nullopt;
  return to_string(*padding);
}

Problem pad_output(const RuleContext& at) {
  const auto padding = constant_ints(at.input(1));
  if (!padding) return std::nullopt;
  for (size_t axis = 0; axis < at.in_shape(0).rank(); ++axis) {
    const auto padded = checked_add((*padding)[2 * axis], (*padding)[2 * axis + 1]);
    const auto wanted = padded ? checked_add(*padded, at.in_shape(0)[axis]) : std::nullopt;
    if (!wanted || *wanted != at.out_shape(0)[axis]) {
      return fmt::format("{} from {} with {}", carina::to_string(at.out_shape(0)), carina::to_string(at.in_shape(0)),
                         to_string(*padding));
    }
  }
  return std::nullopt;
}

Problem reshape_elements(const RuleContext& at) {
  if (checked_product(at.in_shape(0).dims()) == checked_product(at.out_shape(0).dims())) return std::nullopt;
  return fmt::format("{} and {}", carina::to_string(at.in_shape(0)), carina::to_string(at.out_shape(0)));
}

Problem reshape_shape(const RuleContext& at) {
  const auto shape = constant_ints(at.input(1));
  if (!shape || std::ranges::equal(*shape, at.out_shape(0).dims())) return std::nullopt;
  return fmt::format("{}, output {}", to_string(*shape), carina::to_string(at.out_shape(0)));
}

Problem slice_start(const RuleContext& at) {
  const auto start = constant_ints(at.input(1));
  if (!start || std::ranges::all_of(*start, [](int64_t from) { return from >= 0; })) return std::nullopt;
  return to_string(*start);
}

Problem slice_size(const RuleContext& at) {
  const auto size = constant_ints(at.input(2));
  if (!size || std::ranges::all_of(*size, [](int64_t count) { return count > 0; })) return std::nullopt;
  return to_string(*size);
}

Problem slice_bounds(const RuleContext& at) {
  const auto start = constant_ints(at.input(1));
  const auto size = constant_ints(at.input(2));
  if (!start || !size) return std::nullopt;
  for (size_t axis = 0; axis < at.in_shape(0).rank(); ++axis) {
    const auto end = checked_add((*start)[axis], (*size)[axis]);
    if (!end || *end > at.in_shape(0)[axis])
      return fmt::format("start {}, size {} of {}", to_string(*start), to_string(*size),
                         carina::to_string(at.in_shape(0)));
  }
  return std::nullopt;
}

Problem slice_output(const RuleContext& at) {
  const auto size = constant_ints(at.input(2));
  if (!size || std::ranges::equal(*size, at.out_shape(0).dims())) return std::nullopt;
  return fmt::format("{}, size {}", carina::to_string(at.out_shape(0)), to_string(*size));
}

Problem tile_output(const RuleContext& at) {
  const auto multiples = constant_ints(at.input(1));
  if (!multiples) return std::nullopt;
  for (size_t axis = 0; axis < at.in_shape(0).rank(); ++axis) {
    const auto wanted = checked_mul(at.in_shape(0)[axis], (*multiples)[axis]);
    if (!wanted || *wanted != at.out_shape(0)[axis]) {
      return fmt::format("{} from {} times {}", carina::to_string(at.out_shape(0)), carina::to_string(at.in_shape(0)),
                         to_string(*multiples));
    }
  }
  return std::nullopt;
}

Problem permutation(const RuleContext& at) {
  const auto& perms = at.ints("perms");
  std::vector<bool> used(at.in_shape(0).rank(), false);
  if (perms.size() != used.size()) return fmt::format("{} for {}", to_string(perms), carina::to_string(at.in_shape(0)));
  for (const int64_t axis : perms) {
    if (axis < 0 || axis >= static_cast<int64_t>(used.size()) || used[static_cast<size_t>(axis)])
      return to_string(perms);
    used[static_cast<size_t>(axis)] = true;
  }
  return std::nullopt;
}

Problem transposed_shape(const RuleContext& at) {
  const auto& perms = at.ints("perms");
  for (size_t axis = 0; axis < perms.size(); ++axis) {
    if (at.in_shape(0)[static_cast<size_t>(perms[axis])] != at.out_shape(0)[axis]) {
      return fmt::format("{} from {} with {}", carina::to_string(at.out_shape(0)), carina::to_string(at.in_shape(0)),
                         to_string(perms));
    }
  }
  return std::nullopt;
}

constexpr auto kConcat = std::to_array<Rule>({
    {.id = "CONCAT.1", .must = "there must be at least one input", .broken = concat_inputs},
    {.id = "CONCAT.2", .must = "the axis must be one of the inputs'", .broken = axis_range},
    {.id = "CONCAT.3", .must = "the inputs' shapes must agree except at the axis", .broken = concat_shapes},
    {.id = "CONCAT.4", .must = "the output must have the sum of the inputs at the axis", .broken = concat_output},
});
constexpr auto kPad = std::to_array<Rule>({
    {.id = "PAD.1", .must = "input and output must have the same rank", .broken = same_rank},
    {.id = "PAD.2", .must = "padding must not be negative", .broken = pad_amounts},
    {.id = "PAD.3", .must = "the output's sizes must be the input's with the padding", .broken = pad_output},
});
constexpr auto kReshape = std::to_array<Rule>({
    {.id = "RESHAPE.1", .must = "input and output must have as many elements", .broken = reshape_elements},
    {.id = "RESHAPE.2", .must = "the output must have the shape that the operand says", .broken = reshape_shape},
});
constexpr auto kReverse =
    std::to_array<Rule>({{.id = "REVERSE.1", .must = "the axis must be one of the input's", .broken = axis_range}});
constexpr auto kSlice = std::to_array<Rule>({
    {.id = "SLICE.1", .must = "input and output must have the same rank", .broken = same_rank},
    {.id = "SLICE.2", .must = "starts must not be negative", .broken = slice_start},
    {.id = "SLICE.3", .must = "sizes must be positive", .broken = slice_size},
    {.id = "SLICE.4", .must = "the slice must lie inside the input", .broken = slice_bounds},
    {.id = "SLICE.5", .must = "the output must have the slice's size", .broken = slice_output},
});
constexpr auto kTile = std::to_array<Rule>({
    {.id = "TILE.1", .must = "input and output must have the same rank", .broken = same_rank},
    {.id = "TILE.2", .must = "the output's sizes must be the input's times the multiples", .broken = tile_output},
});
constexpr auto kTranspose = std::to_array<Rule>({
    {.id = "TRANSPOSE.1", .must = "input and output must have the same rank", .broken = same_rank},
    {.id = "TRANSPOSE.2", .must = "perms must name each axis once", .broken = permutation},
    {.id = "TRANSPOSE.3",
     .must = "the output's sizes must be the input's in the order of perms",
     .broken = transposed_shape},
});

constexpr auto kLayoutFamily = std::to_array<OpRules>({
    {.op = TosaOp::CONCAT, .rules = kConcat},
    {.op = TosaOp::PAD, .rules = kPad},
    {.op = TosaOp::RESHAPE, .rules = kReshape},
    {.op = TosaOp::REVERSE, .rules = kReverse},
    {.op = TosaOp::SLICE, .rules = kSlice},
    {.op = TosaOp::TILE, .rules = kTile},
    {.op = TosaOp::TRANSPOSE, .rules = kTranspose},
});

}  // namespace

std::span<const OpRules> layout_rules() {
  return kLayoutFamily;
}

}  // namespace carina::tosa
