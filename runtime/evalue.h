#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "facts/executorch.h"

namespace carina::runtime {

// Bytes of one element. 0 for types that this runtime does not support.
size_t element_bytes(PteScalarType type);

// A tensor of dense elements: its sizes, the order of its axes in memory, and its data. Sizes and order are views of
// the program with equal lengths.
class Tensor {
 public:
  constexpr Tensor() = default;
  constexpr Tensor(PteScalarType tensor_type, std::span<const int32_t> sizes, std::span<const uint8_t> dim_order,
                   void* memory)
      : data(memory),
        type(tensor_type),
        rank_(static_cast<uint8_t>(sizes.size())),
        sizes_(sizes.data()),
        dim_order_(dim_order.data()) {}

  void* data = nullptr;
  PteScalarType type = PteScalarType::kFloat;
  bool read_only : 1 = false;  // a constant of the program: no kernel may write to it
  bool resizable : 1 = false;  // the method owns the sizes, which are followed by as many upper bounds
  bool of_caller : 1 = false;  // an input without planned memory: `data` is what the last set_input() was given
  bool is_state : 1 = false;   // keeps its content from run to run (runtime/state.cpp finds these tensors)
  bool written : 1 = false;    // while loading: an instruction before the current one wrote it, or it is an input
  bool delegated : 1 = false;  // while loading: first an argument of a delegate, which may read or write it

  [[nodiscard]] size_t rank() const { return rank_; }
  [[nodiscard]] std::span<const int32_t> sizes() const { return {sizes_, rank_}; }
  // The upper bounds of the sizes. The memory of a resizable tensor is planned for them.
  [[nodiscard]] std::span<const int32_t> bounds() const { return {resizable ? sizes_ + rank_ : sizes_, rank_}; }
  [[nodiscard]] std::span<const uint8_t> dim_order() const {  // outermost first; contiguous: 0, 1, 2 ...
    return {dim_order_, rank_};
  }
  [[nodiscard]] size_t elements() const {
    size_t count = 1;
    for (const int32_t size : sizes()) count *= static_cast<size_t>(size);
    return count;
  }
  [[nodiscard]] size_t bytes() const { return elements() * element_bytes(type); }
  [[nodiscard]] bool contiguous() const {
    for (size_t i = 0; i < rank_; ++i) {
      if (dim_order_[i] != i) return false;
    }
    return true;
  }
  // Changes the sizes of a tensor for all its users. Returns false if the sizes differ and the tensor is not resizable,
  // or if they exceed the bounds.
  [[nodiscard]] bool resize(std::span<const int64_t> sizes) const;
  template <typename T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data);
  }

 private:
  uint8_t rank_ = 0;
  const int32_t* sizes_ = nullptr;
  const uint8_t* dim_order_ = nullptr;
};

// One slot of a program's table of values. `kind` says which member is valid.
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
    const char* text;
    Tensor tensor;
    std::span<const int64_t> integers;  // the values, resolved at load
    std::span<const double> numbers;
    std::span<const uint8_t> booleans;
    std::span<EValue* const> tensors;  // nullptr: None
  };

  constexpr EValue() : integer(0) {}
  explicit EValue(int64_t value) : kind(Kind::kInt), integer(value) {}
  explicit EValue(bool value) : kind(Kind::kBool), boolean(value) {}
  explicit EValue(double value) : kind(Kind::kDouble), number(value) {}
  explicit EValue(const char* value) : kind(Kind::kString), text(value) {}
  explicit EValue(const Tensor& value) : kind(Kind::kTensor), tensor(value) {}
  explicit EValue(std::span<const int64_t> values) : kind(Kind::kIntList), integers(values) {}
  explicit EValue(std::span<const double> values) : kind(Kind::kDoubleList), numbers(values) {}
  explicit EValue(std::span<const uint8_t> values) : kind(Kind::kBoolList), booleans(values) {}
  explicit EValue(std::span<EValue* const> values) : kind(Kind::kTensorList), tensors(values) {}

  [[nodiscard]] bool is_none() const { return kind == Kind::kNone; }
  [[nodiscard]] bool is_tensor() const { return kind == Kind::kTensor; }
  // An Int, Double or Bool as a number. A program may use any of them for a scalar of a schema. Other kinds give 0.
  [[nodiscard]] double to_double() const {
    return kind == Kind::kDouble ? number : static_cast<double>(kind == Kind::kInt ? integer : to_int());
  }
  [[nodiscard]] int64_t to_int() const {
    if (kind == Kind::kDouble) return static_cast<int64_t>(number);
    if (kind == Kind::kBool) return boolean ? 1 : 0;
    return kind == Kind::kInt ? integer : 0;
  }
};

// Programs have hundreds of values, most of them numbers, so the slots must be small.
static_assert(sizeof(EValue) <= (sizeof(void*) == 8 ? 40 : 24));

}  // namespace carina::runtime
