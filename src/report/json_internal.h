#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/run_report.h"

namespace carina::report {

nlohmann::ordered_json tests_json(const TestsReport& tests);

// How every JSON output is written: indented, ended by a newline. Names and paths may hold any bytes; what is not UTF-8
// becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace carina::report
