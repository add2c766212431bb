// A pointwise convolution that expands the channels, and the depthwise convolution after it, row by row. The expanded
// rows that a window needs are held in a ring. As the window moves down by one row, one row is computed anew.
//   Example: 56x56 pixels, 24 channels expanded to 144, a window of 3x3: the ring has four rows of 56 * 144 floats (129
//   kB) in place of an image of 1.8 MB, which would be written to the third-level cache and read back.
// Each thread has rows of its own and computes the rows around them again: two rows of the window for each thread.

#include <algorithm>

#include "base/checked_math.h"
#include "carina/buffer.h"
#include "kernels/convolution_internal.h"
#include "kernels/depthwise_pair.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::kernels {

namespace {

constexpr int64_t kProductRows = 48;    // pixels that are worth a pass over the weights
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds

struct Ring {
  int64_t rows;      // that it holds
  int64_t together;  // rows that are computed together
};

struct Pair {
  ConvGeometry narrow, wide;  // of the pointwise and of the depthwise convolution
  Buffer panels;
  Tensor weights;
  std::vector<float> narrow_bias, wide_bias;
  BoundsF32 narrow_bounds, wide_bounds;

  [[nodiscard]] int64_t width() const { return wide.in[2]; }
  [[nodiscard]] int64_t row_elements() const { return width() * wide.ic; }
  [[nodiscard]] int64_t reach() const { return (wide.kernel[1] - 1) * wide.dilation[1] + 1; }
  [[nodiscard]] Ring ring() const {
    const int64_t together = std::clamp<int64_t>(kProductRows / width(), 1, wide.in[1]);
    return {.rows = round_up(reach() + together - 1, together), .together = together};
  }
  [[nodiscard]] size_t ring_area() const {
    return round_up(static_cast<size_t>(ring().rows * row_elements()) * sizeof(float), kScratchAlignment);
  }
  [[nodiscard]] size_t product_area() const {
    return round_up(static_cast<size_t>(ring().together * width() * kBlockColumns) * sizeof(float), kScratchAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const {
    return ring_area() + product_area() + static_cast<size_t>(wide.out[2] * wide.taps()) * sizeof(const float*);
  }

  // Expands `count` rows of image n.
  void expand(const Execution& call, int64_t n, int64_t row, int64_t count, float* products, float* to) const {
    const int64_t pixels = count * width();
    // Blocks have about the same width. A narrow block would read all rows for few columns.
    const int64_t block = round_up(ceil_div(narrow.oc, ceil_div(narrow.oc, kBlockColumns)), kLanes);
    for (int64_t column = 0; column < narrow.oc; column += block) {
      const int64_t channels = std::min(block, narrow.oc - column);
      const EpilogueF32 epilogue{.in = nullptr,
                                 .in_stride = 0,
                                 .out = to + column,
                                 .out_stride = narrow.oc,
                                 .rows = pixels,
                                 .channels = channels,
                                 .column = narrow_bias.data() + column,
                                 .low = narrow_bounds.low,
                                 .high = narrow_bounds.high};
      multiply_f32({.a = call.input<float>(0) + (n * wide.in[1] + row) * width() * narrow.ic,
                    .row_stride = narrow.ic,
                    .rows = pixels,
                    .k = narrow.ic,
                    .panels = reinterpret_cast<const float*>(panels.data()) + column * narrow.ic,
                    .panel_count = padded(channels) / kLanes,
                    .c = products,
                    .c_stride = kBlockColumns,
                    .epilogue = &epilogue});
    }
  }

  // One row of the result, whose window begins at row `first` of the expanded image.
  void convolve(const Execution& call, int64_t row, int64_t first, const float* held, const float** x,
                int64_t slot) const {
    const int64_t capacity = ring().rows;
    int64_t at = 0;
    for (int64_t ox = 0; ox < wide.out[2]; ++ox) {
      for (int64_t ky = 0; ky < wide.kernel[1]; ++ky) {
        const int64_t y = first + ky * wide.dilation[1];
        const float* line = y < 0 || y >= wide.in[1] ? nullptr : held + y % capacity * row_elements();
        for (int64_t kx = 0; kx < wide.kernel[2]; ++kx) {
          const int64_t column = tap_position(wide, 2, ox, kx);
          x[at++] = line == nullptr || column < 0 || column >= width() ? nullptr : line + column * wide.ic;
        }
      }
    }
    depthwise_f32({.x = x,
                   .weights = weights.values<float>().data(),
                   .taps = wide.taps(),
                   .channels = wide.ic,
                   .pixels = wide.out[2],
                   .bias = wide_bias.data(),
                   .low = wide_bounds.low,
                   .high = wide_bounds.high,
                   .out = call.output<float>() + row * wide.out[2] * wide.ic,
                   .extremes = call.extremes_of_slot(slot)});
  }

  void run_rows(const Execution& call, int64_t slot, int64_t begin, int64_t end) const {
    std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
    auto* held = reinterpret_cast<float*>(scratch);
    auto* products = reinterpret_cast<float*>(scratch + ring_area());
    auto** x = reinterpret_cast<const float**>(scratch + ring_area() + product_area());
    const auto [capacity, together] = ring();
    int64_t next = 0;  // the expanded row that is computed next
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / wide.out[1], y = row % wide.out[1];
      const int64_t first = tap_position(wide, 1, y, 0);
      if (row == begin || y == 0) next = 0;
      next = std::max({next, first, int64_t{0}});
      // Not beyond what this thread's rows of the image need.
      const int64_t last_y = std::min(wide.out[1] - 1, y + end - 1 - row);
      const int64_t needed = std::min(tap_position(wide, 1, last_y, 0) + reach(), wide.in[1]);
      while (next < std::min(first + reach(), wide.in[1])) {
        const int64_t count = std::min(together - next % together, needed - next);
        expand(call, n, next, count, products, held + next % capacity * row_elements());
        next += count;
      }
      convolve(call, row, first, held, x, slot);
    }
  }

  void run(const Execution& call) const {
    const int64_t work = wide.in[2] * narrow.ic * narrow.oc + wide.out[2] * wide.oc * wide.taps();
    split_slots(call.workers, wide.batch * wide.out[1], 1 + kGrain / (work + 1),
                [&](int64_t slot, int64_t begin, int64_t end) { run_rows(call, slot, begin, end); });
  }
};

}  // namespace

std::optional<Operator> depthwise_pair_f32(const DepthwisePairF32& pair) {
  const ConvGeometry &narrow = pair.pointwise.geometry, &wide = pair.depthwise.geometry;
  if (!is_pointwise(narrow) || narrow.multiplier != 0 || narrow.ic == 0 || narrow.out != wide.in || wide.in[0] != 1 ||
      wide.kernel[0] != 1 || wide.out[0] != 1 || wide.pad[0] != 0 || wide.multiplier != 1 || wide.ic != narrow.oc)
    return std::nullopt;
  MutableBuffer panels = MutableBuffer::allocate(static_cast<size_t>(padded(narrow.oc) * narrow.ic) * sizeof(float));
  pack_matrix_f32(pair.pointwise.weights.values<float>().data(), 1, narrow.ic, narrow.ic, narrow.oc,
                  reinterpret_cast<float*>(panels.bytes().data()));
  Pair kind{.narrow = narrow,
            .wide = wide,
            .panels = std::move(panels).freeze(),
            .weights = pair.depthwise.weights,
            .narrow_bias = padded_bias(pair.pointwise.bias, narrow.oc),
            .wide_bias = padded_bias(pair.depthwise.bias, wide.oc),
            .narrow_bounds = pair.pointwise.bounds,
            .wide_bounds = pair.depthwise.bounds};
  const size_t packed = kind.panels.size();
  return operator_of(std::move(kind), pair.pointwise.threads, packed);
}

}  // namespace carina::kernels
