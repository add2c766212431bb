#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "quantize/calibrate_internal.h"
#include "quantize/ptq.h"

namespace carina::quantize {

// Results of read-only passes over a node's weights.
struct WeightFigures {
  std::optional<WeightRole> role = {};          // no value: the node has no weights to quantize
  std::optional<Quantization> parameters = {};  // no value: the weights are not finite
  std::optional<Tensor> rounded = {};           // the rounded weights; no value: the nearest integers are used
  std::vector<double> mean_errors = {};         // to be subtracted from the bias; empty: none
};

// What a scheme is applied with.
struct Application {
  const PtqOptions& options;
  const Calibrated& calibrated;
  const std::vector<RangeChoice>& measured;                   // per group of values: the range where the scheme says
                                                              // kMeasured
  const std::vector<WeightFigures>* known_figures = nullptr;  // of another run with the same weights
};

// Sets Value::quantization of a float graph by a scheme, with what calibration has seen. Returns the figures of the
// nodes.
Result<std::vector<WeightFigures>> apply_scheme(ir::Graph& graph, const Scheme& scheme, const Application& with,
                                                const Log& log);

// Groups of values whose range the scheme measures, in the order of the nodes that compute them.
Result<std::vector<size_t>> measured_groups(ir::Graph& graph, const Scheme& scheme, const Application& with);

bool is_float_value(const ir::Graph& graph, ir::ValueId id);
// Per value: whether it is the weights or the bias of a node that computes with integers.
std::vector<bool> weights_among_values(const ir::Graph& graph, const LeftFloat& left);

}  // namespace carina::quantize
