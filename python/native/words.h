#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "driver/api.h"
#include "driver/compile.h"
#include "listeners.h"

namespace carina::python {

// The words of an enumeration in Python.
template <typename Enum>
struct Words;

template <>
struct Words<driver::DelegateMode> {
  static constexpr std::array<std::pair<std::string_view, driver::DelegateMode>, 3> kAll{
      {{"npu", driver::DelegateMode::kNpu},
       {"all", driver::DelegateMode::kAll},
       {"nothing", driver::DelegateMode::kNothing}}};
};

template <>
struct Words<driver::Optimise> {
  static constexpr std::array<std::pair<std::string_view, driver::Optimise>, 7> kAll{
      {{"speed", driver::Optimise::kSpeed},
       {"search", driver::Optimise::kSearch},
       {"size", driver::Optimise::kSize},
       {"performance", driver::Optimise::kSpeed},
       {"2", driver::Optimise::kSpeed},
       {"3", driver::Optimise::kSearch},
       {"s", driver::Optimise::kSize}}};
};

template <>
struct Words<driver::CpuKernels> {
  static constexpr std::array<std::pair<std::string_view, driver::CpuKernels>, 2> kAll{
      {{"portable", driver::CpuKernels::kPortable}, {"cortex-m", driver::CpuKernels::kCortexM}}};
};

template <>
struct Words<driver::VgfDevice> {
  static constexpr std::array<std::pair<std::string_view, driver::VgfDevice>, 2> kAll{
      {{"host", driver::VgfDevice::kInterpreter}, {"vulkan", driver::VgfDevice::kVulkan}}};
};

template <>
struct Words<driver::CompileRequest::Output> {
  static constexpr std::array<std::pair<std::string_view, driver::CompileRequest::Output>, 3> kAll{
      {{"program", driver::CompileRequest::Output::kProgram},
       {"stream", driver::CompileRequest::Output::kStream},
       {"vgf", driver::CompileRequest::Output::kVgf}}};
};

// Raises UsageError for another word; `where` is the argument's name.
template <typename Enum>
Enum word_of(std::string_view word, std::string_view where) {
  const auto& all = Words<Enum>::kAll;
  const auto* found = std::ranges::find(all, word, [](const auto& row) { return row.first; });
  if (found != all.end()) return found->second;
  std::string names;
  for (const auto& [name, value] : all) names += (names.empty() ? "" : ", ") + std::string(name);
  raise({{.where = std::string(where),
          .what = "unknown word",
          .expected = names,
          .got = std::string(word),
          .fault = Fault::kUsage}});
}

template <typename Enum>
std::string_view word_for(Enum value) {
  const auto& all = Words<Enum>::kAll;
  return std::ranges::find(all, value, [](const auto& row) { return row.second; })->first;
}

}  // namespace carina::python
