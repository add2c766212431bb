#pragma once

#include "plan/network/network.h"

// Inputs and outputs of unsigned bytes without an operation that only changes their type.
namespace carina::plan {

// TOSA computes with signed bytes, so a graph begins with RESCALEs of unsigned inputs by 1 and ends with those of
// unsigned outputs. An NPU reads and writes unsigned bytes: a byte u with zero point z + 128 is the number of the
// signed byte u - 128 with zero point z. Where all readers of such a converted input (or all writers of what is
// converted to an output) can do so, they address the input (the output) itself, and the conversion is removed.
//   x: u8 -> RESCALE -128 -> a -> CONV2D -> b -> RESCALE +128 -> y: u8   becomes   x: u8 -> CONV2D -> y: u8
// A lookup table whose results go to an output stores them with the sign bit exchanged.
void fold_unsigned_borders(Network& network);

}  // namespace carina::plan
