#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/data_set.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::quantize {

// What a few samples show of an input channel of a layer, or of a whole value.
struct Spread {
  float min = 0;  // at most 0
  float max = 0;  // at least 0
  double squares = 0;
  size_t count = 0;

  void add(const Spread& other);
  [[nodiscard]] double mean_square() const { return squares / static_cast<double>(count == 0 ? 1 : count); }
};

struct ChannelStatistics {
  // By the name of a layer's result: its input channels. None for layers with several groups that are not depthwise.
  std::map<std::string, std::vector<Spread>> inputs;
  std::map<std::string, Spread> values;  // by name: those that were asked for; without squares
};

struct ChannelStatisticsOptions {
  int threads = 1;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support
  std::vector<ir::ValueId> values = {};      // computed values to look at
};

// Runs the float graph on a few of the samples, which are spread evenly over all. Errors: those of calibration.
Result<ChannelStatistics> channel_statistics(const ir::Graph& aten, const datasets::DataSet& samples,
                                             const ChannelStatisticsOptions& options);

}  // namespace carina::quantize
