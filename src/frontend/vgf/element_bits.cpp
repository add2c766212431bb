#include <bit>
#include <cstring>

#include "carina/check.h"
#include "frontend/vgf/element_bits_internal.h"
#include "tensor/float_formats.h"

namespace carina::vgf {

namespace {

uint64_t low_bits(uint64_t bits, int count) {
  return count >= 64 ? bits : bits & ((uint64_t{1} << count) - 1);
}

int64_t sign_extended(uint64_t bits, int count) {
  const int shift = 64 - count;
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t bits_of_float(DType dtype, float value) {
  switch (dtype) {
    case DType::kFp32:
      return std::bit_cast<uint32_t>(value);
    case DType::kFp16:
      return fp32_to_fp16(value);
    case DType::kBf16:
      return fp32_to_bf16(value);
    case DType::kFp8E4M3:
      return fp32_to_fp8e4m3(value);
    case DType::kFp8E5M2:
      return fp32_to_fp8e5m2(value);
    default:
      CARINA_UNREACHABLE("float type", dtype);
  }
}

float float_of_bits(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::kFp32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::kFp16:
      return fp16_to_fp32(static_cast<uint16_t>(bits));
    case DType::kBf16:
      return bf16_to_fp32(static_cast<uint16_t>(bits));
    case DType::kFp8E4M3:
      return fp8e4m3_to_fp32(static_cast<uint8_t>(bits));
    case DType::kFp8E5M2:
      return fp8e5m2_to_fp32(static_cast<uint8_t>(bits));
    default:
      CARINA_UNREACHABLE("float type", dtype);
  }
}

}  // namespace

int spirv_bits(DType dtype) {
  return dtype == DType::kShape ? 32 : static_cast<int>(element_bytes(dtype)) * 8;
}

std::vector<uint64_t> element_bits(const Tensor& tensor) {
  const size_t size = element_bytes(tensor.dtype);
  std::vector<uint64_t> out(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < out.size(); ++i) {
    std::memcpy(&out[i], tensor.data.data() + i * size, size);
    out[i] = low_bits(out[i], spirv_bits(tensor.dtype));
  }
  return out;
}

std::optional<uint64_t> bits_of_number(DType dtype, const ir::Attribute& number) {
  const auto* whole = std::get_if<int64_t>(&number);
  if (is_float(dtype)) {
    const auto* real = std::get_if<double>(&number);
    if (real == nullptr && whole == nullptr) return std::nullopt;
    return bits_of_float(dtype, real != nullptr ? static_cast<float>(*real) : static_cast<float>(*whole));
  }
  if (whole == nullptr) return std::nullopt;
  const IntegerRange range = range_of(dtype);
  if (*whole < range.min || *whole > range.max) return std::nullopt;
  return low_bits(static_cast<uint64_t>(*whole), spirv_bits(dtype));
}

ir::Attribute number_of_bits(DType dtype, uint64_t bits) {
  if (is_float(dtype)) return static_cast<double>(float_of_bits(dtype, bits));
  return sign_extended(bits, spirv_bits(dtype));
}

bool store_element(DType dtype, uint64_t bits, std::byte* out) {
  if (dtype == DType::kInt48 && sign_extended(bits, 48) != static_cast<int64_t>(bits)) return false;
  if (dtype == DType::kBool && bits > 1) return false;
  const uint64_t wide = dtype == DType::kShape ? static_cast<uint64_t>(sign_extended(bits, 32)) : bits;
  std::memcpy(out, &wide, element_bytes(dtype));
  return true;
}

}  // namespace carina::vgf
