#pragma once

#include <cstddef>
#include <vector>

#include "carina/result.h"

namespace carina {

// Returns all bytes of standard input. Errors: it is empty, or cannot be read.
Result<std::vector<std::byte>> read_standard_input();

}  // namespace carina
