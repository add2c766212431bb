#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "carina/result.h"
#include "carina/tensor.h"

namespace carina::datasets {

// A sequence of samples that are computed on demand, since together they may be larger than memory. A sample has one
// tensor per graph input.
class DataSet {
 public:
  using Sample = std::vector<Tensor>;
  // Returns sample `n`. Called by one thread at a time, mostly in ascending order.
  using Source = std::function<Result<Sample>(size_t n)>;

  DataSet(size_t size, Source source) : size_(size), source_(std::move(source)) {}
  // Samples that are in memory.
  DataSet(std::vector<Sample> held) : size_(held.size()) {
    source_ = [held = std::move(held)](size_t n) -> Result<Sample> { return held[n]; };
  }
  DataSet(std::span<const Sample> held) : DataSet(std::vector<Sample>(held.begin(), held.end())) {}

  // The samples with these numbers, in this order.
  [[nodiscard]] DataSet chosen(std::vector<size_t> numbers) const {
    const size_t size = numbers.size();
    return {size, [source = source_, numbers = std::move(numbers)](size_t n) { return source(numbers[n]); }};
  }
  // The numbers of `count` samples at even distances, the first one among them; of all samples if there are fewer.
  //   Example: 3 of 10 are 0, 3 and 6.
  [[nodiscard]] std::vector<size_t> spread(size_t count) const {
    std::vector<size_t> numbers(std::min(count, size_));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i * size_ / numbers.size();
    return numbers;
  }
  // The same samples as several sequences, of which each begins with one of these numbers, in ascending order.
  [[nodiscard]] DataSet in_sequences(std::vector<size_t> firsts) && {
    firsts_ = std::move(firsts);
    return std::move(*this);
  }
  // Whether state has its initial values before this sample. All samples are one sequence by default.
  [[nodiscard]] bool begins_sequence(size_t n) const { return n == 0 || std::ranges::binary_search(firsts_, n); }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] Result<Sample> sample(size_t n) const { return source_(n); }

 private:
  size_t size_;
  Source source_;
  std::vector<size_t> firsts_;
};

}  // namespace carina::datasets
