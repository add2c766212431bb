#pragma once

#include "base/diagnostic.h"
#include "base/parallel.h"
#include "plan/program.h"
#include "plan/target.h"

namespace carina::plan {

// Compresses the weights and writes the scales of every operation that has any, each distinct stream once. Fills
// `encoded` and `encoded_of`. Results do not depend on the number of threads. Errors: a stream too long for the NPU's
// registers.
Result<void> encode_weights(Program& program, const Target& target, ThreadPool& threads);

// Places constants in region 0 in the order of their first use: weights, tables, tensors.
void place_constants(Program& program);

}  // namespace carina::plan
