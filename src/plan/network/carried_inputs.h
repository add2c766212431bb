#pragma once

#include "plan/network/network.h"

namespace carina::plan {

// Puts an input where an output needs its elements, so that the copy between them is no step.
//   Example: ring [49,10] and frame [10]; next = concat(ring[1:], frame). The ring stands 10 bytes in front of `next`,
//   and the frame 480 bytes after its start, so that `next` is complete before the first operation:
//   bytes  0 .. 10   10 .. 490    490 .. 500
//          ring ------------      frame ----
//                   next -------------------
// An input has to be read by such copies alone, with one distance between what they read and write. Inputs and outputs
// may overlap because nothing reads the input afterwards, and the output's other elements are written after the
// network's inputs.
void carry_inputs(Network& network);

}  // namespace carina::plan
