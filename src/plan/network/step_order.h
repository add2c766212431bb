#pragma once

#include <cstdint>

#include "plan/network/network.h"

namespace carina::plan {

// Moves steps closer to the first reader of their results, while that lowers the most bytes of tensors that live at one
// time, and these exceed `limit_bytes`. The bytes are those of whole tensors. A result that overwrites an operand takes
// no bytes of its own.
//   Example: an LSTM computes its four gates, then uses three of them. The fourth is computed after these instead.
void lower_peak(Network& network, int64_t limit_bytes);

}  // namespace carina::plan
