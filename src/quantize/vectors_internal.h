#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// What calibration does with all elements, on the vectors of the processor: the same bits on each.

namespace carina::quantize {

// places[i] = values[i] * scale - first without its fraction; it is not negative. Product and difference are rounded to
// doubles one by one.
void find_bins(std::span<const float> values, double scale, double first, int32_t* indices);

// sums[c] += what the pixels have in channel c. Null: nothing. kTogether pixels are added as floats, in order, before they
// join the sums.
inline constexpr size_t kTogether = 8;
void add_pixels(std::span<const float* const> pixels, size_t channels, double* sums);

}  // namespace carina::quantize
