#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "carina/buffer.h"
#include "carina/tensor.h"

namespace carina::tosa {

// How a tensor's elements stand in a file: INT4 two to a byte, low nibble first, over the flattened tensor; INT48 in 6
// bytes; BOOL a byte; all others as in memory; little-endian. Source: docs/facts/formats.md 3.1.

// The bytes that `elements` elements take in a file; nothing when that overflows.
std::optional<size_t> file_bytes(DType dtype, int64_t elements);

// The tensor in memory from a file's bytes, of which there are at least file_bytes(); views them when they can stay as
// they are (aligned for the type, no unpacking), so that weights are not copied.
Tensor unpack(DType dtype, const Shape& shape, const Buffer& data);

// Writes the file's form of a tensor to `out`, which has file_bytes() bytes.
void pack(const Tensor& tensor, std::span<uint8_t> out);

}  // namespace carina::tosa
