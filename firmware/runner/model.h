#pragma once

#include <cstddef>
#include <span>

#include "facts/firmware.h"

namespace carina::firmware {

// The model in the image, and the memory for it.
struct Model {
  std::span<const std::byte> program;
  std::span<std::byte> method_pool;
  std::span<std::byte> temp_pool;
  std::span<std::byte> fast_pool;
};

// Finds the model that `carina firmware` put into the image, and divides the pool memory by the model's header. Returns
// false if there is no model or not enough memory, and prints the reason on the console.
bool find_model(Model& model);

}  // namespace carina::firmware
