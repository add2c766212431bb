#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "carina/tensor.h"
#include "observe/float_run.h"

namespace carina::quantize {

// The statistics to collect of the inputs of a layer with weights.
enum class Gathered : uint8_t {
  kMeans,
  kProducts,  // also the mean product of each pair of inputs
};

// Products are kept of inputs of one block, of at most so many: time and memory grow with the square of a block's size,
// and rounding grows with its cube. Example: 8,192 inputs are 8 blocks of 1,024; a matrix of all would have 67 million
// elements, the blocks have 8 million.
inline constexpr size_t kMaxBlockTerms = 1024;

// Inputs [first, first + terms) of a layer.
struct TermBlock {
  size_t first = 0;
  size_t terms = 0;
};

// Returns the blocks of so many inputs, as even as can be.
std::vector<TermBlock> blocks_of(size_t terms);

// Sums of a layer's inputs: [row, column, channel].
struct TapSums {
  std::span<const double> of;
  size_t channels = 1;
};

// Statistics of the inputs of output channels that read the same inputs: the average over the samples of the values
// that each weight is multiplied by. They are in ATen's order of weights: [input channel, row, column].
class InputStatistics {
 public:
  InputStatistics(size_t terms, Gathered gathered);

  // Adds rows of `terms` inputs.
  void add(const std::vector<float>& patches);
  // Adds the sums of `count` patches, of the channels from `first`. Only without products.
  void add(const TapSums& sums, size_t first, size_t count);
  [[nodiscard]] size_t terms() const { return sums_.size(); }
  [[nodiscard]] size_t count() const { return count_; }
  [[nodiscard]] std::vector<double> means() const;
  [[nodiscard]] const std::vector<TermBlock>& blocks() const { return blocks_; }
  // Returns the covariance of the inputs of a block, [terms, terms], symmetric. Only with products.
  [[nodiscard]] std::vector<double> covariance(size_t block) const;

 private:
  size_t count_ = 0;
  std::vector<double> sums_;
  std::vector<TermBlock> blocks_;
  std::vector<std::vector<float>> products_;  // empty, or the lower triangle of each block
};

// The statistics of one layer: one entry, or one per group of its output channels.
struct LayerStatistics {
  std::vector<InputStatistics> groups;

  // Adds a limited number of evenly spaced window positions of one run.
  void see(const observe::WeightedLayer& layer, const Tensor& image, Gathered gathered);
};

}  // namespace carina::quantize
