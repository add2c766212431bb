// Renders the report of `carina accuracy`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>

#include "results/accuracy_report.h"

namespace carina::report {

std::string to_text(const results::AccuracyReport& report);
std::string to_json(const results::AccuracyReport& report);

}  // namespace carina::report
