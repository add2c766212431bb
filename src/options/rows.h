// Declares the rows of carina/options.def as data, for the command line and the Python module.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carina/options.h"

namespace carina::options {

// How text becomes a value.
enum class OptionKind : uint8_t {
  kFlag,       // bool
  kCount,      // int64_t in the row's range
  kBytes,      // int64_t: "512K"
  kText,       // std::string
  kName,       // std::string in lower case
  kScheme,     // std::string, of models::scheme_error()
  kPath,       // std::string, not empty
  kInput,      // likewise, of a file or folder to read, or - for standard input
  kChoice,     // an enumeration: CARINA_OPTION_VALUE
  kTexts,      // std::vector<std::string>, one element for each time that the option is given
  kOverrides,  // likewise, of models::override_error()
  kPaths,      // likewise, of paths
};

// The commands that take an option.
enum class OptionGroup : uint8_t {
  kTarget,
  kBoard,
  kMemory,
  kQuantize,
  kPartition,
  kSchedule,
  kLiteRt,
  kLoop,
  kMethods,
  kCompile,
  kCheck
};

struct OptionRow {
  OptionGroup group;
  const char* member;
  OptionKind kind;
  std::string_view range;  // "1..1024", or empty
  const char* names;       // "-O,--optimize"; empty: not on the command line
  const char* help;
};

// A flag that sets a member to `value`.
template <typename Value>
struct OptionFlag {
  OptionGroup group;
  Value value;
  const char* names;
  const char* help;
};

// Calls visit(row, pointer to member) for each option of a stage's struct, in the order of the table.
template <typename Stage, typename Visitor>
void visit_options(Visitor&& visit) {
#define CARINA_ROW(stage, group, type, member, initial, kind, range, names, python, json, help) \
  if constexpr (std::is_same_v<Stage, stage>)                                                   \
    visit(OptionRow{OptionGroup::group, #member, OptionKind::kind, range, names, help}, &Stage::member);
#define CARINA_TARGET_OPTION(...) CARINA_ROW(TargetOptions, __VA_ARGS__)
#define CARINA_QUANTIZE_OPTION(...) CARINA_ROW(QuantizeOptions, __VA_ARGS__)
#define CARINA_PARTITION_OPTION(...) CARINA_ROW(PartitionOptions, __VA_ARGS__)
#define CARINA_SCHEDULE_OPTION(...) CARINA_ROW(ScheduleOptions, __VA_ARGS__)
#define CARINA_PIPELINE_OPTION(...) CARINA_ROW(PipelineOptions, __VA_ARGS__)
#define CARINA_DRIVER_OPTION(...) CARINA_ROW(DriverOptions, __VA_ARGS__)
#include "carina/options.def"
#undef CARINA_ROW
}

// Calls visit(flag, pointer to member) for each flag of PartitionOptions.
template <typename Visitor>
void visit_flags(Visitor&& visit) {
#define CARINA_PARTITION_FLAG(group, member, value, names, python, help)                        \
  visit(OptionFlag<decltype(PartitionOptions::member)>{OptionGroup::group, value, names, help}, \
        &PartitionOptions::member);
#include "carina/options.def"
}

// Returns the names of an enumeration and their values. Several names may have one value; the first is that of reports.
template <typename Enum>
std::vector<std::pair<std::string_view, Enum>> names_of() {
  std::vector<std::pair<std::string_view, Enum>> names;
#define CARINA_OPTION_VALUE(type, value, name) \
  if constexpr (std::is_same_v<Enum, type>) names.emplace_back(name, type::value);
#include "carina/options.def"
  return names;
}

// Returns the first name of a value; empty for a value that has none.
template <typename Enum>
std::string_view name_of_value(Enum wanted) {
  for (const auto& [name, value] : names_of<Enum>()) {
    if (value == wanted) return name;
  }
  return {};
}

}  // namespace carina::options
