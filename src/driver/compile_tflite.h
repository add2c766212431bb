// Compiles a LiteRT file to a LiteRT file.
#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"

namespace carina::driver {

// Compiles the operators of a LiteRT file that the NPU runs, and leaves the others in the file as they are. An operator
// stays on the CPU if TOSA or the NPU has no exact form of it; the report says why, by the name of the tensor that it
// writes. Errors: the reader's; a file that has been compiled already; budgets that are exceeded; the backend's errors
// that name no operator.
Result<Compiled> compile_tflite(const Buffer& file, const CompileRequest& request, const backends::Backend& backend,
                                const Log& log);

}  // namespace carina::driver
