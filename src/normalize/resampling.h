#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace carina::normalize {

// How one axis is resampled, in the float32 arithmetic of PyTorch. Source: ATen/native/UpSample.h.
struct Resampling {
  int64_t in;
  int64_t out;
  float scale;  // input elements per output element
};

// The factor that the user gave for the axis `index` of `axes` of the image, 0 where there is none: as scale_factors of
// the .vec overloads, or as scales_d, scales_h, scales_w, scales of the others.
double given_factor(const ir::Attributes& attributes, size_t index, size_t axes);

// `index`: of the axis among those of the image.
Resampling resampling_of(const ir::Attributes& attributes, const Shape& from, const Shape& to, size_t index);

// Output element i stands at (i * step + offset) / scale of the input, as RESIZE has it.
struct Fraction {
  int64_t scale;
  int64_t step;
  int64_t offset;
};

// Of a linear interpolation, in the lowest numbers; nothing where PyTorch's scale is not that of small integers, or
// where RESIZE or the NPUs have no such numbers.
std::optional<Fraction> fraction_of(const ir::Attributes& attributes, const Shape& from, const Shape& to, size_t index);

}  // namespace carina::normalize
