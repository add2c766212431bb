#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "facts/npu_targets.h"

// Names of table rows, for messages and for lookups that ignore case.
namespace carina::npu {

// The names of the rows that `wanted` accepts, as messages list them: "Sram_Only, Shared_Sram".
template <typename Rows, typename Wanted>
std::string names_of(const Rows& rows, const Wanted& wanted) {
  std::string names;
  for (const auto& row : rows) {
    if (!wanted(row)) continue;
    if (!names.empty()) names += ", ";
    names += row.name;
  }
  return names;
}
template <typename Rows>
std::string names_of(const Rows& rows) {
  return names_of(rows, [](const auto&) { return true; });
}

// Returns whether two names are equal except for the case of ASCII letters.
inline bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The row's spelling of the name if only the case differs; otherwise the name as it is.
template <typename Rows>
std::string_view row_name(const Rows& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (same_name(row.name, name)) return row.name;
  }
  return name;
}

}  // namespace carina::npu
