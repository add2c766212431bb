#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// int8 matrix products and depthwise convolutions with vector instructions, selected at run time for the processor.
// Every processor computes the same sums. Host engines with integer arithmetic share them.
namespace carina::kernels {

inline constexpr int64_t kLanes = 16;  // channels are padded to a multiple of it in buffers of this library
inline int64_t padded(int64_t channels) {
  return (channels + kLanes - 1) / kLanes * kLanes;
}

// --- products of int8 matrices: C[m][n] = sum over k of A[m][k] B[k][n], exact modulo 2^32
//   Example: k = 20 and k_step = 16 elements of 1 byte: a row of A takes 32 bytes, the last 12 of them zeros.

// The format of the rows of A for this processor: elements of 1 or 2 bytes, and rows padded with zeros to a multiple of
// `k_step` elements.
struct MatrixFormat {
  int64_t k_step;
  size_t a_bytes;  // of an element
  [[nodiscard]] size_t row_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * a_bytes;
  }
  // Bytes of one panel of B: kLanes columns.
  [[nodiscard]] size_t panel_bytes(int64_t k) const {
    return static_cast<size_t>((k + k_step - 1) / k_step * k_step) * kLanes * a_bytes;
  }
};
MatrixFormat matrix_format();

// Packs B, whose element (k, n) is b[k * stride_k + n * stride_n], into padded(n) / kLanes panels.
void pack_matrix(const int8_t* b, int64_t stride_k, int64_t stride_n, int64_t k, int64_t n, std::byte* panels);
// Copies `count` elements into a row of A and converts them to its format.
void pack_row(const int8_t* in, int64_t count, std::byte* out);
// The same of parts of rows.
struct PackedPart {
  const int8_t* in;
  int64_t count;
  std::byte* out;
};
void pack_parts(std::span<const PackedPart> parts);
// Computes the sum of the elements of each row.
void row_sums(const std::byte* a, size_t row_bytes, int64_t rows, int64_t k, int32_t* sums);

// The conversion of sums to bytes: out = clamp(scaled(sum + column) + zero_point). For channel c, `scaled` is
// - kRescale (TOSA's RESCALE, rounded once): ((sum * multiplier[c] >> 32) + addend[c]) >> shift[c]. The addend holds
//   half and the shifted zero point; `zero_point` is 0 then.
// - kRequantize (CMSIS-NN's): h = (sum * multiplier[c] + 2^30) >> 31, then (h + addend[c] - (h < 0)) >> shift[c] with
//   an addend of 2^(shift - 1). Shifts are above 0, sums below 2^30, multipliers not negative.
// Lists have an entry per channel, padded with zeros to byte_padded() entries. No intermediate value may exceed 32
// bits.
enum class ByteRule : uint8_t { kRescale, kRequantize };
struct Int8Epilogue {
  ByteRule rule = ByteRule::kRescale;
  std::vector<int32_t> column, multiplier, addend, shift;
  int32_t zero_point = 0;  // -128 to 127
  int8_t low = -128;
  int8_t high = 127;

  explicit Int8Epilogue(int64_t channels);
};
int64_t byte_padded(int64_t channels);
// Returns whether this processor's kernels write bytes. If not, they write sums only.
bool kernels_make_bytes();

struct MatrixJob {
  const std::byte* a;
  size_t row_bytes;
  int64_t rows;
  int64_t k;
  const std::byte* panels;  // the first of the panels to compute
  int64_t panel_count;
  const int32_t* sums;  // row_sums(); needed if matrix_needs_sums()
  int32_t* c;           // kLanes * panel_count columns
  int64_t c_stride;

  // For multiply_to_bytes(), instead of c. Rows of the output are `out_stride` apart.
  const Int8Epilogue* epilogue = nullptr;
  int64_t first_channel = 0;  // of this job's columns: a multiple of kLanes
  int64_t channels = 0;       // written, at most kLanes * panel_count
  int32_t weight_zp = 0;      // subtracted from the weights
  int8_t* out = nullptr;
  int64_t out_stride = 0;
};
bool matrix_needs_sums();
void multiply(const MatrixJob& job);
// Needs `sums`. Only if kernels_make_bytes().
void multiply_to_bytes(const MatrixJob& job);
inline constexpr int64_t kMaxPanels = 4;  // of one job

// --- depthwise: one output pixel from its taps

// Packs weights [taps][channels], without zero point, for depthwise_i8: pairs of taps are adjacent. The result has
// pairs(taps) * padded(channels) elements.
inline int64_t pairs(int64_t taps) {
  return (taps + 1) / 2;
}
void pack_depthwise(const int16_t* weights, int64_t taps, int64_t channels, int32_t* packed);
// acc[p][c] = sum over taps of x[p * taps + t][c] * weight[t][c], for `pixels` pixels with the input pointers x.
struct DepthwiseI8 {
  const int8_t* const* x;
  const int32_t* packed;
  int64_t taps;
  int64_t channels;
  int64_t pixels;
  int32_t* acc;  // rows of padded(channels)
};
void depthwise_i8(const DepthwiseI8& job);

// A depthwise convolution with results in bytes. Only if kernels_make_bytes().
class DepthwiseBytes {
 public:
  struct Window {
    int64_t height;
    int64_t width;
    int64_t stride_x;
    int64_t dilation_x;

    [[nodiscard]] int64_t taps() const { return height * width; }
  };
  // `weights` are [taps][channels] without zero point, and all fit a byte. `epilogue` applies to the plain sums.
  DepthwiseBytes(const Window& window, int64_t channels, const int16_t* weights, const Int8Epilogue& epilogue);
  static bool takes(const int16_t* weights, int64_t count);

  // Returns whether neighboring pixels share columns of the input. run() then takes each column once.
  [[nodiscard]] bool by_columns() const { return by_columns_; }
  // Writes rows of `channels` for `pixels` pixels of a row of the output. The input pointers are
  // - by columns: tap ky of input column j is x[j * height + ky], and pixel p uses the columns from p * stride_x on;
  // - otherwise: tap t of pixel p is x[p * taps + t].
  void run(const int8_t* const* x, int64_t pixels, int8_t* out) const;
  // The number of pointers that run() reads.
  [[nodiscard]] int64_t pointers(int64_t pixels) const {
    return by_columns_ ? ((pixels - 1) * window_.stride_x + window_.width) * window_.height : pixels * window_.taps();
  }

  [[nodiscard]] const Window& window() const { return window_; }
  [[nodiscard]] int64_t channels() const { return channels_; }
  [[nodiscard]] const Int8Epilogue& epilogue() const { return epilogue_; }
  // The weights of the block that begins with channel `at`.
  [[nodiscard]] const int8_t* quads(int64_t at) const { return quads_.data() + at * quad_count_ * 4; }

 private:
  Window window_;
  int64_t channels_;
  bool by_columns_;
  int64_t quad_count_;  // by columns: one per column; otherwise four taps each, in order
  // Blocks of 64 channels; the last blocks may have 32 or 16. Within a block, the vectors of sums hold channels in the
  // order in which bytes of four taps are interleaved (order_in_block()).
  std::vector<int8_t> quads_;  // [block][quads of taps][channel in that order][4 taps]
  Int8Epilogue epilogue_;      // in that order
};

}  // namespace carina::kernels
