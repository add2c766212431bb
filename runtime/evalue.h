#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/executorch.h"

namespace carina::runtime {

// A tensor of dense elements: sizes, the order of its axes in memory, and where its bytes are.
struct Tensor {
  PteScalarType type = PteScalarType::kFloat;
  std::span<const int32_t> sizes;
  std::span<const uint8_t> dim_order;  // outermost first; contiguous: 0, 1, 2 ...
  void* data = nullptr;
  size_t bytes = 0;
  bool read_only = false;  // a constant of the program: no kernel may write to it

  [[nodiscard]] size_t rank() const { return sizes.size(); }
  [[nodiscard]] size_t elements() const {
    size_t count = 1;
    for (const int32_t size : sizes) count *= static_cast<size_t>(size);
    return count;
  }
  [[nodiscard]] bool contiguous() const {
    for (size_t i = 0; i < dim_order.size(); ++i) {
      if (dim_order[i] != i) return false;
    }
    return true;
  }
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data);
  }
};

// Bytes of one element; 0 for types that this runtime does not have.
size_t element_bytes(PteScalarType type);

// One slot of a program's table of values.
struct EValue {
  enum class Kind : uint8_t {
    kNone,
    kInt,
    kBool,
    kDouble,
    kString,
    kTensor,
    kIntList,
    kDoubleList,
    kBoolList,
    kTensorList
  };
  Kind kind = Kind::kNone;
  union {
    int64_t integer;
    bool boolean;
    double number;
  };
  Tensor tensor;                      // kTensor
  std::span<const int64_t> integers;  // kIntList: the values, resolved at load
  std::span<const double> numbers;    // kDoubleList
  std::span<const uint8_t> booleans;  // kBoolList
  std::span<EValue* const> tensors;   // kTensorList; nullptr: None
  const char* text = nullptr;         // kString

  constexpr EValue() : integer(0) {}
  [[nodiscard]] bool is_none() const { return kind == Kind::kNone; }
  [[nodiscard]] bool is_tensor() const { return kind == Kind::kTensor; }
  // An Int, Double or Bool as a number: scalars of a schema may come as any of them.
  [[nodiscard]] double to_double() const {
    return kind == Kind::kInt ? static_cast<double>(integer) : kind == Kind::kBool ? (boolean ? 1.0 : 0.0) : number;
  }
  [[nodiscard]] int64_t to_int() const {
    return kind == Kind::kDouble ? static_cast<int64_t>(number) : kind == Kind::kBool ? (boolean ? 1 : 0) : integer;
  }
};

}  // namespace carina::runtime
