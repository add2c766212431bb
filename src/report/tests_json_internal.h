#pragma once

#include "report/run_report.h"
#include "report/tables/json.h"

namespace carina::report {

// Returns the test cases of a bundled program.
Json tests_json(const results::TestsReport& tests);

}  // namespace carina::report
