#pragma once

#include "report/json_internal.h"
#include "report/run_report.h"

namespace carina::report {

// The test cases of a bundled program.
Json tests_json(const TestsReport& tests);

}  // namespace carina::report
