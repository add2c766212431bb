#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "pte/program.h"

namespace carina::pte {

// Reads a .pte; blobs and constants are views of `file`. Everything that the file says is checked: identifier, version,
// FlatBuffer structure, header, segments, every index and allocation. Errors name the offending part.
Result<Program> read_program(const Buffer& file, const std::string& where);

}  // namespace carina::pte
