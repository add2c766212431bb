#pragma once

#include "execute/run.h"

namespace carina::execute {

// run() of a LiteRT file, compiled or not.
Result<results::RunReport> run_tflite(const RunRequest& request, const Log& log);

}  // namespace carina::execute
