#pragma once

#include <cstddef>
#include <span>

#include "facts/firmware.h"

namespace carina::firmware {

// The model in the image and the memory that it runs in.
struct Model {
  std::span<const std::byte> program;
  std::span<std::byte> method_pool;
  std::span<std::byte> temp_pool;
  std::span<std::byte> fast_pool;
};

// Finds the model that `carina firmware` put into the image, and cuts the pools as its header says. False, with the
// reason on the console: none, or more memory asked for than the image has.
bool find_model(Model& model);

}  // namespace carina::firmware
