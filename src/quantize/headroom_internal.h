#pragma once

#include <optional>

#include "ir/graph.h"
#include "quantize/range_observer_internal.h"

namespace carina::quantize {

// How far the range of 16-bit values reaches beyond what calibration saw. It costs one of 16 bits; inputs that exceed
// what calibration saw are the largest error of 16 bits otherwise.
constexpr double kHeadroom = 2;

// The observed range with headroom, within what the values can reach at all: 1 for a sigmoid.
Range with_room(Range seen, std::optional<double> limit);

// What headroom does to a function of one operand. The NPU reads 16-bit values with a table of 512 segments over all of
// the range, and a segment of twice the width has four times the error.
enum class Headroom {
  kNeeded,    // it goes on growing (SiLU): a clipped operand clips the result, which is worse than wider segments
  kNeedless,  // it saturates, and did so in what was seen (tanh of 2): clipping changes little
  kHarmful,   // it is steep near operands that were seen, or oscillates (tan), or its domain ends (asin)
};
// Functions that are steep near 0, as 1/sqrt(x) is, or turn fast, as sin(x) does, need headroom if clipping is expected
// to lose more than wider segments do, which depends on how near to 0 operands were, and on how many were seen.
//   Example: of 16 operands (256), the smallest may be 1/92 (1/47) of the largest.
Headroom headroom_for(const ir::Node& function, const RangeObserver& seen);

// Whether a function is flat where its operands are large, as the gates of recurrent cells are.
bool saturates(AtenOp function);

}  // namespace carina::quantize
