#pragma once

#include "base/diagnostic.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// What must hold of every schedule, whatever has been decided so far; messages quote the numbers. Rules about something
// that is not decided yet hold. docs/plan.md says what the parts mean.
//  1 Every id is in range, and what must be there is: maps have tensors, stripes steps, commands stripes.
//  2 The stripes of a step cover its OFM exactly: each element once.
//  3 The order does every stripe once, and only reads what is there: inputs, constants, and rows that all steps in front
//    which write them have written, and of rolling rows only those that no later row has taken the place of.
//  4 A slice is of its step's weights and has exactly the channels that its stripe computes.
//  5 What a stripe reads from a copy was copied before: its table in its slot, its slice where it is staged.
//  6 Blocks are at most as large as the family's largest, and made of its ublocks.
//  7 Storages lie in a space that the target has, and those that live at the same time lie apart.
//  8 A tensor's storage is large enough for it (for its rolling rows, where it has some), and its format and its rolling
//    rows can express every map that addresses it.
//  9 Cascades are ranges of steps, in order, that share none; only a tensor that nothing outside one writes or reads may
//    have rolling rows, in a storage of its own.
// 10 Tensors of one storage live one after the other, or the later takes the earlier one's place: while both are in use,
//    only elementwise steps touch them, each of which writes an element where it has read the same one.
// Returns every rule that is broken; none for a legal schedule.
Diagnostics verify(const Schedule& schedule, const Family& family, const Target& target);

}  // namespace carina::plan
