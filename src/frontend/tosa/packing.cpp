#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "carina/check.h"
#include "frontend/tosa/packing_internal.h"

namespace carina::tosa {

namespace {

constexpr size_t kInt48Bytes = 6;

// Whether elements are narrower than a byte in files. They are a stream of bits there, the lowest first.
//   Example: the fp6 elements a, b, c, d are the bytes bbaaaaaa, ccccbbbb, ddddddcc.
bool is_packed(DType dtype) {
  return dtype == DType::kInt4 || dtype == DType::kFp4E2M1 || dtype == DType::kFp6E2M3 || dtype == DType::kFp6E3M2;
}

Tensor unpack_bits(DType dtype, const Shape& shape, std::span<const std::byte> data) {
  MutableTensor out(dtype, shape);
  const auto bits = static_cast<size_t>(row_of(dtype).bits);
  const auto byte_at = [&](size_t at) { return at < data.size() ? static_cast<uint32_t>(data[at]) : 0U; };
  const auto elements = out.bytes();
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t at = i * bits / 8;
    uint32_t value = (byte_at(at) | byte_at(at + 1) << 8) >> (i * bits % 8) & ((1U << bits) - 1);
    if (dtype == DType::kInt4) value = (value ^ 8) - 8;
    elements[i] = static_cast<std::byte>(value);
  }
  return std::move(out).freeze();
}

void pack_bits(const Tensor& tensor, std::span<uint8_t> out) {
  const auto bits = static_cast<size_t>(row_of(tensor.dtype).bits);
  const auto elements = tensor.data.bytes().first(static_cast<size_t>(tensor.elements()));
  std::ranges::fill(out, uint8_t{0});
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t at = i * bits / 8;
    const uint32_t value = (static_cast<uint32_t>(elements[i]) & ((1U << bits) - 1)) << (i * bits % 8);
    out[at] = static_cast<uint8_t>(out[at] | value);
    if (value > 0xFF) out[at + 1] = static_cast<uint8_t>(value >> 8);
  }
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
  if (is_packed(dtype))
    return (count / 8 * static_cast<size_t>(row_of(dtype).bits)) +
           (count % 8 * static_cast<size_t>(row_of(dtype).bits) + 7) / 8;
  return checked_mul(count, dtype == DType::kInt48 ? kInt48Bytes : element_bytes(dtype));
}

Tensor unpack(DType dtype, const Shape& shape, const Buffer& data) {
  const auto bytes = file_bytes(dtype, shape.elements());
  CARINA_CHECK(bytes && *bytes <= data.size(), "{} bytes for {}", data.size(), to_string(shape));
  const Buffer used = data.slice(0, *bytes);
  if (is_packed(dtype)) return unpack_bits(dtype, shape, used.bytes());
  if (dtype == DType::kInt48) return unpack_int48(shape, used.bytes());
  if (*bytes > 0 && can_stay(dtype, used.bytes())) return {.dtype = dtype, .shape = shape, .data = used};
  return copied(dtype, shape, used.bytes());
}

void pack(const Tensor& tensor, std::span<uint8_t> out) {
  if (out.empty()) return;
  const auto count = static_cast<size_t>(tensor.elements());
  if (is_packed(tensor.dtype)) {
    pack_bits(tensor, out);
  } else if (tensor.dtype == DType::kInt48) {
    const auto values = tensor.values<int64_t>().first(count);
    for (size_t i = 0; i < values.size(); ++i) std::memcpy(out.data() + i * kInt48Bytes, &values[i], kInt48Bytes);
  } else {
    std::memcpy(out.data(), tensor.data.data(), out.size());
  }
}

}  // namespace carina::tosa
