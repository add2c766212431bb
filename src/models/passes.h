#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/pass.h"

namespace carina::models {

// The passes that options may name, in order: those of normalize::prepare() and of lower::to_tosa().
std::vector<std::string> pass_names();

// Errors (usage): a name that is none of them.
Result<void> check_pass_names(const ir::PassOptions& options);

// What of `options` is about this pipeline; of a pass to stop after that stands in another, nothing.
ir::PassOptions options_for(const ir::PassOptions& options, std::span<const ir::Pass> pipeline);

}  // namespace carina::models
