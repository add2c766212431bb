#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "models/quantize_flags.h"
#include "results/layer_accuracy_report.h"

namespace carina::explore {

struct LayerAccuracyRequest {
  std::string model;        // a float .pt2
  std::string data;         // inputs, with or without labels: .npz, .npy or a folder
  std::string calibration;  // likewise; empty: the data themselves
  models::QuantizeFlags quantize;
  int64_t loop_rounds = 0;  // pt2::ReadOptions::loop_rounds
  int threads = 1;
};

// Quantizes the model, runs it beside the float model on the first samples and says how near each layer's result is,
// where the error enters, and what other schemes would give, measured. Errors: as compile's; a model that is quantized
// already (usage).
Result<results::LayerAccuracyReport> layer_accuracy(const LayerAccuracyRequest& request, const Log& log);

}  // namespace carina::explore
