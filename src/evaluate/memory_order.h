#pragma once

#include <cstddef>
#include <span>

#include "carina/buffer.h"
#include "runtime/evalue.h"

// Converts elements between the order of a tensor's shape, which users' arrays have, and the order of a program's
// memory, which may permute the axes (channels last). Both functions take and return the bytes of all elements.
namespace carina::evaluate {

// Converts elements in the order of the shape to the layout that `tensor` has in memory.
Buffer to_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements);
// The inverse of to_memory_order().
Buffer from_memory_order(const runtime::Tensor& tensor, std::span<const std::byte> elements);

}  // namespace carina::evaluate
