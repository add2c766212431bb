#pragma once

#include <cstdint>

#include "firmware/runner/options.h"
#include "runtime/arena.h"
#include "runtime/method.h"

namespace carina::firmware {

// Sets the inputs of a method: the sample's files of the options, or ones. Memory for unplanned inputs comes from
// `arena`. Returns false if a file is missing or has a wrong size, or if there is not enough memory, and prints the
// reason on the console.
bool prepare_inputs(runtime::Method& method, const Options& options, uint32_t sample, runtime::Arena& arena);

// Prints the first elements of each output.
void show_outputs(const runtime::Method& method);

// Writes the outputs to the sample's files of the options. Returns false if a file cannot be written.
bool write_outputs(const runtime::Method& method, const Options& options, uint32_t sample);

// Reads the state from the files of the options, and writes it. Returns false if a file is missing, has a wrong size or
// cannot be written, and prints the reason on the console.
bool read_state(const runtime::Method& method, const Options& options);
bool write_state(const runtime::Method& method, const Options& options);

}  // namespace carina::firmware
