#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "driver/samples.h"
#include "ir/graph.h"

namespace carina::driver {

enum class QuantizeMode {
  kAuto,  // what the model brings; a float model is quantized to int8 when calibration data is given
  kNone,
  kInt8,
};

struct QuantizeRequest {
  QuantizeMode mode = QuantizeMode::kAuto;
  // Calibration data; empty: there is none. Asked only where the graph is to be calibrated.
  std::function<Result<std::vector<Sample>>()> samples;
  std::string data = "calibration";  // what messages call it
  int threads = 1;
};

// How the graph gets its integers: from the model, by calibration, or not at all; returns which, for the report.
// `where` names the model in messages. Errors: int8 without data (usage), those of the samples and of quantization.
Result<std::string> quantize_graph(ir::Graph& graph, const QuantizeRequest& request, const std::string& where,
                                   const Log& log);

}  // namespace carina::driver
