#include "carina/names.h"

#include "options/rows.h"

// Names of the API's enumerations, as options and JSON spell them.
namespace carina {

namespace {

constexpr std::string_view kUnknown = "unknown";

template <typename Enum>
std::string_view name_in_options(Enum value) noexcept {
  const std::string_view name = options::name_of_value(value);
  return name.empty() ? kUnknown : name;
}

}  // namespace

namespace results {

std::string_view name_of(RunsOn runs_on) noexcept {
  switch (runs_on) {
    case RunsOn::kNpu:
      return "npu";
    case RunsOn::kCpu:
      return "cpu";
    case RunsOn::kBoth:
      return "npu+cpu";
    case RunsOn::kFolded:
      return "folded";
    case RunsOn::kNowhere:
      return "nowhere";
    case RunsOn::kUndecided:
      return "undecided";
  }
  return kUnknown;
}

}  // namespace results

namespace options {

std::string_view name_of(Optimize optimize) noexcept {
  return name_in_options(optimize);
}

std::string_view name_of(DelegateMode delegates) noexcept {
  return name_in_options(delegates);
}

std::string_view name_of(CpuKernels kernels) noexcept {
  return name_in_options(kernels);
}

std::string_view name_of(QuantizeMode mode) noexcept {
  switch (mode) {
    case QuantizeMode::kAuto:
      return "auto";
    case QuantizeMode::kNone:
      return "none";
    case QuantizeMode::kAlways:
      return "always";
  }
  return kUnknown;
}

}  // namespace options

}  // namespace carina
