#pragma once

#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "base/log.h"
#include "ir/graph.h"
#include "ir/pass.h"

namespace carina::driver {

// A .pt2 as the later stages take it: read, and normalised (lower::prepare). Weights are views of `file`. `where` names
// the model in messages. Errors: of the reader; all operators that cannot be normalised; names of passes that there are
// not (usage).
Result<ir::Graph> import_pt2(const Buffer& file, const std::string& where, const Log& log,
                             const ir::PassOptions& passes = {});

}  // namespace carina::driver
