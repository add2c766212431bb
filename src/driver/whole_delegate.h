#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "lower/lower.h"
#include "lower/target.h"

namespace carina::driver {

// Lowers a graph that the caller has cut out of a model. All of it runs on the target. Its inputs and outputs are not
// converted, except that int64 becomes int32. Errors: those of lower::to_tosa(), about nodes of `normalized`; inputs or
// outputs of a type that the target does not support.
Result<lower::Lowered> lower_whole(const ir::Graph& normalized, const lower::Target& target, const Log& log);

}  // namespace carina::driver
