#pragma once

#include <cstdint>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "plan/family/context.h"

namespace carina::plan {

// The messages of shortage() (plan/memory/shortage.h) with what else could be done, in figures that are computed, not
// guessed: what whole tensors, the least memory and a memory mode with an arena in slow memory would take.
// `whole_bytes`: what tensors of all their rows would take; 0: they were.
Diagnostics with_ways_out(Diagnostics shortage, const ir::Graph& tosa, const Context& context, int64_t whole_bytes);

}  // namespace carina::plan
