// The shapes that a user gives a model with a dynamic batch.
#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// Gives inputs other shapes: "8,49,40,1" to the only one, or "NAME=8,49,40,1". Only the batch may differ from the
// file's shape, where that leaves it open. All tensors whose batch is open follow. Errors: a text that is no shape, an
// input that does not exist or has another shape, inputs with different batches.
//   Example: x [1,4] and y [2,4], both with an open batch; "3,4" makes them [3,4] and [6,4].
Result<void> set_shapes(Model& model, const std::vector<std::string>& texts);

}  // namespace carina::tflite
