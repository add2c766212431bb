// Parts that several reports have.
#pragma once

#include <string>

#include "facts/npu_accuracy.h"
#include "report/tables/json.h"
#include "results/run_report.h"

namespace carina::report {

// Returns a line with the interval in which the cycles of hardware are expected; empty if the target has no interval.
std::string interval_text(const npu::CycleInterval& interval);
// The interval in which the cycles of hardware or of an FVP are expected.
Json interval_json(const npu::CycleInterval& interval);

// Returns the NPU's part of an inference, with each operation.
Json npu_json(const results::NpuReport& npu);

// Returns the test cases of a bundled program.
Json tests_json(const results::TestsReport& tests);

}  // namespace carina::report
