#pragma once

#include <string>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::files {

// Verifies a module with every profile and extension at this level, and returns it. Errors: every violated rule.
Result<ir::Module> sound_module(ir::Module module, const std::string& where, const std::string& level);

}  // namespace carina::files
