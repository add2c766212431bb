#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "datasets/data_set.h"
#include "datasets/samples.h"

namespace carina::datasets {

// Data for a network's inputs in an .npz, an .npy, or a folder of them (in the order of their names), read a sample at a
// time. An array belongs to the input of its name; a network of one input also takes the array "x", or the only array of
// a fitting shape; a folder of as many .npy as inputs may give each the file of its name. Arrays may carry many samples
// along the first axis: [N * B, rest] for an input of [B, rest], or [N, shape]. Labels are the numbers of arrays "y".
class SampleReader {
 public:
  // Looks at every file. Errors: no array for an input, a shape or dtype that does not fit, inputs with different numbers
  // of samples.
  static Result<SampleReader> open(const std::string& path, std::span<const InputType> inputs);

  [[nodiscard]] size_t size() const;
  // Asked by one thread at a time; best in order. Errors: damaged data, files that have become others.
  Result<Sample> sample(size_t n);
  // Whether there are labels. Errors: not for all files, or not as many as samples.
  [[nodiscard]] Result<bool> has_labels() const;
  // Errors: as of sample(); no number.
  Result<double> label(size_t n);

  SampleReader(SampleReader&&) noexcept;
  SampleReader& operator=(SampleReader&&) noexcept;
  ~SampleReader();

 private:
  struct State;
  explicit SampleReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same for calibration. Errors: as of SampleReader::open().
Result<datasets::DataSet> open_data_set(const std::string& path, std::span<const InputType> inputs);

// The first `most` samples, or all where there are fewer. Errors: as of the source.
Result<std::vector<Sample>> first_samples(const datasets::DataSet& data, size_t max);

}  // namespace carina::datasets
