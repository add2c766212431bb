#pragma once

#include <cstdint>

#include "carina/result.h"
#include "ir/graph.h"
#include "plan/family/context.h"

namespace carina::plan {

// The messages of shortage() (plan/memory/shortage.h) with computed figures of the alternatives: whole tensors, the
// least memory, and a memory mode whose arena is in slow memory. `whole_bytes` is the size with all rows of every
// tensor; 0: the tensors were whole.
Diagnostics with_remedies(Diagnostics shortage, const ir::Graph& tosa, const Context& context, int64_t whole_bytes);

}  // namespace carina::plan
