#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "pte/program.h"

namespace carina::pte {

// Reads a .pte. Blobs and constants are views of `file`. Everything in the file is checked: identifier, version,
// FlatBuffer structure, header, segments, every index and every allocation. Errors name the invalid part.
Result<Program> read_program(const Buffer& file, const std::string& where);

}  // namespace carina::pte
