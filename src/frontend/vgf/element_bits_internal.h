#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "carina/tensor.h"
#include "ir/attribute.h"

namespace carina::vgf {

// Elements as SPIR-V's constants have them: the bits of the value in the type that stands for it there (i4 in 8 bits,
// i48 in 64), all others zero.

// How wide the type that stands for it is.
int spirv_bits(DType dtype);
std::vector<uint64_t> element_bits(const Tensor& tensor);
// A number as an element of this type; nothing when it does not fit.
std::optional<uint64_t> bits_of_number(DType dtype, const ir::Attribute& number);
// The inverse: int64_t for integers, double for floats.
ir::Attribute number_of_bits(DType dtype, uint64_t bits);
// Writes an element as tensors hold it in memory. False: an i48 that is not one, a bool other than 0 and 1.
bool store_element(DType dtype, uint64_t bits, std::byte* out);

}  // namespace carina::vgf
