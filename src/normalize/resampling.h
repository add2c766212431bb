#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace carina::normalize {

// The resampling of one axis, in PyTorch's float32 arithmetic. Source: aten/src/ATen/native/UpSample.h.
struct Resampling {
  int64_t in;
  int64_t out;
  float scale;  // input elements per output element
};

// The user's scale factor for axis `index` of the image's `axes`, or 0 if there is none. The .vec overloads have
// scale_factors; the others have scales_d, scales_h, scales_w or scales.
double given_factor(const ir::Attributes& attributes, size_t index, size_t axes);

// `index` is the axis among the image's axes.
Resampling resampling_of(const ir::Attributes& attributes, const Shape& from, const Shape& to, size_t index);

// Output element i samples the input at (i * step + offset) / scale, as in RESIZE.
struct Fraction {
  int64_t scale;
  int64_t step;
  int64_t offset;
};

// The fraction of a linear interpolation in lowest terms. No value if PyTorch's scale is not a ratio of small integers,
// or if RESIZE or the NPUs do not support the numbers.
std::optional<Fraction> fraction_of(const ir::Attributes& attributes, const Shape& from, const Shape& to, size_t index);

}  // namespace carina::normalize
