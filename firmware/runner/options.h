#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace carina::firmware {

// The parsed arguments.
struct Options {
  static constexpr size_t kMaxInputs = 16;
  // Files with the raw bytes of each input, in order; "-" leaves an input unchanged. Without files, inputs are ones, as
  // in ExecuTorch's runner.
  std::array<const char*, kMaxInputs> inputs{};
  size_t input_count = 0;
  const char* output = nullptr;  // output n is written to <output>-<n>.bin; nullptr: outputs are not written
  uint32_t inferences = 1;
};

// Parses "-i FILE ... -o PREFIX -n COUNT". Returns false for anything else, and prints the reason on the console. The
// options point into static memory.
bool read_options(std::string_view arguments, Options& options);

}  // namespace carina::firmware
