#pragma once

#include "command.h"
#include "driver/compile.h"
#include "report/render.h"

namespace carina::cli {

// Says on stderr what a report does not say on top: that calibration data were not used, that the program needs more
// memory than anything will give it.
void warn_of(const driver::CompileRequest& request, const results::CompileReport& report, const Console& console);

}  // namespace carina::cli
