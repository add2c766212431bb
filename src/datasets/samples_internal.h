// Matches the arrays of a file with a network's inputs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "datasets/samples.h"

// Matching of a file's arrays with a network's inputs.
namespace carina::datasets {

using Arrays = std::map<std::string, Tensor>;

// The names of arrays of labels.
inline const std::array<std::string, 4> kLabels{"y", "label", "labels", "target"};

// Returns how many samples of shape `wanted` an array holds along its first axis, or no value if the shapes do not
// match.
std::optional<int64_t> samples_in(const Shape& array, const Shape& wanted);

// Returns sample `n` of an array, with the input's type.
Tensor nth_sample(const Tensor& array, const InputType& input, int64_t n);

// Returns the array with the input's name. For a network with one input also "x" or the only array of a suitable shape.
// Returns nullptr if there is none.
const Tensor* array_for(const Arrays& arrays, const InputType& input, size_t inputs);

// Returns the array of each input; all hold the same number of samples. Errors: an input has no array, or a wrong one.
Result<std::vector<const Tensor*>> arrays_of_inputs(const Arrays& arrays, std::span<const InputType> inputs,
                                                    const std::string& where);

// Returns the error that an input has no array.
Diagnostic missing(const Arrays& arrays, const InputType& input, std::span<const InputType> inputs,
                   const std::string& where);

// Returns a hint how to convert an array's type with NumPy, if one expression does it.
std::string conversion_hint(DType got, DType wanted);

}  // namespace carina::datasets
