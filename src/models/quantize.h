#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "datasets/data_set.h"
#include "datasets/samples.h"
#include "models/import.h"
#include "quantize/scheme.h"

namespace carina::models {

enum class QuantizeMode {
  kAuto,    // what the model brings; a float model is quantized when calibration data is given
  kNone,    // a float model stays float
  kAlways,  // a float model is quantized, or it is an error
};

// Gives calibration data for inputs of these types.
using SampleSource = std::function<Result<datasets::DataSet>(std::span<const datasets::InputType> inputs)>;

struct QuantizeRequest {
  QuantizeMode mode = QuantizeMode::kAuto;
  quantize::Scheme scheme = {};
  SampleSource samples;              // empty: there are none. Asked only where the model is to be calibrated
  std::string data = "calibration";  // what messages call them
  int threads = 1;
  // The scheme is to be found by measuring (mixed_precision.h), within these cycles; then `scheme` says what of it is
  // fixed. None: it is as `scheme` says.
  std::optional<std::string> cycle_budget = {};
  std::optional<DType> raw_io = {};  // the program takes and gives integers of this type; none: floats
};

// Whether the model brings quantize nodes of its own.
bool is_quantized(const ir::Graph& graph);

// How the model gets its integers: from itself, by calibration, or not at all; Model::quantization says which. Errors:
// kAlways without data (usage), those of the samples and of quantization; those about nodes of the prepared graph say so
// in Diagnostic::node.
Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log);

}  // namespace carina::models
