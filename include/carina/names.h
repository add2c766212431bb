// Declares the names of enumerators, for messages and logs.
#pragma once

#include <string_view>

#include "carina/compile_report.h"
#include "carina/options.h"
#include "carina/result.h"

// Each function returns the name that the command line, its JSON and options.def use; "unknown" for a value that is no
// enumerator. name_of() of DType is in carina/dtype.h, those of Fault and Severity are in carina/result.h.
namespace carina {

namespace results {
std::string_view name_of(RunsOn runs_on) noexcept;  // "npu", "cpu", "npu+cpu", "folded", "nowhere", "undecided"
}  // namespace results

namespace options {
std::string_view name_of(Optimize optimize) noexcept;       // "speed", "search", "size"
std::string_view name_of(DelegateMode delegates) noexcept;  // "npu", "all", "nothing"
std::string_view name_of(QuantizeMode mode) noexcept;       // "auto", "none", "always"
std::string_view name_of(CpuKernels kernels) noexcept;      // "portable", "cortex-m"
}  // namespace options

}  // namespace carina
