#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/import.h"
#include "driver/samples.h"
#include "quantize/scheme.h"

namespace carina::driver {

enum class QuantizeMode {
  kAuto,  // what the model brings; a float model is quantized to int8 when calibration data is given
  kNone,
  kInt8,
};

// Gives calibration data for inputs of these types.
using SampleSource = std::function<Result<std::vector<Sample>>(std::span<const InputType> inputs)>;

struct QuantizeRequest {
  QuantizeMode mode = QuantizeMode::kAuto;
  std::optional<quantize::Scheme> scheme;  // instead of the mode's own
  SampleSource samples;                    // empty: there are none. Asked only where the model is to be calibrated
  std::string data = "calibration";        // what messages call them
  int threads = 1;
};

// How the model gets its integers: from itself, by calibration, or not at all; Model::quantization says which. Errors:
// int8 without data (usage), those of the samples and of quantization; those about nodes of the prepared graph say so
// in Diagnostic::node.
Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log);

}  // namespace carina::driver
