#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/tensor.h"
#include "observe/float_run.h"

namespace carina::quantize {

// The statistics to collect of the inputs of a layer with weights.
enum class Gathered : uint8_t {
  kMeans,
  kProducts,  // also the mean product of each pair of inputs
};

// Statistics of the inputs of output channels that read the same inputs: the average over the samples of the values
// that each weight is multiplied by. They are in ATen's order of weights: [input channel, row, column].
class InputStatistics {
 public:
  InputStatistics(size_t terms, Gathered gathered);

  // Adds rows of `terms` inputs.
  void add(const std::vector<float>& patches);
  // Adds the sums of `count` patches. Only without products.
  void add(const std::vector<double>& sums, size_t count);
  [[nodiscard]] size_t terms() const { return sums_.size(); }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::vector<double> means() const;
  // Returns the covariance of the inputs, [terms, terms], symmetric.
  [[nodiscard]] std::vector<double> covariance() const;

 private:
  size_t count_ = 0;
  size_t row_;  // row stride of products_, in elements
  std::vector<double> sums_;
  std::vector<float> products_;  // empty, or the lower triangle
};

// The statistics of one layer: one entry, or one per group of its output channels.
struct LayerStatistics {
  std::vector<InputStatistics> groups;

  // Adds a limited number of evenly spaced window positions of one run.
  void see(const observe::WeightedLayer& layer, const Tensor& image, Gathered gathered);
};

}  // namespace carina::quantize
