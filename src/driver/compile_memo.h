#pragma once

#include "driver/split_memo.h"
#include "npu/stream_memo.h"

namespace carina::driver {

// What compilations of one prepared model for several targets have in common, found once: how it is split and lowered
// for an NPU, and its encoded weights. Safe for concurrent compilations; programs and
// reports are the same with and without.
struct CompileMemo {
  SplitMemo splits;
  npu::StreamMemo streams;
};

}  // namespace carina::driver
