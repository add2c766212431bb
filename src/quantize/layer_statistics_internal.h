#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "carina/tensor.h"
#include "observe/float_run.h"

namespace carina::quantize {

// What is gathered of a weighted layer's inputs.
enum class Gathered : uint8_t {
  kMeans,
  kProducts,  // and the mean products of each two
};

// Of output channels that read the same inputs: what each of their weights is multiplied by, on average over the
// samples. Weights in ATen's order: [input channel, row, column].
class InputStatistics {
 public:
  InputStatistics(size_t terms, Gathered gathered);

  // `patches`: rows of `terms` inputs.
  void add(const std::vector<float>& patches);
  // The sums of `count` patches. Where no products are gathered.
  void add(const std::vector<double>& sums, size_t count);
  [[nodiscard]] size_t terms() const { return sums_.size(); }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::vector<double> means() const;
  // [terms, terms], symmetric: of the inputs' deviations from their means.
  [[nodiscard]] std::vector<double> covariance() const;

 private:
  size_t count_ = 0;
  size_t row_;  // of products_, in elements
  std::vector<double> sums_;
  std::vector<float> products_;  // empty, or the lower triangle
};

// The same for one layer: one entry, or one for each group of its output channels.
struct LayerStatistics {
  std::vector<InputStatistics> groups;

  // Adds what one run showed, at most so many places of the window in each: evenly spread.
  void see(const observe::WeightedLayer& layer, const Tensor& image, Gathered gathered);
};

}  // namespace carina::quantize
