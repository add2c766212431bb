// Declares the reader of a schedule: which methods of a program run in which order, on which inputs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "datasets/samples.h"

namespace carina::datasets {

struct ScheduledStep {
  std::string method;
  std::vector<std::vector<double>> inputs;  // the elements of each
};

// Reads a JSON file with a list of objects: "method", and either "inputs", a list of nested lists, or one nested list
// for each input by a name of its own, in order. Errors: another form; an element that is no number.
//   Example: [{"method": "prefill", "tokens": [[5, 9]], "pos": [0, 1]}, {"method": "decode", "inputs": [[[7]], [2]]}]
Result<std::vector<ScheduledStep>> read_schedule(const std::string& path);

// Returns the step's inputs as tensors of these types. Errors: another number of inputs or of elements.
Result<Sample> sample_of(const ScheduledStep& step, std::span<const InputType> types, const std::string& where);

}  // namespace carina::datasets
