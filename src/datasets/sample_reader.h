// Declares the reader of calibration and evaluation data.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "datasets/data_set.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"

namespace carina::datasets {

// Reads samples for a network's inputs from an .npz, an .npy, or a folder of them (in order of their names), one sample
// at a time. An array belongs to the input of the same name. A network with one input also accepts the array "x" or the
// only array of a suitable shape. In a folder with one .npy per input, each input may be a file of its name. Arrays may
// hold many samples along the first axis: [N * B, rest] for an input of [B, rest], or [N, shape]. The array "y", else
// "label", "labels" or "target", holds the labels, unless an input has this name.
//
// A folder may also hold PNG or JPEG images, for a network with one input. Images in subfolders have the subfolder as
// their label: its number if all subfolders are numbers, else its place in the order of their names.
class SampleReader {
 public:
  // Opens and checks every file. Errors: an input without an array, a wrong shape or dtype, inputs with different
  // numbers of samples.
  static Result<SampleReader> open(const std::string& path, std::span<const InputType> inputs,
                                   const ImageOptions& images = {});

  [[nodiscard]] size_t size() const;
  // The first sample of each file: for a model with state, each file is a sequence.
  [[nodiscard]] std::vector<size_t> sequences() const;
  [[nodiscard]] bool begins_sequence(size_t n) const;
  // Call it from one thread at a time, best in ascending order. Errors: damaged data, files that have changed.
  Result<Sample> sample(size_t n);
  // Returns whether there are labels. Errors: only some files have labels, or the counts of labels and samples differ.
  // A label is a number, or an array after the first axis.
  [[nodiscard]] Result<bool> has_labels() const;
  // Errors: those of sample(); the label names no class (class_of()).
  Result<double> label(size_t n);
  // Returns all numbers of the sample's label: one, or an array such as a class per pixel.
  Result<Tensor> labels(size_t n);

  // Names the arrays that are neither inputs nor labels, and the labels of folders.
  void note_unread(const Log& log) const;

  SampleReader(SampleReader&&) noexcept;
  SampleReader& operator=(SampleReader&&) noexcept;
  ~SampleReader();

 private:
  struct State;
  explicit SampleReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns the class that a sample's label names: the number of a label of one element, or the place of the only 1 among
// zeros (one-hot). Returns no value for other labels.
std::optional<double> class_of(std::span<const double> label);

// Opens the data as a DataSet for calibration, and names the unused arrays. Errors: those of SampleReader::open().
Result<datasets::DataSet> open_data_set(const std::string& path, std::span<const InputType> inputs, const Log& log,
                                        const ImageOptions& images = {});

// Returns the first `max` samples, or all if there are fewer. Errors: those of the data set.
Result<std::vector<Sample>> first_samples(const datasets::DataSet& data, size_t max);

}  // namespace carina::datasets
