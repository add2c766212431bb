// Renders the report of `carina compile` and `carina explain`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "carina/compile_report.h"

namespace carina::report {

enum class Detail { kSummary, kNodes };
std::string to_text(const results::CompileReport& report, Detail detail);
std::string to_json(const results::CompileReport& report);

}  // namespace carina::report
