#pragma once

#include <string>

#include "facts/lowering_targets.h"

namespace carina::lower {

// For whom TOSA is written: what it takes, and how it likes what can be said in several ways.
struct Target {
  std::string name = "TOSA";  // as messages call it
  OperatorLimits limits = kPlainTosa.limits;
  LoweringIdioms idioms = kPlainTosa.idioms;
  bool takes_floats = false;  // TOSA's FP profile beside INT: what is not quantized may run there as it is
  // What is quantized stays integers although `limits` refuse it: floats are only where the model has them.
  bool keeps_integers = false;
};

}  // namespace carina::lower
