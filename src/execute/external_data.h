#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"

namespace carina::execute {

// Loads the .ptd files with the tensors that a .pte stores outside of the file. Without `given` files it takes the file
// in the program's folder that has the program's name or ExecuTorch's usual name, and notes that. It takes no
// other file of the folder: two models there would exchange weights of equal shapes. Returns nothing if
// the program needs none. Errors: a damaged program; a file that is damaged or not a .ptd; the names of tensors that no
// file has.
Result<std::vector<Buffer>> load_external_data(const Buffer& program, const std::string& program_path,
                                               std::span<const std::string> given, const Log& log);

}  // namespace carina::execute
