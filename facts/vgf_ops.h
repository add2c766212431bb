#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "facts/tosa_rows.h"
#include "facts/vgf_form.h"

// Lookups of the SPIR-V forms of the TOSA operators, which stand in the operators' rows (facts/vgf_form.h).
namespace carina {

inline constexpr std::string_view kVgfInstructionSet = "TOSA.001000.1";

namespace detail {

// A row has every attribute of the TOSA row exactly once, or a reason.
constexpr bool has_sound_vgf_form(const TosaOpRow& row) {
  const VgfForm& form = row.vgf;
  if (form.treatment != VgfTreatment::kInstruction) return !form.reason.empty() && form.attributes.empty();
  return form.reason.empty() && row.attributes.size() == form.attributes.size() &&
         std::ranges::all_of(row.attributes, [&](const TosaAttribute& attribute) {
           return std::ranges::count(form.attributes, attribute.name) == 1;
         });
}

// No two operators have the same instruction.
constexpr bool has_own_vgf_instruction(const TosaOpRow& row) {
  return std::ranges::count_if(kTosaRows, [&](const TosaOpRow& other) {
           return row.vgf.treatment == VgfTreatment::kInstruction && other.vgf.treatment == row.vgf.treatment &&
                  other.vgf.instruction == row.vgf.instruction;
         }) <= 1;
}

}  // namespace detail

static_assert(std::ranges::all_of(kTosaRows, detail::has_sound_vgf_form));
static_assert(std::ranges::all_of(kTosaRows, detail::has_own_vgf_instruction));

constexpr const VgfForm& vgf_form_of(TosaOp op) {
  return row_of(op).vgf;
}

// The operator of an instruction; nullptr if there is none.
constexpr const TosaOpRow* find_vgf_instruction(uint32_t number) {
  for (const TosaOpRow& row : kTosaRows) {
    if (row.vgf.treatment == VgfTreatment::kInstruction && row.vgf.instruction == number) return &row;
  }
  return nullptr;
}

// acc_type has its own numbers. nan_mode, rounding_mode and mode have TOSA's.
struct VgfAccType {
  TosaType type;
  uint32_t number;
};
inline constexpr auto kVgfAccTypes = std::to_array<VgfAccType>({
    {TosaType::kInt32, 1},
    {TosaType::kFp16, 2},
    {TosaType::kFp32, 3},
    {TosaType::kInt48, 4},
});

}  // namespace carina
