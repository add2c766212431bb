#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace carina::firmware {

// The parsed arguments.
struct Options {
  static constexpr size_t kMaxInputs = 16;
  // Files with the raw bytes of each input, in order. Without files, inputs are ones, as in ExecuTorch's runner.
  std::array<const char*, kMaxInputs> inputs{};
  size_t input_count = 0;
  const char* output = nullptr;  // output n is written to <output>-<n>.bin; nullptr: outputs are not written
  uint32_t inferences = 1;       // with each sample
  // Sample k has the inputs <input>-<k>.bin, and the outputs <output>-<n>-<k>.bin. 0: one sample, with the names above.
  uint32_t samples = 0;
  uint32_t reset_every = 0;  // samples after which the state has its initial values again; 0: never
  // State tensor n is read from <prefix>-<n>.bin before the run, and written after it; nullptr: it is not.
  const char* state_before = nullptr;
  const char* state_after = nullptr;
};

// Parses "-i FILE ... -o PREFIX -n COUNT -s SAMPLES -r SAMPLES -b PREFIX -a PREFIX". Returns false for anything else,
// and prints the reason on the console. The options point into static memory.
bool read_options(std::string_view arguments, Options& options);

}  // namespace carina::firmware
