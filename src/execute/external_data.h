#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"

namespace carina::execute {

// The .ptd files that hold the tensors which stand outside of a .pte: `given` ones, else the program's neighbor of the
// same name or of ExecuTorch's usual name, which is noted. Nothing for a program that needs none. Errors: a damaged
// program, a file that is no .ptd or damaged, tensors that no file has (by name).
Result<std::vector<Buffer>> load_external_data(const Buffer& program, const std::string& program_path,
                                               std::span<const std::string> given, const Log& log);

}  // namespace carina::execute
