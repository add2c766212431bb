#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The calibration loops over all elements, with vector instructions. Every processor computes the same bits.

namespace carina::quantize {

// indices[i] = values[i] * scale - first, truncated; it must not be negative. Product and difference are rounded to
// doubles separately.
void find_bins(std::span<const float> values, double scale, double first, int32_t* indices);

// sums[c] += the pixels' elements of channel c. A nullptr adds nothing. Groups of kTogether pixels are added as floats,
// in order, before they are added to the sums.
inline constexpr size_t kTogether = 8;
void add_pixels(std::span<const float* const> pixels, size_t channels, double* sums);

}  // namespace carina::quantize
