#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The calibration loops over all elements, with vector instructions. Every processor computes the same bits.

namespace carina::quantize {

// indices[i] = values[i] * scale - first, truncated; it must not be negative. Product and difference are rounded to
// doubles separately.
void find_bins(std::span<const float> values, double scale, double first, int32_t* indices);

// The number of elements that are 0 or -0.
uint64_t zeros_among(std::span<const float> values);

// sums[c] += the pixels' elements of channel c. A nullptr adds nothing. Groups of kPixelsTogether pixels are added as
// floats, in order, before they are added to the sums.
inline constexpr size_t kPixelsTogether = 8;
void add_pixels(std::span<const float* const> pixels, size_t channels, double* sums);

// What pixels show of each channel: lows[c] and highs[c] become the least and the largest of themselves and of the
// elements of channel c, squares[c] += element * element. Elements are seen in the order of the pixels; a square is
// rounded before it is added; NaN changes only the squares.
void add_spreads(std::span<const float> values, size_t channels, float* lows, float* highs, float* squares);

// products[i][j] += row[i] * row[j] for each of `count` rows, in order, and for j up to i; elements beyond are
// undefined. Rows and the rows of `products` have `stride` elements, a multiple of kRowGroup. A product is rounded
// before it is added.
inline constexpr size_t kRowGroup = 16;
void add_outer_products(const float* rows, size_t count, size_t stride, size_t terms, float* products);

// Returns the sum of a[i] * b[i]. Element i belongs to sum i % 4; a product is rounded before it is added to its sum;
// elements beyond the last whole group of 4 belong to sum 0; the four sums are added in order.
double dot_product(const double* a, const double* b, size_t count);

// sums[i] += factor * values[i]. The product is rounded before it is added.
void add_scaled(double factor, std::span<const double> values, double* sums);

}  // namespace carina::quantize
