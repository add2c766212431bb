#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "carina/buffer.h"
#include "carina/tensor.h"

// WeightValues: the values of a convolution's weights in their narrowest integer type.
namespace carina::plan {

// The values of weights without zero point: one byte each if all fit, otherwise two. The values of an int8 constant are
// referenced in place. A copy of this object is a handle to the same values.
class WeightValues {
 public:
  WeightValues() = default;
  WeightValues(const std::vector<int16_t>& values);
  WeightValues(std::initializer_list<int16_t> values) : WeightValues(std::vector<int16_t>(values)) {}
  // `constant` is of int8.
  explicit WeightValues(const Tensor& constant) : bytes_(constant.data) {}

  [[nodiscard]] bool empty() const { return bytes_.size() == 0; }
  [[nodiscard]] size_t size() const { return bytes_.size() / (wide_ ? sizeof(int16_t) : sizeof(int8_t)); }
  // Calls read(std::span<const int8_t>) or read(std::span<const int16_t>).
  template <typename Read>
  decltype(auto) visit(const Read& read) const {
    return wide_ ? read(as<int16_t>()) : read(as<int8_t>());
  }
  [[nodiscard]] std::vector<int16_t> widened() const;
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_.bytes(); }
  bool operator==(const WeightValues& other) const;

 private:
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes_.data()), bytes_.size() / sizeof(T)};
  }

  Buffer bytes_;
  bool wide_ = false;
};

}  // namespace carina::plan
