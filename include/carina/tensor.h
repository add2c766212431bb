// Defines Tensor, a dense array in memory.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "carina/buffer.h"
#include "carina/check.h"
#include "carina/dtype.h"
#include "carina/shape.h"

namespace carina {

// A dense tensor in row-major order (last axis fastest) with elements in memory as DTypeRow describes. Immutable
// once shared: copies share the bytes.
struct Tensor {
  DType dtype = DType::kUnknown;
  Shape shape;
  Buffer data;

  [[nodiscard]] int64_t elements() const { return shape.elements(); }
  // The elements as T, whose size must be the type's; the data must be aligned for T.
  template <typename T>
  [[nodiscard]] std::span<const T> values() const {
    CARINA_CHECK(sizeof(T) == element_bytes(dtype), "{} read as {} bytes an element", name_of(dtype), sizeof(T));
    CARINA_CHECK(reinterpret_cast<uintptr_t>(data.data()) % alignof(T) == 0, "unaligned tensor data");
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

  // Copies values in row-major order; `values` has shape.elements() of them.
  template <typename T>
    requires(!std::is_same_v<T, bool>)
  static Tensor of(DType dtype, const Shape& shape, std::span<const T> values) {
    CARINA_CHECK(sizeof(T) == element_bytes(dtype) && static_cast<int64_t>(values.size()) == shape.elements(),
                 "{} values of {} bytes for {} {}", values.size(), sizeof(T), name_of(dtype), to_string(shape));
    return {.dtype = dtype, .shape = shape, .data = Buffer::copy_of(std::as_bytes(values))};
  }
};

// The bytes that a tensor of this type takes in memory.
inline size_t tensor_bytes(DType dtype, const Shape& shape) {
  return static_cast<size_t>(shape.elements()) * element_bytes(dtype);
}

// A tensor under construction: uninitialized elements to fill, then freeze().
class MutableTensor {
 public:
  MutableTensor(DType dtype, const Shape& shape)
      : dtype_(dtype), shape_(shape), buffer_(MutableBuffer::allocate(tensor_bytes(dtype, shape))) {}
  // The elements as T, whose size must be that of the type.
  template <typename T>
  [[nodiscard]] std::span<T> values() {
    CARINA_CHECK(sizeof(T) == element_bytes(dtype_), "{} written as {} bytes an element", name_of(dtype_), sizeof(T));
    return {reinterpret_cast<T*>(buffer_.bytes().data()), buffer_.bytes().size() / sizeof(T)};
  }
  [[nodiscard]] std::span<std::byte> bytes() { return buffer_.bytes(); }
  // Hands over the tensor without a copy.
  [[nodiscard]] Tensor freeze() && { return {.dtype = dtype_, .shape = shape_, .data = std::move(buffer_).freeze()}; }

 private:
  DType dtype_;
  Shape shape_;
  MutableBuffer buffer_;
};

// Returns whether two tensors have the same type, shape and bytes (floats compare by bits).
inline bool identical(const Tensor& a, const Tensor& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.data.size() == b.data.size() &&
         (a.data.size() == 0 || std::memcmp(a.data.data(), b.data.data(), a.data.size()) == 0);
}

}  // namespace carina
