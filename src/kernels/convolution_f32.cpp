// fp32 convolutions with the vector kernels. Dense ones are computed as a GEMM of gathered input rows, depthwise ones
// pixel by pixel. Every output is one chain of fused multiply-adds in the order of taps and channels, followed by the
// bias.

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "carina/buffer.h"
#include "kernels/convolution_internal.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/micro/microkernels.h"
#include "kernels/repeated_channels_internal.h"
#include "tensor/finite.h"

namespace carina::kernels {

std::vector<float> padded_bias(std::span<const float> bias, int64_t channels) {
  std::vector<float> result(static_cast<size_t>(padded(channels)), 0.0F);
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) result[c] = bias[bias.size() == 1 ? 0 : c];
  return result;
}

namespace {

constexpr int64_t kBlockRows = 66;
constexpr int64_t kMaxBlockRows = 198;  // for rows that are not gathered, since every block reads all weights
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds; they take some microseconds
constexpr int64_t kDepthwiseGrain = 16 * 1024;
constexpr int64_t kStays = 256 * 1024;           // floats that fit the second-level cache
constexpr int64_t kPassesBy = 6 * 1024 * 1024;   // floats: a larger output leaves the caches before it is read
constexpr int64_t kPackGrain = 64 * 1024;        // weights
constexpr size_t kSmallBytes = size_t{1} << 16;  // smaller weights are always packed once

// Copies kStep floats at a time. The run must have at least kStep floats; the last step overlaps the previous one.
template <int64_t kStep>
void copy_steps(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i + kStep < count; i += kStep) std::memcpy(to + i, from + i, kStep * sizeof(float));
  std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(float));
}
// Copies the few floats of a first layer's taps faster than memmove.
void copy_run(const float* from, int64_t count, float* to) {
  constexpr int64_t kFew = 64;
  if (count >= 4 && count < 16) {
    copy_steps<4>(from, count, to);
  } else if (count >= 16 && count <= kFew) {
    copy_steps<16>(from, count, to);
  } else {
    std::copy_n(from, count, to);
  }
}

// Returns whether the output is written past the caches.
bool streams(const ConvGeometry& g, const float* out) {
  return g.pixels() * g.oc > kPassesBy && g.oc % kLanes == 0 && reinterpret_cast<uintptr_t>(out) % kLineBytes == 0;
}

struct Dense {
  ConvGeometry g;
  int64_t k;
  bool in_place;
  Tensor weights;
  Buffer panels;  // packed weights; empty: packed in each run, one block of columns at a time for few rows
  std::vector<float> bias;
  BoundsF32 bounds;
  GemmTiling tiling;

  [[nodiscard]] size_t row_area() const {
    return round_up(in_place ? size_t{0} : static_cast<size_t>(kBlockRows * k) * sizeof(float), kScratchAlignment);
  }
  [[nodiscard]] size_t product_area() const {
    return static_cast<size_t>(tiling.block_rows * kBlockColumns) * sizeof(float);
  }
  [[nodiscard]] bool packs_as_it_goes() const { return panels.size() == 0 && tiling.blocks == 1; }
  [[nodiscard]] size_t scratch_bytes() const {
    const size_t panel_area = packs_as_it_goes() ? static_cast<size_t>(k * kBlockColumns) * sizeof(float) : 0;
    return row_area() + product_area() + panel_area;
  }

  void gather(const float* in, int64_t first, int64_t rows, float* to) const {
    ConvPixel pixel = pixel_of(g, first);
    for (int64_t r = 0; r < rows; ++r, advance(g, pixel)) {
      for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
        if (offset < 0) {
          std::fill_n(to, count, 0.0F);
        } else {
          copy_run(in + offset, count, to);
        }
        to += count;
      });
    }
  }

  // Packs the panels of the output channels from `first` on, a multiple of kLanes.
  const float* pack(int64_t first, int64_t channels, float* to) const {
    pack_matrix_f32(weights.values<float>().data() + first * k, 1, k, k, channels, to);
    return to;
  }
  [[nodiscard]] size_t packed_bytes() const { return static_cast<size_t>(padded(g.oc) * k) * sizeof(float); }
  [[nodiscard]] MutableBuffer pack_now(Workers& workers) const {
    MutableBuffer packed = MutableBuffer::allocate(packed_bytes());
    auto* to = reinterpret_cast<float*>(packed.bytes().data());
    split(workers, padded(g.oc) / kLanes, 1 + kPackGrain / (kLanes * k), [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kLanes;
      pack(first, std::min(end * kLanes, g.oc) - first, to + first * k);
    });
    return packed;
  }

  // The panels to prefetch after those at `column` of a unit. After the first rows, small weights are in the cache.
  const float* next_panels(const float* packed, const GemmTiling::Unit& unit, int64_t column, int64_t width) const {
    if (packed == nullptr || (unit.row > 0 && unit.columns * k <= kStays)) return nullptr;
    if (column + width < unit.column + unit.columns) return packed + (column + width) * k;
    const bool again = unit.row + unit.rows < tiling.rows;
    return packed + (again ? unit.column : column) * k;
  }

  // `packed`: the packed weights; nullptr if they are packed here.
  void run_unit(const Execution& call, const float* packed, const GemmTiling::Unit& unit, int64_t slot) const {
    const auto [first, rows, part, columns] = unit;
    std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
    const auto* in = call.input<float>(0);
    auto* gathered = reinterpret_cast<float*>(scratch);
    auto* products = reinterpret_cast<float*>(scratch + row_area());
    auto* block = reinterpret_cast<float*>(scratch + row_area() + product_area());
    if (!in_place) gather(in, first, rows, gathered);
    // Blocks have about the same width. A narrow block would read all rows for few columns.
    const int64_t width = round_up(ceil_div(columns, ceil_div(columns, kBlockColumns)), kLanes);
    for (int64_t column = part; column < part + columns; column += width) {
      const int64_t channels = std::min(width, part + columns - column);
      const EpilogueF32 epilogue{.in = nullptr,
                                 .in_stride = 0,
                                 .out = call.output<float>() + first * g.oc + column,
                                 .out_stride = g.oc,
                                 .rows = rows,
                                 .channels = channels,
                                 .column = bias.data() + column,
                                 .low = bounds.low,
                                 .high = bounds.high,
                                 .extremes = call.extremes_of_slot(slot),
                                 .streams = streams(g, call.output<float>())};
      multiply_f32({.a = in_place ? in + first * k : gathered,
                    .row_stride = k,
                    .rows = rows,
                    .k = k,
                    .panels = packed == nullptr ? pack(column, channels, block) : packed + column * k,
                    .panel_count = padded(channels) / kLanes,
                    .c = products,
                    .c_stride = kBlockColumns,
                    .epilogue = &epilogue,
                    .next_panels = next_panels(packed, unit, column, width),
                    .rows_are_far = column == part ? in_place && tiling.rows * k > 2 * kStays
                                                   : (rows + kBlockColumns) * k > kStays});
    }
  }

  void run(const Execution& call) const {
    Buffer held = panels;
    if (panels.size() == 0 && !packs_as_it_goes()) held = pack_now(call.workers).freeze();
    const auto* packed = reinterpret_cast<const float*>(held.data());
    split_slots(call.workers, tiling.units(), tiling.grain, [&](int64_t slot, int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) run_unit(call, packed, tiling.unit(unit), slot);
      if (streams(g, call.output<float>())) flush_streams();
    });
  }
};

