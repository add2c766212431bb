// Declares the accuracy report by layer.
#pragma once

#include <cstdint>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"
#include "models/quantize_flags.h"
#include "results/layer_accuracy_report.h"
#include "targets/target.h"

namespace carina::explore {

struct LayerAccuracyRequest {
  std::string model;        // a float .pt2
  std::string data;         // inputs, with or without labels: .npz, .npy or a folder
  std::string calibration;  // likewise; empty: `data` is used
  datasets::ImageOptions images = {};
  models::QuantizeFlags quantize;
  int64_t loop_rounds = 0;        // pt2::ReadOptions::loop_rounds
  int64_t samples = 0;            // how many of `data` to compare on, the first ones; 0: all
  targets::TargetRequest target;  // its cycles stand beside each scheme; without an accelerator: none
  int threads = 1;
};

// Quantizes the model and runs it and the float model on the samples. The report gives the SQNR of each
// layer's result, the layers where the error enters, and the measured results of other schemes. Errors: those of
// compile; a model that is already quantized (usage).
Result<results::LayerAccuracyReport> layer_accuracy(const LayerAccuracyRequest& request, const Log& log);

}  // namespace carina::explore
