#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "carina/tensor.h"
#include "ir/attribute.h"

namespace carina::vgf {

// Elements in the format of SPIR-V's constants: the bits of the value in the SPIR-V type that represents it (8 bits for
// i4, 64 for i48). All other bits are zero.

// The width of that SPIR-V type in bits.
int spirv_bits(DType dtype);
std::vector<uint64_t> element_bits(const Tensor& tensor);
// Converts a number to an element of this type. No value if it does not fit.
std::optional<uint64_t> bits_of_number(DType dtype, const ir::Attribute& number);
// The inverse: an int64_t for integers, a double for floats.
ir::Attribute number_of_bits(DType dtype, uint64_t bits);
// Writes an element in the memory format of tensors. Returns false for an invalid i48, and for a bool other than 0 and
// 1.
bool store_element(DType dtype, uint64_t bits, std::byte* out);

}  // namespace carina::vgf
