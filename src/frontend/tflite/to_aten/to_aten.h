#pragma once

#include <string>

#include "carina/result.h"
#include "frontend/tflite/model.h"
#include "ir/graph.h"

// LiteRT models of floats as ATen graphs, which are quantized like those of PyTorch.
namespace carina::tflite {

// Whether a model computes with floats alone: no operator reads or gives quantized integers that are not constant.
// Weights may be quantized (hybrid models) or half floats. Each of several graphs is that of a signature.
bool computes_in_floats(const Model& model);

// Returns the ATen graph that computes the floats of the model's first graph, up to their rounding. Inputs and outputs
// have the names, shapes and axis orders (NHWC) of the file; operators that PyTorch defines for NCHW stand between
// permutations, which lowering removes. Quantized weights become floats. `origin` of nodes is the index of the
// operator. Errors, all at once: operators without a form in ATen; shapes that do not fit together. Diagnostic::node is
// the operator's index.
Result<ir::Graph> to_aten(const Model& model, const std::string& where);

}  // namespace carina::tflite
