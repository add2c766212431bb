#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "facts/npu_targets.h"

namespace carina::npu {

// The names of those rows of a table of facts that `wanted` takes, as messages list them: "Sram_Only, Shared_Sram".
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

// Whether two names differ in the case of ASCII letters at most.
inline bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// The name as its row has it, when it differs from that in case only; else as it is.
template <typename Rows>
std::string_view row_name(const Rows& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (same_name(row.name, name)) return row.name;
  }
  return name;
}

}  // namespace carina::npu
