#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "enum_names.h"
#include "options/rows.h"

// Keyword arguments of functions that take the options of a stage (carina/options.def), by their members.
namespace carina::python {

// Sets the members that `named` has. Raises TypeError: a name that is no member, or a value of another type;
// UsageError: an unknown name of a choice.
template <typename Stage>
void set_options(Stage& stage, const nanobind::kwargs& named) {
  for (const auto& [key, value] : named) {
    const std::string name = nanobind::cast<std::string>(key);
    bool known = false;
    options::visit_options<Stage>([&](const options::OptionRow& row, auto member) {
      if (row.member != name) return;
      known = true;
      using Value = std::remove_reference_t<decltype(std::declval<Stage&>().*member)>;
      try {
        if constexpr (std::is_enum_v<Value>)
          stage.*member = enum_of<Value>(nanobind::cast<std::string>(value), name);
        else
          stage.*member = nanobind::cast<Value>(value);
      } catch (const nanobind::cast_error&) {
        throw nanobind::type_error(("the option '" + name + "' does not take such a value").c_str());
      }
    });
    if (!known) throw nanobind::type_error(("unknown option '" + name + "'").c_str());
  }
}

// The type of an option in stubs.
template <typename Value>
constexpr std::string_view type_in_python() {
  if constexpr (std::is_same_v<Value, bool>) return "bool";
  if constexpr (std::is_same_v<Value, int64_t>) return "int";
  if constexpr (std::is_same_v<Value, std::vector<std::string>>) return "Sequence[str]";
  return "str";  // and choices, by name
}

// The signature of a function that takes the options of a stage: `before`, the options, the listeners, `result`.
template <typename Stage>
std::string signature_with_options(std::string_view before, std::string_view result) {
  std::string text(before);
  options::visit_options<Stage>([&](const options::OptionRow& row, auto member) {
    using Value = std::remove_reference_t<decltype(std::declval<Stage&>().*member)>;
    text += std::string(row.member) + ": " + std::string(type_in_python<Value>()) + " = ..., ";
  });
  text += "note: Callable[[Diagnostic], None] | None = None, ";
  text += "progress: Callable[[str, int, int], None] | None = None) -> " + std::string(result);
  return text;
}

// The help of a function that takes the options of a stage, with a line for each.
template <typename Stage>
std::string help_with_options(std::string_view help) {
  std::string text(help);
  text += "\n\nOptions:\n";
  options::visit_options<Stage>(
      [&](const options::OptionRow& row, auto) { text += std::string("    ") + row.member + ": " + row.help + ".\n"; });
  return text;
}

}  // namespace carina::python
