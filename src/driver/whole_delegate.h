#pragma once

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"
#include "lower/lower.h"
#include "lower/target.h"

namespace carina::driver {

// Lowers a graph that somebody else has cut out of a model: all of it runs on the target, and nothing is converted at its
// inputs and outputs, but that int64 is int32 there. Errors: as lower::to_tosa()'s, of nodes of `prepared`; an input or an
// output whose type the target has no form of.
Result<lower::Lowered> lower_whole(const ir::Graph& prepared, const lower::Target& target, const Log& log);

}  // namespace carina::driver
