#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "carina/check.h"
#include "frontend/tosa/packing_internal.h"

namespace carina::tosa {

namespace {

constexpr size_t kInt48Bytes = 6;

Tensor unpack_int4(const Shape& shape, std::span<const std::byte> data) {
  MutableTensor out(DType::kInt4, shape);
  const auto values = out.values<int8_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto nibble = static_cast<uint8_t>(static_cast<uint8_t>(data[i / 2]) >> (i % 2 * 4) & 0xF);
    values[i] = static_cast<int8_t>((nibble ^ 8) - 8);
  }
  return std::move(out).freeze();
}

Tensor unpack_int48(const Shape& shape, std::span<const std::byte> data) {
  MutableTensor out(DType::kInt48, shape);
  const auto values = out.values<int64_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, data.data() + i * kInt48Bytes, kInt48Bytes);
    values[i] = static_cast<int64_t>(bits << 16) >> 16;
  }
  return std::move(out).freeze();
}

Tensor copied(DType dtype, const Shape& shape, std::span<const std::byte> data) {
  MutableTensor out(dtype, shape);
  const auto bytes = out.bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), data.data(), bytes.size());
  if (dtype == DType::kBool) {
    for (std::byte& value : bytes) value = value == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  return std::move(out).freeze();
}

bool can_stay(DType dtype, std::span<const std::byte> data) {
  if (dtype == DType::kBool) {
    return std::ranges::all_of(data, [](std::byte value) { return value <= std::byte{1}; });
  }
  return reinterpret_cast<uintptr_t>(data.data()) % element_bytes(dtype) == 0;
}

}  // namespace

std::optional<size_t> file_bytes(DType dtype, int64_t elements) {
  const auto count = static_cast<size_t>(elements);
  if (dtype == DType::kInt4) return count / 2 + count % 2;
  return checked_mul(count, dtype == DType::kInt48 ? kInt48Bytes : element_bytes(dtype));
}

Tensor unpack(DType dtype, const Shape& shape, const Buffer& data) {
  const auto bytes = file_bytes(dtype, shape.elements());
  CARINA_CHECK(bytes && *bytes <= data.size(), "{} bytes for {}", data.size(), to_string(shape));
  const Buffer used = data.slice(0, *bytes);
  if (dtype == DType::kInt4) return unpack_int4(shape, used.bytes());
  if (dtype == DType::kInt48) return unpack_int48(shape, used.bytes());
  if (*bytes > 0 && can_stay(dtype, used.bytes())) return {.dtype = dtype, .shape = shape, .data = used};
  return copied(dtype, shape, used.bytes());
}

void pack(const Tensor& tensor, std::span<uint8_t> out) {
  if (out.empty()) return;
  const auto count = static_cast<size_t>(tensor.elements());
  if (tensor.dtype == DType::kInt4) {
    const auto values = tensor.values<int8_t>().first(count);
    std::ranges::fill(out, uint8_t{0});
    for (size_t i = 0; i < values.size(); ++i) {
      out[i / 2] = static_cast<uint8_t>(out[i / 2] | (values[i] & 0xF) << (i % 2 * 4));
    }
  } else if (tensor.dtype == DType::kInt48) {
    const auto values = tensor.values<int64_t>().first(count);
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(out.data() + i * kInt48Bytes, &values[i], kInt48Bytes);
  } else {
    std::memcpy(out.data(), tensor.data.data(), out.size());
  }
}

}  // namespace carina::tosa
