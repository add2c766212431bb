// Floats as int8, as LiteRT quantizes the input of a hybrid operator, whose weights are int8.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace carina::tflite {

struct QuantizedInput {
  std::vector<int8_t> values;
  float scale = 1;
  int32_t zero_point = 0;
};

// From -128 to 127; the zero point is that of the nearer end of the range.
QuantizedInput with_zero_point(std::span<const float> x);
// From -127 to 127.
QuantizedInput symmetric(std::span<const float> x);

}  // namespace carina::tflite
