#pragma once

#include <cstddef>

#include "base/buffer.h"

namespace carina {

// A part of a buffer that keeps the whole alive. Where that is a mapped file, the part's pages leave the process's memory
// with the last who holds the part: the file still has them.
Buffer part_with_pages(const Buffer& whole, size_t offset, size_t size);

}  // namespace carina
