// Declares the functions of the rules: each makes the TOSA nodes of one operator, or says why it cannot.
#pragma once

#include "frontend/tflite/to_tosa/call_internal.h"

namespace carina::tflite {

#define CARINA_TFLITE_RULE(name, function) Result<void> function(Call& call);
#include "frontend/tflite/to_tosa/rules.def"
#undef CARINA_TFLITE_RULE

// Those of int16.
Result<void> logistic_16(Call& call);
Result<void> hyperbolic_tangent_16(Call& call);
Result<void> softmax_16(Call& call);
Result<void> function_16(Call& call, const std::function<float(float)>& function);

}  // namespace carina::tflite
