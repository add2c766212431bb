#pragma once

#include <string>

#include "facts/lowering_targets.h"

namespace carina::lower {

// The limits and the preferred idioms of the target of a lowering.
struct Target {
  std::string name = "TOSA";  // name in messages
  OperatorLimits limits = kPlainTosa.limits;
  LoweringIdioms idioms = kPlainTosa.idioms;
  bool takes_floats = false;  // the target has TOSA's FP profile in addition to INT, so it can run unquantized nodes
  bool takes_block_scaled = false;  // the target has EXT-MXFP of TOSA 1.1
  // Quantized nodes stay integer even if `limits` reject them. Only nodes that are float in the model compute in float.
  bool keeps_integers = false;
  // Layouts are chosen for the fewest transpositions (choose-layouts). Otherwise transpositions sink (sink-transposes),
  // which the planners of NPUs expect.
  bool fewest_transposes = false;
};

}  // namespace carina::lower
