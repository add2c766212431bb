#pragma once

#include "carina/result.h"
#include "plan/family/family.h"
#include "plan/schedule/schedule.h"

namespace carina::plan {

// The rules that hold for every schedule, whatever has been decided so far. Messages quote the numbers. A rule about
// something that is not decided yet counts as kept. docs/plan.md explains the terms.
// 1 Every id is in range. Maps have tensors, stripes have steps, commands have stripes.
// 2 The stripes of a step cover its OFM exactly: each element once.
// 3 The order has every stripe once. A stripe reads only data that exists: inputs, constants, and rows that all earlier
//   steps which write them have written. A rolling row exists until a later row overwrites it.
// 4 A slice belongs to its step's weights and has exactly the channels that its stripe computes.
// 5 A copy is made before a stripe reads it: the table in its slot, and the slice if it is staged.
// 6 Blocks are at most as large as the family's largest, and consist of its ublocks.
// 7 Storages lie in a space that the target has. Storages that live at the same time do not overlap.
// 8 A tensor's storage is large enough for the tensor, or for its rolling rows. Its format and its rolling rows can
//   express every map that addresses it.
// 9 Cascades are disjoint ranges of steps, in order. Only a tensor that no step outside one cascade writes or reads may
//   have rolling rows, and it has its own storage.
// 10 Tensors of one storage live one after the other, or the later one replaces the earlier one in place: while both
//   are live, only elementwise steps touch them, and each writes an element where it has read the same element.
// 11 A step writes every address at most once: the elements of its OFM do not overlap. The channels of an OFM are
//   contiguous. Families that transpose results may have windows whose rows or columns are contiguous instead.
// Returns every rule that is broken; an empty list for a legal schedule.
Diagnostics verify(const Schedule& schedule, const Family& family, const Target& target);

}  // namespace carina::plan
