#pragma once

#include "firmware/runner/options.h"
#include "runtime/arena.h"
#include "runtime/method.h"

namespace carina::firmware {

// Sets the inputs of a method: the files of the options, or ones. Memory for unplanned inputs comes from `arena`.
// Returns false if a file is missing or has a wrong size, or if there is not enough memory, and prints the reason on
// the console.
bool prepare_inputs(runtime::Method& method, const Options& options, runtime::Arena& arena);

// Prints the first elements of each output, and writes the outputs to the files of the options. Returns false if a file
// cannot be written.
bool give_outputs(const runtime::Method& method, const Options& options);

}  // namespace carina::firmware
