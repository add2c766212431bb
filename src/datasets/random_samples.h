// Declares samples that stand in for data.
#pragma once

#include <span>
#include <string_view>

#include "datasets/data_set.h"
#include "datasets/samples.h"

namespace carina::datasets {

// The word that asks for random samples in place of a path.
inline constexpr std::string_view kRandomData = "random";

// Returns a few samples drawn from the types of the inputs alone, the same ones in every run: floats from (0, 1],
// integers 0 or 1, so that they are valid indices. What is computed from them shows shapes, cycles and memory; its
// numbers have no meaning. A number that the program fixes stays as it is. Errors: a type that has no numbers.
Result<DataSet> random_samples(std::span<const InputType> inputs);

}  // namespace carina::datasets
