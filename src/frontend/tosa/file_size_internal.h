#pragma once

#include <cstddef>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::tosa {

// An upper bound of a file's size. It avoids the copies of a builder that grows. Error: the estimate plus `more_bytes`
// is too large for a FlatBuffer.
Result<size_t> estimated_file_bytes(const ir::Module& module, size_t more_bytes);

}  // namespace carina::tosa
