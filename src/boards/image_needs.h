// Declares what a program needs of a firmware image besides its place: memory pools, and room in the image's simulator.
#pragma once

#include <cstdint>
#include <string>

#include "boards/firmware_image.h"
#include "carina/buffer.h"
#include "carina/result.h"
#include "pte/reader.h"

namespace carina::boards {

// Sets the pools of `header` that are 0 so that the method of a program has the memory that it needs, where the image's
// default, half of what the fast pool leaves, is too small. A method with kernels whose scratch depends on their inputs
// keeps the default. Errors: the method's tables and planned values, or the scratch of its delegates, need more than
// the pool that is given, or both together more than the image has.
Result<void> fit_pools(const Buffer& program, const std::string& where, const firmware::ImageSlot& slot,
                       firmware::ModelHeader& header);

// Errors: an image that simulates the NPU itself, and an operation of a delegate with more weights than its simulator
// has memory for.
Result<void> check_weights(const pte::Program& program, const std::string& where, const Buffer& image);

}  // namespace carina::boards
