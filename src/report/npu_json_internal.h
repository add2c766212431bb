#pragma once

#include "report/run_report.h"
#include "report/tables/json.h"

namespace carina::report {

// The NPU's part of an inference, each operation.
Json npu_json(const results::NpuReport& npu);

}  // namespace carina::report
