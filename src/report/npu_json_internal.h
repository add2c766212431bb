#pragma once

#include "report/json_internal.h"
#include "report/run_report.h"

namespace carina::report {

// The NPU's part of an inference, each operation.
Json npu_json(const NpuReport& npu);

}  // namespace carina::report
