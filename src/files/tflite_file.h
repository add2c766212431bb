#pragma once

#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tflite/borders.h"
#include "frontend/tflite/model.h"
#include "ir/graph.h"

namespace carina::files {

// An operator by its first result's name, as in Netron.
struct NamedOperator {
  std::string name;
  std::string op;
};

// A LiteRT file as a verified TOSA graph of integers, and what its inputs and outputs are in the file.
struct TfliteGraph {
  ir::Module module;
  tflite::Borders borders;
  std::vector<NamedOperator> operators = {};  // the origins of the nodes
};

// What becomes of float inputs and outputs. kCut: QUANTIZE and DEQUANTIZE there are left out.
enum class FloatBorders : uint8_t { kKept, kCut };

// How a LiteRT file is read.
struct TfliteReading {
  FloatBorders borders = FloatBorders::kCut;
  tflite::Rounding rounding = tflite::Rounding::kLiteRt;
  std::vector<std::string> shapes = {};  // tflite::set_shapes()
  std::string signature = {};            // whose graph is read; empty: the first graph
};

// Reads a LiteRT file. Errors: those of sound_graph(), choose_signature() and set_shapes().
Result<TfliteGraph> sound_tflite(const Buffer& file, const std::string& where, const std::string& level,
                                 const TfliteReading& how = {});

// The verified TOSA graph of a model in memory. Errors: to_tosa()'s; every violated rule. Diagnostic::node is an
// operator of the model's main graph.
Result<ir::Module> sound_model(const tflite::Model& model, const std::string& where, const std::string& level);
// The same for what to_tosa() has made of the model.
Result<ir::Module> sound_model(ir::Module module, const std::string& where, const std::string& level);

}  // namespace carina::files
