#pragma once

#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/compile.h"
#include "results/compile_report.h"

namespace carina::explore {

// What other choices would bring: other levels of optimization, the target's other memory modes, the NPUs of the next
// sizes, weight streams that the NPU writes, all that can run there on the NPU, and for a model that was calibrated here
// other integers. Each is compiled again and simulated; a
// choice that changes nothing is left out. The least time first. Errors: the model cannot be prepared.
Result<std::vector<results::Alternative>> find_alternatives(const driver::CompileRequest& request,
                                                            const results::CompileReport& now, const Log& log);

}  // namespace carina::explore
