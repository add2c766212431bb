#pragma once

#include <optional>

#include "backends/backend.h"

namespace carina::backends {

// Checks the file of a delegate, a TOSA or VGF file, against its graph; nothing if the options have no check. Errors:
// those of the readers and of check_graph().
Result<std::optional<results::CheckReport>> checked_file(const ir::Graph& tosa, const Buffer& file,
                                                         const DelegateOptions& options, const Log& log);

}  // namespace carina::backends