struct Depthwise {
  ConvGeometry g;
  Tensor weights;
  std::vector<float> bias;
  BoundsF32 bounds;
  int64_t parts;  // inputs of each output; a pixel has that many rows of channels

  [[nodiscard]] int64_t terms() const { return g.taps() * parts; }
  [[nodiscard]] size_t scratch_bytes() const { return static_cast<size_t>(g.out[2] * terms()) * sizeof(const float*); }

  void run_row(const Execution& call, int64_t row, std::byte* scratch, int64_t slot) const {
    auto** x = reinterpret_cast<const float**>(scratch);
    const auto* in = call.input<float>(0);
    const int64_t first = row * g.out[2];
    write_taps_of_pixels<float>(g, first, g.out[2], in, g.oc, nullptr, x);
    depthwise_f32({.x = x,
                   .weights = weights.values<float>().data(),
                   .taps = terms(),
                   .channels = g.oc,
                   .pixels = g.out[2],
                   .bias = bias.data(),
                   .low = bounds.low,
                   .high = bounds.high,
                   .out = call.output<float>() + first * g.oc,
                   .extremes = call.extremes_of_slot(slot),
                   .streams = streams(g, call.output<float>())});
  }

  void run(const Execution& call) const {
    const int64_t grain = 1 + kDepthwiseGrain / (g.out[2] * g.oc * terms() + 1);
    split_slots(call.workers, g.batch * g.out[0] * g.out[1], grain, [&](int64_t slot, int64_t begin, int64_t end) {
      std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
      for (int64_t row = begin; row < end; ++row) run_row(call, row, scratch, slot);
      if (streams(g, call.output<float>())) flush_streams();
    });
  }
};

bool reads_padding(const ConvGeometry& g) {
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t last = tap_position(g, axis, g.out[axis] - 1, g.kernel[axis] - 1);
    if (g.pad[axis] != 0 || last >= g.in[axis]) return true;
  }
  return false;
}

}  // namespace

std::optional<Operator> dense_f32(const ConvF32& conv) {
  const ConvGeometry& g = conv.geometry;
  if (g.multiplier > 0 || g.oc == 0 || g.ic == 0) return std::nullopt;
  // Padding is multiplied as zeros here. The product is zero only for finite weights.
  if (reads_padding(g) && !are_finite(conv.weights.values<float>())) return std::nullopt;
  const int64_t k = g.taps() * g.ic;
  const int64_t block_rows = is_pointwise(g) ? std::clamp(kStays / k, kBlockRows, kMaxBlockRows) : kBlockRows;
  Dense dense{.g = g,
              .k = k,
              .in_place = is_pointwise(g),
              .weights = conv.weights,
              .panels = {},
              .bias = padded_bias(conv.bias, g.oc),
              .bounds = conv.bounds,
              .tiling = tile_gemm({.rows = g.pixels(), .k = k, .columns = g.oc, .block_rows = block_rows}, kGrain,
                                  conv.threads)};
  if (conv.packing == Packing::kOnce || dense.packed_bytes() <= kSmallBytes) {
    Workers alone(1);
    dense.panels = dense.pack_now(alone).freeze();
    dense.weights = {};
  }
  const size_t packed = dense.panels.size();
  return operator_of(std::move(dense), conv.threads, packed);
}

std::optional<Operator> depthwise_f32(const ConvF32& conv) {
  const ConvGeometry& g = conv.geometry;
  if (g.multiplier > 1) return on_repeated_channels<float>(conv, &depthwise_f32);
  if (g.multiplier != 1 || g.ic == 0 || g.ic % g.oc != 0) return std::nullopt;
  return operator_of(Depthwise{.g = g,
                               .weights = conv.weights,
                               .bias = padded_bias(conv.bias, g.oc),
                               .bounds = conv.bounds,
                               .parts = g.ic / g.oc},
                     conv.threads, 0);
}

}  // namespace carina::kernels
