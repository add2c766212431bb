// The arena of a compiled file: where each tensor of its main graph lies, and the transfers that this takes.
#pragma once

#include <cstdint>
#include <vector>

#include "litert/copies_internal.h"
#include "litert/writer.h"

namespace carina::litert {

struct Arena {
  std::vector<int64_t> addresses;  // by tensor of the graph; -1: not in the arena
  int64_t bytes = 0;
  // By part: the transfers around its stream.
  std::vector<std::vector<RegionCopy>> before;
  std::vector<std::vector<RegionCopy>> after;
};

// Places the tensors of a graph. Each operator on the CPU and each part on the NPU is one point in time.
Arena plan_arena(const tflite::Subgraph& graph, const std::vector<CompiledPart>& parts);

}  // namespace carina::litert
