#pragma once

#include <cstdint>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "plan/context.h"
#include "plan/schedule/schedule.h"

// What to say when a network needs more memory than there is.
namespace carina::plan {

// Storages of one space do not fit: by how much, which operator needs most, and what lives then. `total_bytes`: what they
// take together.
Diagnostic shortage(const Schedule& schedule, Space space, int64_t total_bytes, int64_t limit_bytes);

// The same messages with what else could be done, in figures that are computed, not guessed: what whole tensors, the least
// memory and a memory mode with an arena in slow memory would take. `whole_bytes`: what tensors of all their rows would
// take; 0: they were.
Diagnostics with_ways_out(Diagnostics shortage, const ir::Graph& tosa, const Context& context, int64_t whole_bytes);

}  // namespace carina::plan
