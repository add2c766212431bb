#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/buffer.h"

namespace carina::execute {

// What a program should answer.
enum class Expected : uint8_t {
  kRun,    // what `carina run` gives: a device must give the same integers
  kModel,  // what the model gives in floats; where it was quantized when it came, with its integers
};

struct BundleRequest {
  std::string model;                // the .pt2, for Expected::kModel
  std::vector<std::string> inputs;  // of the test cases, as load_batch() takes them
  Expected expected = Expected::kRun;
  int threads = 1;
};

// The bytes of a .bpte: the program with a test case for each sample. Errors: no inputs, or such that do not fit; as
// run_batch()'s; a model that is not a .pt2.
Result<std::vector<std::byte>> bundle_program(const Buffer& program, const BundleRequest& request, const Log& log);

}  // namespace carina::execute
