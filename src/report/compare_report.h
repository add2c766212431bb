// Renders the report of `carina compare`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/compare_report.h"

namespace carina::report {

std::string to_text(const results::CompareReport& report);
std::string to_json(const results::CompareReport& report);

}  // namespace carina::report
