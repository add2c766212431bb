#pragma once

#include "firmware/runner/options.h"
#include "runtime/arena.h"
#include "runtime/method.h"

namespace carina::firmware {

// Gives a method its inputs: the files of the options, or ones. Memory for inputs that the program does not plan comes
// from `arena`. False, with the reason on the console: a file that is missing or of another size, no memory.
bool prepare_inputs(runtime::Method& method, const Options& options, runtime::Arena& arena);

// Prints the first elements of each output, and writes them where the options say. False: a file cannot be written.
bool give_outputs(const runtime::Method& method, const Options& options);

}  // namespace carina::firmware
