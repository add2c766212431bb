#pragma once

#include <cstddef>
#include <span>

#include "carina/buffer.h"
#include "runtime/evalue.h"

// A program may lay its tensors out with their axes in another order (channels last); arrays of users have them as the
// shape says. Both functions take and give the bytes of all elements.
namespace carina::evaluate {

// Elements in the order of the shape, laid out as `tensor` has them in memory.
Buffer to_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements);
// The other way round.
Buffer from_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements);

}  // namespace carina::evaluate
