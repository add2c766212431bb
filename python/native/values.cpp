#include "values.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

namespace carina::python {

namespace {

struct NumpyType {
  DType dtype;
  std::string_view name;
  nb::dlpack::dtype type;
};

// The tensor type for each NumPy type. An input array gets the first row with its NumPy type.
constexpr std::array<NumpyType, 22> kTypes{{
    {.dtype = DType::kBool, .name = "bool", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Bool), 8, 1}},
    {.dtype = DType::kInt8, .name = "int8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 8, 1}},
    {.dtype = DType::kUInt8, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kInt16, .name = "int16", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 16, 1}},
    {.dtype = DType::kUInt16, .name = "uint16", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 16, 1}},
    {.dtype = DType::kInt32, .name = "int32", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 32, 1}},
    {.dtype = DType::kUInt32, .name = "uint32", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 32, 1}},
    {.dtype = DType::kInt64, .name = "int64", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 64, 1}},
    {.dtype = DType::kFp16, .name = "float16", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1}},
    {.dtype = DType::kFp32, .name = "float32", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 32, 1}},
    {.dtype = DType::kFp64, .name = "float64", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 64, 1}},
    {.dtype = DType::kInt4, .name = "int8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 8, 1}},
    {.dtype = DType::kInt48, .name = "int64", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 64, 1}},
    {.dtype = DType::kShape, .name = "int64", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), 64, 1}},
    {.dtype = DType::kBf16, .name = "uint16", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 16, 1}},
    {.dtype = DType::kFp8E4M3, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kFp8E5M2, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kFp6E2M3, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kFp6E3M2, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kFp4E2M1, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    {.dtype = DType::kFp8UE8M0, .name = "uint8", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), 8, 1}},
    // Inputs only: a PyTorch tensor, since NumPy lacks the type.
    {.dtype = DType::kBf16, .name = "bfloat16", .type = {static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat), 16, 1}},
}};

const NumpyType& type_of(DType dtype) {
  const auto* row = std::ranges::find(kTypes, dtype, &NumpyType::dtype);
  CARINA_CHECK(row != kTypes.end(), "{} has no type in NumPy", name_of(dtype));
  return *row;
}

// A Python object that keeps memory alive. Any thread may release it.
template <typename Object>
std::shared_ptr<const void> owner_of(Object object) {
  return {new Object(std::move(object)), [](Object* held) {
            const nb::gil_scoped_acquire gil;
            delete held;
          }};
}

}  // namespace

Buffer buffer_of(const nb::bytes& bytes) {
  const auto* data = static_cast<const std::byte*>(bytes.data());
  return {owner_of(bytes), {data, bytes.size()}};
}

nb::bytes bytes_of(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

Tensor tensor_of(const Array& array) {
  const auto* row = std::ranges::find(kTypes, array.dtype(), &NumpyType::type);
  if (row == kTypes.end()) throw nb::type_error("carina: an array of numbers or bools is needed");
  if (array.ndim() > Shape::kMaxRank) throw nb::value_error("carina: an array of at most 16 axes is needed");
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < array.ndim(); ++axis) dims.push_back(static_cast<int64_t>(array.shape(axis)));
  const std::span<const std::byte> bytes{static_cast<const std::byte*>(array.data()), array.nbytes()};
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes(row->dtype) == 0;
  return {.dtype = row->dtype,
          .shape = Shape(dims),
          .data = aligned ? Buffer(owner_of(array), bytes) : Buffer::copy_of(bytes)};
}

datasets::Sample sample_of(const std::vector<Array>& arrays) {
  datasets::Sample sample;
  std::ranges::transform(arrays, std::back_inserter(sample), tensor_of);
  return sample;
}

nb::object array_of(const Tensor& tensor) {
  std::vector<size_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
  auto* held = new Buffer(tensor.data);
  const nb::capsule owner(held, [](void* buffer) noexcept { delete static_cast<Buffer*>(buffer); });
  // Writing is safe: a tensor that is handed over has no other owner.
  void* data = const_cast<std::byte*>(held->data());
  return nb::cast(nb::ndarray<nb::numpy>(data, dims.size(), dims.data(), owner, nullptr, type_of(tensor.dtype).type));
}

std::string_view numpy_name(DType dtype) {
  return type_of(dtype).name;
}

}  // namespace carina::python
