#pragma once

#include <cstddef>
#include <cstdint>

// Products of int8 matrices and depthwise convolutions on vector instructions, chosen at run time for the processor; the
// same sums on each. For all who multiply integers on a host.
namespace carina::interpret::simd {

inline constexpr int64_t kLanes = 16;  // channels are padded to a multiple of this where buffers are ours
inline int64_t padded(int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

// --- products of int8 matrices: C[m][n] = sum over k of A[m][k] B[k][n], exact modulo 2^32

// How rows of A must stand for this processor: elements of 1 or 2 bytes, the row padded with zeros to `k_step`
// elements.
struct MatrixFormat {
  int64_t k_step;
  size_t a_bytes;  // of an element
  [[nodiscard]] size_t row_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * a_bytes;
  }
  // Of B: panels of kLanes columns.
  [[nodiscard]] size_t panel_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * kLanes * a_bytes;
  }
};
MatrixFormat matrix_format();

// Writes B, whose element (k, n) stands at b[k * stride_k + n * stride_n], as padded(n) / kLanes panels.
void pack_matrix(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, std::byte* panels);
// Copies `count` elements into a row of A (converted to its format).
void pack_row(const int8_t* in, int64_t count, std::byte* out);
// The sum of the elements of each row.
void row_sums(const std::byte* a, size_t row_bytes, int64_t rows, int64_t k, int32_t* sums);

struct MatrixJob {
  const std::byte* a;
  size_t row_bytes;
  int64_t rows;
  int64_t k;
  const std::byte* panels;  // the first of those wanted
  int64_t panel_count;
  const int32_t* sums;  // row_sums(); needed when matrix_needs_sums()
  int32_t* c;           // kLanes * panel_count columns
  int64_t c_stride;
};
bool matrix_needs_sums();
void multiply(const MatrixJob& job);
inline constexpr int64_t kMaxPanels = 4;  // of one job

// --- depthwise: one output pixel from its taps

// Weights [taps][channels], zero point taken off, for depthwise_i8: pairs of taps side by side. Elements: pairs(taps) *
// padded(channels).
inline int64_t pairs(int64_t taps) {
  return (taps + 1) / 2;
}
void pack_depthwise(const int16_t* weights, int64_t taps, int64_t channels, int32_t* packed);
// acc[p][c] = sum over taps of x[p * taps + t][c] * weight[t][c], for `pixels` pixels whose inputs stand at x.
struct DepthwiseI8 {
  const int8_t* const* x;
  const int32_t* packed;
  int64_t taps;
  int64_t channels;
  int64_t pixels;
  int32_t* acc;  // rows of padded(channels)
};
void depthwise_i8(const DepthwiseI8& job);

}  // namespace carina::interpret::simd
