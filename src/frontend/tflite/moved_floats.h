// Operators that move floats, as TOSA's integer profile holds them: with their bits as int32.
#pragma once

#include "frontend/tflite/model.h"

namespace carina::tflite {

// Whether an operator moves floats and computes nothing.
bool moves_floats(const Subgraph& graph, const Operator& op);

// Gives all floats of a model's main graph the type int32, without quantization. Their bits stay.
void take_floats_as_integers(Model& model);

}  // namespace carina::tflite
