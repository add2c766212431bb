#pragma once

#include <cstddef>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::tosa {

// An upper estimate of a file's size, so that the builder need not grow: growing copies all that has been written.
// Errors: with `more_bytes`, which are not part of the estimate, too large for a FlatBuffer.
Result<size_t> estimated_file_bytes(const ir::Module& module, size_t more_bytes);

}  // namespace carina::tosa
