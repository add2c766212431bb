#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "ir/pass.h"

namespace carina::models {

// The passes that options may name, in order: those of normalize::normalize() and of lower::to_tosa().
std::vector<std::string> pass_names();

// Checks the pass names of the options. Errors (usage): an unknown name.
Result<void> check_pass_names(const ir::PassOptions& options);

// Returns the options that apply to this pipeline. A stop_after that names a pass of another pipeline is removed.
ir::PassOptions options_for(const ir::PassOptions& options, std::span<const ir::Pass> pipeline);

}  // namespace carina::models
