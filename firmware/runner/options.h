#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace carina::firmware {

// What the arguments ask for.
struct Options {
  static constexpr size_t kMaxInputs = 16;
  // Raw bytes of each input, in order; "-" leaves one as it is. None: ones, as ExecuTorch's runner has them.
  std::array<const char*, kMaxInputs> inputs{};
  size_t input_count = 0;
  const char* output = nullptr;  // output n goes to the file <output>-<n>.bin; nullptr: none is written
  uint32_t inferences = 1;
};

// Reads "-i FILE ... -o PREFIX -n COUNT". False, with the reason on the console: something else. The options point into
// memory of this function's.
bool read_options(std::string_view arguments, Options& options);

}  // namespace carina::firmware
