#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "datasets/samples.h"

// Arrays of a file and the inputs that they belong to.
namespace carina::datasets {

using Arrays = std::map<std::string, Tensor>;

// How many samples of `wanted` an array holds along its first axis; nothing when it does not fit.
std::optional<int64_t> samples_in(const Shape& array, const Shape& wanted);

// Sample `n` of an array of the input's type.
Tensor nth_sample(const Tensor& array, const InputType& input, int64_t n);

// The array of the input's name; of one input, also "x" or the only one that fits. Nothing when there is none.
const Tensor* array_for(const Arrays& arrays, const InputType& input, size_t inputs);

// The array of each input; all hold as many samples. Errors: there is none, or it does not fit.
Result<std::vector<const Tensor*>> arrays_of_inputs(const Arrays& arrays, std::span<const InputType> inputs,
                                                    const std::string& where);

// That there is none for this one of the inputs.
Diagnostic missing(const Arrays& arrays, const InputType& input, std::span<const InputType> inputs,
                   const std::string& where);

// What brings an array of one type to another, where NumPy can do it in a word.
std::string conversion_hint(DType got, DType wanted);

}  // namespace carina::datasets
