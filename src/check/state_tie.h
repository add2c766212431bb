#pragma once

#include <cstddef>

#include "carina/tensor.h"

namespace carina::check {

// A state that a network passes from run to run.
struct StateTie {
  size_t input = 0;   // of the next run
  size_t output = 0;  // of this run
  Tensor initial;     // the input of the first run
};

// The runs in which a check passes the state on, from the initial one.
inline constexpr int kSteps = 3;

}  // namespace carina::check
