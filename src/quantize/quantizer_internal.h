#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "quantize/calibrate_internal.h"
#include "quantize/ptq.h"
#include "quantize/weight_rounding_internal.h"

namespace carina::quantize {

// Results of read-only passes over a node's weights.
struct WeightFigures {
  std::optional<WeightRole> role = {};          // no value: the node has no weights to quantize
  std::optional<Quantization> parameters = {};  // no value: the weights are not finite
  std::optional<Tensor> rounded = {};           // the rounded weights; no value: the nearest integers are used
  std::vector<double> mean_errors = {};         // to be subtracted from the bias; empty: none
};

// The figures of a graph's nodes. They depend on the weights and their scheme, not on the activations, so that the
// schemes of a search, which differ in the activations, compute them once. Different nodes may be used by different
// threads.
class FigureCache {
 public:
  explicit FigureCache(size_t nodes) : nodes_(nodes) {}

  // Returns nullptr if they are not known.
  [[nodiscard]] const WeightFigures* find(size_t node, const WeightScheme& weights, double smallest_scale) const;
  void add(size_t node, const WeightScheme& weights, double smallest_scale, WeightFigures figures);

 private:
  struct Known {
    WeightScheme weights;
    double smallest_scale;
    WeightFigures figures;
  };
  std::vector<std::vector<Known>> nodes_;
};

// The ranges of the groups of values by each choice, computed once. Different groups may be used by different threads.
class RangeCache {
 public:
  explicit RangeCache(size_t groups) : groups_(groups) {}

  Range choose(size_t group, const RangeObserver& observer, RangeChoice choice, int64_t steps);

 private:
  struct Known {
    RangeChoice choice;
    int64_t steps;
    Range range;
  };
  std::vector<std::vector<Known>> groups_;
};

// What a scheme is applied with.
struct Application {
  const PtqOptions& options;
  const Calibrated& calibrated;
  const std::vector<RangeChoice>& measured;  // per group of values: the range where the scheme says kMeasured
  FigureCache& figures;                      // of this graph and calibration
  RangeCache& ranges;                        // likewise
  size_t max_scales = kManyScales;           // that are tried for weights which are rounded for their inputs
  std::span<const size_t> wide = {};         // groups of wide_steps(): they have 16 bits in a scheme with 8
};

// Sets Value::quantization of a float graph by a scheme, with what calibration has seen.
Result<void> apply_scheme(ir::Graph& graph, const Scheme& scheme, const Application& with, const Log& log);

// The groups that wide_steps() finds in a scheme with 8 bits. `keeps_state`: states have 8 bits.
Result<std::vector<size_t>> step_groups(ir::Graph& graph, const Scheme& scheme, const Application& with,
                                        bool keeps_state);

// Groups of values whose range the scheme measures, in the order of the nodes that compute them.
Result<std::vector<size_t>> measured_groups(ir::Graph& graph, const Scheme& scheme, const Application& with);

bool is_float_value(const ir::Graph& graph, ir::ValueId id);
// Per value: whether it is the weights or the bias of a node that computes with integers.
std::vector<bool> weights_among_values(const ir::Graph& graph, const LeftFloat& left);

}  // namespace carina::quantize
