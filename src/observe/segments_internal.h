#pragma once

#include <cstdint>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/evaluator.h"
#include "ir/pass.h"
#include "ir/subgraph.h"
#include "lower/lower.h"

namespace carina::observe {

// A part of a float graph that one engine runs: the TOSA interpreter if TOSA supports the nodes, otherwise the CPU's
// kernels.
struct Segment {
  ir::Subgraph part;
  lower::Lowered lowered;                   // of a TOSA segment
  std::unique_ptr<ir::Evaluation> kernels;  // of the others
};

// The segments in an order in which they can run. `on_kernels` tells for each node of the graph whether the CPU's
// kernels run it because TOSA does not support it.
struct Segments {
  std::vector<Segment> segments;
  std::vector<bool> on_kernels;
};

enum class Int64 : uint8_t { kAsInt32, kKept };

// Divides a normalized float graph into as few segments as the order of its nodes allows. `passes` are options for the
// lowering's passes. Without an evaluator, a node that TOSA does not support is an error. With kKept, the CPU's kernels
// also run the nodes they support that have int64 values among their integers, which TOSA would compute in int32.
// Errors, all at once: every node that neither engine supports.
Result<Segments> cut_into_segments(const ir::Graph& aten, const ir::Evaluator* evaluator, const ir::PassOptions& passes,
                                   Int64 int64, const Log& log);

}  // namespace carina::observe
