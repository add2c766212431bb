// Renders the report of `carina tosa --verify`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/verify_report.h"

namespace carina::report {

std::string to_text(const results::VerifyReport& report);
std::string to_json(const results::VerifyReport& report);

}  // namespace carina::report
