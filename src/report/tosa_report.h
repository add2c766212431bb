// Renders the report of `carina tosa`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>

#include "results/tosa_report.h"

namespace carina::report {

std::string to_text(const results::TosaReport& report);
std::string to_json(const results::TosaReport& report);

}  // namespace carina::report
