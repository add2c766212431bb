#pragma once

#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"

namespace carina::explore {

// Quantizes and compiles the model with pruned and with clustered weights, and returns the bytes and cycles of each
// layer: 2:4 where the NPU multiplies such weights in half the time, half of the weights zero, and 16 different
// weights. `model` is the request's model, quantized; `now` is the report of the request, with layers. Errors: a model
// that was not calibrated here, whose weights cannot be changed; those of a compilation.
Result<results::Compression> find_compression(const driver::CompileRequest& request, const driver::PreparedModel& model,
                                              const results::CompileReport& now, const Log& log);

}  // namespace carina::explore
