// Small constants that elementwise operations read again and again, copied once to faster memory.
#pragma once

#include "plan/network/network.h"

namespace carina::plan {

// What a copy gives and takes, in cycles.
struct CopyOfConstants {
  int64_t saved_per_read = 0;  // the difference of the memories' latencies
  int64_t whole = 0;           // one transfer
};

// Gathers small constant operands of elementwise steps in one constant, which the first step copies to the working
// memory, and lets the steps read the copy, if that saves several times what it takes.
//   Example: t1 = 8192 and t2 = -15420 (int32), read by 80 steps. Before: SUB t1, x. After: DMA t3 -> t4 (32 bytes),
//   and SUB t4 at byte 0, x.
void copy_constants(Network& network, const CopyOfConstants& cycles);

}  // namespace carina::plan
