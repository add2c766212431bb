#pragma once

#include <string>

#include "facts/lowering_targets.h"

namespace carina::lower {

// The limits and the preferred idioms of the target of a lowering.
struct Target {
  std::string name = "TOSA";  // as messages call it
  OperatorLimits limits = kPlainTosa.limits;
  LoweringIdioms idioms = kPlainTosa.idioms;
  bool takes_floats = false;  // the target has TOSA's FP profile besides INT: unquantized nodes may run on it in floats
  // Quantized nodes stay integers even if `limits` refuse them; only nodes that are float in the model compute in
  // floats.
  bool keeps_integers = false;
};

}  // namespace carina::lower
