#pragma once

#include "driver/split_memo.h"
#include "npu/stream_memo.h"
#include "simulate/weights.h"

namespace carina::driver {

// What compilations of one prepared model for several targets have in common, found once: how it is split and lowered
// for an NPU, its encoded weights, and what the simulator knows of these. Safe for concurrent compilations; programs and
// reports are the same with and without.
struct CompileMemo {
  SplitMemo splits;
  npu::StreamMemo streams;
  simulate::StatisticsCache statistics;
};

}  // namespace carina::driver
