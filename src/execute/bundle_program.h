// Makes a bundled program from a program and test inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "datasets/run_inputs.h"

namespace carina::execute {

// The source of a test case's expected outputs.
enum class Expected : uint8_t {
  kRun,    // the outputs of `carina run`: a device must give the same integers
  kModel,  // the outputs of the model in floats; of a model imported as quantized, with its integers
};

struct BundleRequest {
  std::string model;                // the .pt2, for Expected::kModel
  std::vector<std::string> inputs;  // of the test cases, as load_batch() takes them
  Expected expected = Expected::kRun;
  int threads = 1;
  datasets::ImageOptions images = {};
};

// Returns the bytes of a .bpte: the program with a test case for each sample. Errors: no inputs, or unsuitable ones;
// those of run_batch(); a model that is not a .pt2.
Result<std::vector<std::byte>> bundle_program(const Buffer& program, const BundleRequest& request, const Log& log);

}  // namespace carina::execute
