// Declares the files of a program's state.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"

namespace carina::execute {

// Reads FOLDER/NAME.npy of each state. Errors: there is no state; a file is missing or damaged.
Result<std::vector<Tensor>> read_state(const std::string& folder, std::span<const datasets::InputType> states);

// Writes FOLDER/NAME.npy of each state; an empty folder: nothing. Errors: `program` keeps no state; a file cannot be
// written.
Result<void> write_state(const std::string& folder, const std::string& program,
                         std::span<const datasets::NamedTensor> state);

}  // namespace carina::execute
