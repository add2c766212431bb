#pragma once

#include "facts/npu_accuracy.h"
#include "report/run_report.h"
#include "report/tables/json.h"

namespace carina::report {

// The interval in which the cycles of hardware or of an FVP are expected.
Json interval_json(const npu::CycleInterval& interval);

// Returns the NPU's part of an inference, with each operation.
Json npu_json(const results::NpuReport& npu);

}  // namespace carina::report
