#pragma once

#include <cstdint>

#include "runtime/kernels/element_internal.h"

namespace carina::runtime {

// The number domain in which a kernel computes: float if all tensors are float (the fast case), double if any is
// floating-point, otherwise int64. Each domain has a value type, and readers and writers of elements by index.
struct Floats {
  using Value = float;
  struct Reader {
    const float* data;
    float operator()(int64_t index) const { return data[index]; }
  };
  struct Writer {
    float* data;
    void operator()(int64_t index, float value) const { data[index] = value; }
  };
  static Reader reader(const Tensor& tensor) { return {tensor.as<const float>()}; }
  static Writer writer(const Tensor& tensor) { return {tensor.as<float>()}; }
};

struct Numbers {
  using Value = double;
  struct Reader {
    NumberLoader load;
    const void* data;
    double operator()(int64_t index) const { return load(data, static_cast<size_t>(index)); }
  };
  struct Writer {
    NumberStorer store;
    void* data;
    void operator()(int64_t index, double value) const { store(data, static_cast<size_t>(index), value); }
  };
  static Reader reader(const Tensor& tensor) { return {number_loader(tensor.type), tensor.data}; }
  static Writer writer(const Tensor& tensor) { return {number_storer(tensor.type), tensor.data}; }
};

struct Integers {
  using Value = int64_t;
  struct Reader {
    IntegerLoader load;
    const void* data;
    int64_t operator()(int64_t index) const { return load(data, static_cast<size_t>(index)); }
  };
  struct Writer {
    IntegerStorer store;
    void* data;
    void operator()(int64_t index, int64_t value) const { store(data, static_cast<size_t>(index), value); }
  };
  static Reader reader(const Tensor& tensor) { return {integer_loader(tensor.type), tensor.data}; }
  static Writer writer(const Tensor& tensor) { return {integer_storer(tensor.type), tensor.data}; }
};

// Calls function(Floats{}), function(Numbers{}) or function(Integers{}), depending on the tensors' types.
template <typename Function, typename... Tensors>
void in_domain(Function&& function, const Tensors&... tensors) {
  if ((... && (tensors.type == PteScalarType::kFloat))) {
    function(Floats{});
  } else if ((... || is_floating(tensors.type))) {
    function(Numbers{});
  } else {
    function(Integers{});
  }
}

// Integer arithmetic that wraps around, as in PyTorch. Signed overflow is undefined in C++.
template <typename T>
T plus(T a, T b) {
  return a + b;
}
template <>
inline int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
T minus(T a, T b) {
  return a - b;
}
template <>
inline int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
T times(T a, T b) {
  return a * b;
}
template <>
inline int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// A scalar argument in a domain. An integer stays exact.
template <typename T>
T scalar_in(const EValue& scalar) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return scalar.kind == EValue::Kind::kDouble ? to_int64(scalar.number) : scalar.to_int();
  } else {
    return static_cast<T>(scalar.to_double());
  }
}

}  // namespace carina::runtime
