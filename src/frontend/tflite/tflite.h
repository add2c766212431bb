#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tflite/model.h"
#include "ir/graph.h"

namespace carina::tflite {

// Reads a .tflite file and makes a TOSA graph that gives the bits of LiteRT's reference kernels. Inputs, outputs and
// nodes have the names of the file's tensors. Tensors stay NHWC. uint8 inputs and outputs are int8 in TOSA, with the
// same bits. Resource variables are variables of TOSA. `origin` of nodes is the index of the operator. Errors:
// read_model()'s; every operator that has no exact form in integers of TOSA, with its tensor's name; Diagnostic::node
// is its index.
Result<ir::Module> read_tflite(const Buffer& file, const std::string& where);

// Like read_tflite(), of a model that has been read.
Result<ir::Module> to_tosa(const Model& model, const std::string& where);

// Whether a model has an LSTM that takes several times the NPU operations with Rounding::kLiteRt.
bool has_faster_lstm(const Model& model);

}  // namespace carina::tflite
