#pragma once

#include <vector>

#include "carina/compile_report.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/compile.h"

namespace carina::explore {

// Compiles and simulates the model with other choices. These are other optimization levels, the target's other memory
// modes, NPUs of the next sizes, weight streams that the NPU writes, and everything possible on the NPU; for a model
// calibrated here also other integer types. Choices that change nothing are left out. The fastest is first.
// Errors: the target's modes cannot be listed.
Result<std::vector<results::Alternative>> find_alternatives(const driver::CompileRequest& request,
                                                            const driver::PreparedModel& model,
                                                            const results::CompileReport& now, const Log& log);

// Compiles the model with the choices that may keep it to budgets of SRAM and flash: integers as inputs and outputs,
// schedules for less SRAM, the target's other memory modes, other integer types. Those that give no program are left
// out. The fastest is first. Errors: the target's modes cannot be listed.
Result<std::vector<results::Alternative>> find_remedies(const driver::CompileRequest& request,
                                                        const driver::PreparedModel& model,
                                                        const results::CompileReport& now, const Log& log);

}  // namespace carina::explore
