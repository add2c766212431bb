#pragma once

#include <set>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"
#include "observe/float_run.h"
#include "quantize/layer_statistics_internal.h"
#include "quantize/left_float.h"
#include "quantize/range_observer_internal.h"
#include "quantize/sharing.h"

// Runs a float graph on samples, and observes the ranges of its values.
namespace carina::quantize {

struct CalibrationOptions {
  int threads = 1;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support
  std::vector<bool> left_float;              // per node: whether the user keeps it float
  std::string data = "calibration";          // the samples' name in messages
  Gathered gathered = Gathered::kMeans;      // the statistics to collect of the layers' inputs
  bool averages = false;                     // whether a scheme takes moving averages as ranges
  size_t kept = 0;                           // the number of samples to keep with their outputs
};

// The results of calibration for a float graph.
struct Calibrated {
  LeftFloat left;
  Sharing sharing;
  std::vector<RangeObserver> observers;  // indexed as Sharing::group
  // per value: statistics of the layer with weights that computes it, at the index Sharing::layer_of; empty for others
  std::vector<LayerStatistics> layers;
  std::set<ir::ValueId> beyond_int32;  // int64 values that exceed int32 in a sample
  // samples that are spread evenly over all, and the float model's outputs for them
  std::vector<std::vector<Tensor>> kept_samples;
  std::vector<std::vector<Tensor>> kept_outputs;
};

// Error: the sample does not match the graph's inputs.
Result<void> check_sample(const ir::Graph& graph, const std::vector<Tensor>& sample, size_t number);

// How weights are kept while so many samples run.
observe::FloatRunOptions::Weights weights_for(size_t samples);

// Runs the float graph on the samples. Errors: samples that do not match the inputs; values that are not numbers;
// unsupported nodes (all of them).
Result<Calibrated> calibrate(const ir::Graph& aten, const datasets::DataSet& samples, const CalibrationOptions& options,
                             const Log& log);

}  // namespace carina::quantize
