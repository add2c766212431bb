#include "api/set_option_internal.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text/nearest.h"
#include "models/quantize_flags.h"
#include "options/rows.h"

// Texts become the members of a request by the rows of carina/options.def, for callers without the types of C++.
namespace carina::api {

namespace {

using options::OptionKind;
using options::OptionRow;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The long names of a row, without dashes: "arena-cache-size" and "arena_cache_size".
std::vector<std::string_view> long_names(std::string_view names) {
  std::vector<std::string_view> found;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    if (names.starts_with("--")) found.push_back(names.substr(2, comma - 2));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return found;
}

// "2097152", "2M"
std::optional<int64_t> bytes_of_text(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string unit = in_lower_case(std::string_view(end, text.data() + text.size()));
  constexpr std::string_view kUnits = "kmg";
  if (unit.empty()) return number;
  const size_t power = kUnits.find(unit.front());
  if (power == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "b" && unit.substr(1) != "ib"))
    return std::nullopt;
  const int64_t factor = int64_t{1} << (10 * (power + 1));
  if (number > std::numeric_limits<int64_t>::max() / factor) return std::nullopt;
  return number * factor;
}

// A whole number in "1..1024".
std::optional<int64_t> count_of_text(std::string_view text, std::string_view range) {
  const auto number_of = [](std::string_view digits) -> std::optional<int64_t> {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return number;
  };
  const size_t dots = range.find("..");
  const std::optional<int64_t> number = number_of(text);
  if (!number || *number < number_of(range.substr(0, dots)) || *number > number_of(range.substr(dots + 2)))
    return std::nullopt;
  return number;
}

// Each set() returns what is wrong, or an empty string.
std::string set(const OptionRow&, bool& member, std::string_view text) {
  if (!text.empty() && text != "true" && text != "false") return "expected true or false";
  member = text != "false";
  return {};
}

template <typename Number>
  requires std::is_same_v<Number, int64_t> || std::is_same_v<Number, std::optional<int64_t>>
std::string set(const OptionRow& row, Number& member, std::string_view text) {
  const bool is_bytes = row.kind == OptionKind::kBytes;
  const std::optional<int64_t> number = is_bytes ? bytes_of_text(text) : count_of_text(text, row.range);
  if (!number)
    return "expected " + (is_bytes ? "a number of bytes, with K, M or G after it or not" : std::string(row.range));
  member = *number;
  return {};
}

template <typename Enum>
  requires std::is_enum_v<Enum>
std::string set(const OptionRow&, Enum& member, std::string_view text) {
  std::string names;
  for (const auto& [name, value] : options::names_of<Enum>()) {
    if (name == text) {
      member = value;
      return {};
    }
    names += (names.empty() ? "expected " : ", ") + std::string(name);
  }
  return names;
}

std::string set(const OptionRow& row, std::string& member, std::string_view text) {
  const bool is_name = row.kind == OptionKind::kName || row.kind == OptionKind::kScheme;
  std::string value = is_name ? in_lower_case(text) : std::string(text);
  std::string wrong = row.kind == OptionKind::kScheme ? models::scheme_error(value) : "";
  if (wrong.empty()) member = std::move(value);
  return wrong;
}

std::string set(const OptionRow& row, std::vector<std::string>& member, std::string_view text) {
  std::string wrong = row.kind == OptionKind::kOverrides ? models::override_error(text) : "";
  if (wrong.empty()) member.emplace_back(text);
  return wrong;
}

// Sets the option of one stage that has the name.
class Setter {
 public:
  Setter(std::string_view name, std::string_view value) : name_(name), value_(value) {}

  template <typename Stage>
  void visit(Stage& stage) {
    options::visit_options<Stage>([&](const OptionRow& row, auto member) {
      if (row.kind != OptionKind::kPaths && is_called(row.names)) wrong_ = set(row, stage.*member, value_);
    });
  }

  void visit_flags(options::PartitionOptions& stage) {
    options::visit_flags([&](const auto& flag, auto member) {
      if (!is_called(flag.names)) return;
      if (!value_.empty() && value_ != "true") wrong_ = "expected true";
      stage.*member = flag.value;
    });
  }

  [[nodiscard]] Result<void> result() const {
    if (known_ && wrong_.empty()) return {};
    if (known_)
      return fail({.where = std::string(name_),
                   .what = "the option does not take this value: " + wrong_,
                   .got = std::string(value_),
                   .fault = Fault::kUsage});
    return fail({.where = "options",
                 .what = "unknown option",
                 .got = std::string(name_),
                 .hint = nearest_hint(name_, {all_.begin(), all_.end()}),
                 .fault = Fault::kUsage});
  }

 private:
  bool is_called(std::string_view names) {
    bool found = false;
    for (const std::string_view name : long_names(names)) {
      all_.emplace_back(name);
      found = found || name == name_;
    }
    known_ = known_ || found;
    return found;
  }

  std::string_view name_;
  std::string_view value_;
  bool known_ = false;
  std::string wrong_ = {};
  std::vector<std::string> all_ = {};
};

}  // namespace

Result<void> set_option(driver::CompileRequest& request, std::string_view name, std::string_view value) {
  if (name.starts_with("--")) name.remove_prefix(2);
  Setter setter(name, value);
  setter.visit<options::TargetOptions>(request.target);
  setter.visit<options::QuantizeOptions>(request.quantize);
  setter.visit_flags(request);
  setter.visit<options::PartitionOptions>(request);
  setter.visit<options::PipelineOptions>(request);
  setter.visit<options::ScheduleOptions>(request);
  return setter.result();
}

}  // namespace carina::api
