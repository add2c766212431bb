#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/nearest.h"
#include "carina/api.h"
#include "driver/compile.h"
#include "execute/run_program.h"
#include "listeners.h"
#include "options/rows.h"

namespace carina::python {

// The names of an enumeration in Python: those of carina/options.def, or of a specialization below.
template <typename Enum>
struct EnumNames {
  static inline const std::vector<std::pair<std::string_view, Enum>> kAll = options::names_of<Enum>();
};

template <>
struct EnumNames<execute::VgfDevice> {
  static constexpr std::array<std::pair<std::string_view, execute::VgfDevice>, 2> kAll{
      {{"host", execute::VgfDevice::kInterpreter}, {"vulkan", execute::VgfDevice::kVulkan}}};
};

template <>
struct EnumNames<driver::CompileRequest::Output> {
  static constexpr std::array<std::pair<std::string_view, driver::CompileRequest::Output>, 4> kAll{
      {{"program", driver::CompileRequest::Output::kProgram},
       {"stream", driver::CompileRequest::Output::kStream},
       {"tflite", driver::CompileRequest::Output::kTflite},
       {"vgf", driver::CompileRequest::Output::kVgf}}};
};

// Raises UsageError for another name; `where` is the argument's name.
template <typename Enum>
Enum enum_of(std::string_view word, std::string_view where) {
  const auto& all = EnumNames<Enum>::kAll;
  const auto found = std::ranges::find(all, word, [](const auto& row) { return row.first; });
  if (found != all.end()) return found->second;
  std::string names;
  for (const auto& [name, value] : all) names += (names.empty() ? "" : ", ") + std::string(name);
  raise({{.where = std::string(where),
          .what = "unknown name",
          .expected = names,
          .got = std::string(word),
          .hint = nearest_hint(word, names),
          .fault = Fault::kUsage}});
}

template <typename Enum>
std::string_view name_of_enum(Enum value) {
  const auto& all = EnumNames<Enum>::kAll;
  return std::ranges::find(all, value, [](const auto& row) { return row.second; })->first;
}

}  // namespace carina::python
