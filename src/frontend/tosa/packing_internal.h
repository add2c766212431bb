#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "carina/buffer.h"
#include "carina/tensor.h"

namespace carina::tosa {

// The element formats in a file. INT4: two per byte, low nibble first, over the flattened tensor. INT48: 6 bytes. BOOL:
// one byte. All others: as in memory, little-endian. Source: docs/facts/formats.md 3.1.

// The number of bytes of `elements` elements in a file. Returns no value on overflow.
std::optional<size_t> file_bytes(DType dtype, int64_t elements);

// Converts a file's bytes, at least file_bytes() of them, to a tensor. The result is a view if the bytes are aligned
// for the type and need no unpacking, so that weights are not copied.
Tensor unpack(DType dtype, const Shape& shape, const Buffer& data);

// Writes a tensor in the file's format to `out`, which has file_bytes() bytes.
void pack(const Tensor& tensor, std::span<uint8_t> out);

}  // namespace carina::tosa
