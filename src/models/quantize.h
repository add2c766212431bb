// Declares the stage that quantizes a model.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/options.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "datasets/samples.h"
#include "models/import.h"
#include "quantize/ptq.h"
#include "quantize/scheme.h"

namespace carina::models {

using options::QuantizeMode;

// Returns calibration data for inputs of these types.
using SampleSource = std::function<Result<datasets::DataSet>(std::span<const datasets::InputType> inputs)>;

// The wishes for a scheme that is found by measurement (driver/mixed_precision.cpp).
struct AutoGoal {
  std::string max_cycles = {};             // a number of cycles ("1200000"), or a percentage of the cycles with
                                           // 8 bits ("150%"); empty: 150%, or no limit with min_sqnr_db
  std::optional<double> min_sqnr_db = {};  // the fastest scheme with this SQNR; none: the least noise
  std::string front_file = {};             // for the front of cycles and SQNR as JSON; empty: not written

  [[nodiscard]] bool wants_front() const { return min_sqnr_db || !front_file.empty(); }
};

struct QuantizeRequest {
  QuantizeMode mode = QuantizeMode::kAuto;
  quantize::Scheme scheme = {};
  SampleSource samples;              // empty: no samples. Called only if the model is calibrated
  std::string data = "calibration";  // the samples' name in messages
  // What the samples are. kStandIn: drawn at random by choice of Carina, for a float model without data; a quantized
  // model does not use them.
  enum class Origin : uint8_t { kData, kRandom, kStandIn } origin = Origin::kData;
  int threads = 1;
  // If set, the scheme is searched by measurement, and `scheme` holds the fixed settings. If not set, `scheme` is used
  // as it is.
  std::optional<AutoGoal> auto_goal = {};
  std::map<std::string, quantize::Limits> state_limits = {};  // quantize::PtqOptions::state_limits
  bool state_is_shared = false;      // with other methods of the program, which are quantized apart
  std::optional<DType> raw_io = {};  // integer type of the program's inputs and outputs; none: floats

  [[nodiscard]] quantize::WiderSteps wider_steps() const;
  [[nodiscard]] bool has_narrow_outputs() const { return raw_io && row_of(*raw_io).bits == 8; }
};

// Returns whether the model contains quantize nodes.
bool is_quantized(const ir::Graph& graph);

// Quantizes the model: it keeps the model's own quantization, calibrates, or leaves it float; Model::quantization names
// the choice. Errors: kAlways without data (usage); those of the samples and of quantization. Diagnostic::node is a
// node of the normalized graph.
Result<void> quantize_model(Model& model, const QuantizeRequest& request, const Log& log);

}  // namespace carina::models
