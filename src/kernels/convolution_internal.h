#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/convolution.h"

// Declarations shared by the operators of convolutions.
namespace carina::kernels {

// The bias of each output channel, padded to a multiple of the vector's lanes.
std::vector<float> padded_bias(std::span<const float> bias, int64_t channels);

// The output position of pixel p.
struct ConvPixel {
  int64_t n;
  std::array<int64_t, 3> at;
};
inline void advance(const ConvGeometry& g, ConvPixel& pixel) {
  for (size_t axis = 3; axis-- > 0;) {
    if (++pixel.at[axis] < g.out[axis]) return;
    pixel.at[axis] = 0;
  }
  ++pixel.n;
}
inline ConvPixel pixel_of(const ConvGeometry& g, int64_t p) {
  return {.n = p / (g.out[0] * g.out[1] * g.out[2]),
          .at = {p / (g.out[1] * g.out[2]) % g.out[0], p / g.out[2] % g.out[1], p % g.out[2]}};
}

// Calls run(offset of the first input element or -1 for padding, number of elements) for the taps of a pixel, in the
// order of the weights [KD,KH,KW,IC]. Neighboring taps that are contiguous in the input are one run.
template <typename Run>
void for_each_run(const ConvGeometry& g, const ConvPixel& pixel, const Run& run) {
  const int64_t w0 = tap_position(g, 2, pixel.at[2], 0);
  const bool whole = g.dilation[2] == 1 && w0 >= 0 && w0 + g.kernel[2] <= g.in[2];
  for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
    const int64_t d = tap_position(g, 0, pixel.at[0], kd);
    for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
      const int64_t h = tap_position(g, 1, pixel.at[1], kh);
      const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1];
      const int64_t row = ((pixel.n * g.in[0] + d) * g.in[1] + h) * g.in[2];
      if (inside && whole) {
        run((row + w0) * g.ic, g.kernel[2] * g.ic);
        continue;
      }
      for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const int64_t w = w0 + kw * g.dilation[2];
        run(inside && w >= 0 && w < g.in[2] ? (row + w) * g.ic : -1, g.ic);
      }
    }
  }
}

// The same of `pixels` pixels from `first` on, row of taps by row of taps: calls run(pixel, index of the first tap,
// offset, number of elements).
template <typename Run>
void for_each_run_of_pixels(const ConvGeometry& g, int64_t first, int64_t pixels, const Run& run) {
  for (int64_t p = 0; p < pixels;) {
    const ConvPixel pixel = pixel_of(g, first + p);
    const int64_t end = std::min(pixels, p + g.out[2] - pixel.at[2]);  // of the row of outputs
    for (int64_t tap = 0; tap < g.taps(); tap += g.kernel[2]) {
      const int64_t d = tap_position(g, 0, pixel.at[0], tap / g.kernel[2] / g.kernel[1]);
      const int64_t h = tap_position(g, 1, pixel.at[1], tap / g.kernel[2] % g.kernel[1]);
      const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1];
      const int64_t row = ((pixel.n * g.in[0] + d) * g.in[1] + h) * g.in[2];
      int64_t w0 = tap_position(g, 2, pixel.at[2], 0);
      for (int64_t i = p; i < end; ++i, w0 += g.stride[2]) {
        if (inside && g.dilation[2] == 1 && w0 >= 0 && w0 + g.kernel[2] <= g.in[2]) {
          run(i, tap, (row + w0) * g.ic, g.kernel[2] * g.ic);
          continue;
        }
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const int64_t w = w0 + kw * g.dilation[2];
          run(i, tap + kw, inside && w >= 0 && w < g.in[2] ? (row + w) * g.ic : -1, g.ic);
        }
      }
    }
    p = end;
  }
}

// Writes the address of each tap of a pixel to `x`, and returns the end: `channels` elements are one tap's, and taps of
// padding are at `padding`.
template <typename T>
const T** write_taps(const ConvGeometry& g, const ConvPixel& pixel, const T* in, int64_t channels, const T* padding,
                     const T** x) {
  for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
    for (int64_t c = 0; c < count; c += channels) *x++ = offset < 0 ? padding : in + offset + c;
  });
  return x;
}

// The same of `pixels` pixels from `first` on, one after another in `x`. A tap of all pixels of a row is one loop,
// unless the pixels are fewer than the taps of a row.
template <typename T>
void write_taps_of_pixels(const ConvGeometry& g, int64_t first, int64_t pixels, const T* in, int64_t channels,
                          const T* padding, const T** x) {
  const int64_t parts = g.ic / channels, terms = g.taps() * parts, stride = g.stride[2], ic = g.ic;
  for (int64_t p = 0; p < pixels;) {
    const ConvPixel pixel = pixel_of(g, first + p);
    const int64_t count = std::min(pixels - p, g.out[2] - pixel.at[2]);  // of the row of outputs
    const T** taps = x + p * terms;
    if (count < g.kernel[2]) {
      ConvPixel next = pixel;
      for (int64_t i = 0; i < count; ++i, advance(g, next)) taps = write_taps(g, next, in, channels, padding, taps);
      p += count;
      continue;
    }
    for (int64_t kd = 0; kd < g.kernel[0]; ++kd) {
      const int64_t d = tap_position(g, 0, pixel.at[0], kd);
      for (int64_t kh = 0; kh < g.kernel[1]; ++kh) {
        const int64_t h = tap_position(g, 1, pixel.at[1], kh);
        const bool inside = d >= 0 && d < g.in[0] && h >= 0 && h < g.in[1];
        const int64_t limit = inside ? g.in[2] : 0, row = ((pixel.n * g.in[0] + d) * g.in[1] + h) * g.in[2];
        for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
          const int64_t begin = tap_position(g, 2, pixel.at[2], kw);
          for (int64_t part = 0; part < parts; ++part) {
            const T** to = taps++;
            int64_t w = begin;
            for (int64_t i = 0; i < count; ++i, w += stride, to += terms)
              *to = w >= 0 && w < limit ? in + (row + w) * ic + part * channels : padding;
          }
        }
      }
    }
    p += count;
  }
}

// Returns whether output pixel p depends exactly on input pixel p.
inline bool is_pointwise(const ConvGeometry& g) {
  return g.taps() == 1 && g.in == g.out && g.stride == std::array<int64_t, 3>{1, 1, 1} &&
         g.pad == std::array<int64_t, 3>{0, 0, 0};
}

}  // namespace carina::kernels
