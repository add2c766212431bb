// Convolutions of fp32 on the vector kernels: dense ones as a matrix product of gathered input rows, depthwise ones
// pixel by pixel. Every output is one chain of fused multiply-adds in the order of taps and channels, then the bias.

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/ops/conv_internal.h"
#include "interpret/ops/product_cut_internal.h"
#include "interpret/simd/simd_internal.h"
#include "tensor/finite.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kBlockRows = 66;
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds: some microseconds
constexpr int64_t kDepthwiseGrain = 16 * 1024;

// Bounds of a CLAMP that was fused in; infinities for none. The specification's mode that ignores NaN is not fused.
struct Bounds {
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
};
std::optional<Bounds> bounds_of(const NodePlan& plan) {
  if (plan.tail.empty()) return Bounds{};
  const NodePlan& clamp = plan.tail.front();
  constexpr int64_t kPropagate = 1;
  if (plan.tail.size() > 1 || clamp.node.op != ir::Op(TosaOp::CLAMP) ||
      clamp.node.attributes.integer("nan_mode") != kPropagate)
    return std::nullopt;
  if (clamp.out[0].dtype != kFp32 || !(*clamp.out[0].shape == *plan.out[0].shape)) return std::nullopt;
  return Bounds{.low = static_cast<float>(clamp.node.attributes.number("min_val")),
                .high = static_cast<float>(clamp.node.attributes.number("max_val"))};
}

bool is_f32(const NodePlan& plan) {
  return plan.in[0].dtype == kFp32 && plan.in[1].dtype == kFp32 && plan.out[0].dtype == kFp32 &&
         plan.in[1].constant != nullptr && plan.in[2].constant != nullptr;
}

std::vector<float> bias_of(const NodePlan& plan, const ConvGeometry& g) {
  const auto values = plan.in[2].constant->values<float>();
  std::vector<float> bias(static_cast<size_t>(simd::padded(g.oc)), 0.0F);
  for (size_t c = 0; c < static_cast<size_t>(g.oc); ++c) bias[c] = values[g.bias_count == 1 ? 0 : c];
  return bias;
}

struct DenseF32 {
  ConvGeometry g;
  int64_t k;
  bool in_place;
  Buffer panels;
  std::vector<float> bias;
  Bounds bounds;
  ProductCut cut;

  [[nodiscard]] size_t row_area() const {
    return round_up(in_place ? size_t{0} : static_cast<size_t>(kBlockRows * k) * sizeof(float), kArenaAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const { return row_area() + kBlockRows * kBlockColumns * sizeof(float); }

  void gather(const float* in, int64_t first, int64_t rows, float* to) const {
    ConvPixel pixel = pixel_of(g, first);
    for (int64_t r = 0; r < rows; ++r, advance(g, pixel)) {
      for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
        if (offset < 0) {
          std::fill_n(to, count, 0.0F);
        } else {
          std::copy_n(in + offset, count, to);
        }
        to += count;
      });
    }
  }

  void run_unit(const Call& call, const ProductCut::Unit& unit, std::byte* scratch) const {
    const auto [first, rows, part, columns] = unit;
    const auto* in = call.input<float>(0);
    auto* gathered = reinterpret_cast<float*>(scratch);
    auto* products = reinterpret_cast<float*>(scratch + row_area());
    if (!in_place) gather(in, first, rows, gathered);
    for (int64_t column = part; column < part + columns; column += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, part + columns - column);
      simd::multiply_f32({.a = in_place ? in + first * k : gathered,
                          .row_stride = k,
                          .rows = rows,
                          .k = k,
                          .panels = reinterpret_cast<const float*>(panels.data()) + column * k,
                          .panel_count = simd::padded(channels) / simd::kLanes,
                          .c = products,
                          .c_stride = kBlockColumns});
      simd::finish_f32({.in = products,
                        .in_stride = kBlockColumns,
                        .out = call.output<float>(0) + first * g.oc + column,
                        .out_stride = g.oc,
                        .rows = rows,
                        .channels = channels,
                        .column = bias.data() + column,
                        .low = bounds.low,
                        .high = bounds.high});
    }
  }

  Result<void> run(const Call& call) const {
    split_slots(call.runtime.workers, cut.units(), cut.grain, [&](int64_t slot, int64_t begin, int64_t end) {
      std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kArenaAlignment);
      for (int64_t unit = begin; unit < end; ++unit) run_unit(call, cut.unit(unit), scratch);
    });
    return {};
  }
};

struct DepthwiseF32 {
  ConvGeometry g;
  Tensor weights;
  std::vector<float> bias;
  Bounds bounds;

  [[nodiscard]] size_t scratch_bytes() const { return static_cast<size_t>(g.out[2] * g.taps()) * sizeof(const float*); }

  void run_row(const Call& call, int64_t row, std::byte* scratch) const {
    auto** x = reinterpret_cast<const float**>(scratch);
    const auto* in = call.input<float>(0);
    const int64_t first = row * g.out[2];
    int64_t at = 0;
    ConvPixel pixel = pixel_of(g, first);
    for (int64_t p = 0; p < g.out[2]; ++p, advance(g, pixel)) {
      for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
        for (int64_t c = 0; c < count; c += g.ic) x[at++] = offset < 0 ? nullptr : in + offset + c;
      });
    }
    simd::depthwise_f32({.x = x,
                         .weights = weights.values<float>().data(),
                         .taps = g.taps(),
                         .channels = g.ic,
                         .pixels = g.out[2],
                         .bias = bias.data(),
                         .low = bounds.low,
                         .high = bounds.high,
                         .out = call.output<float>(0) + first * g.ic});
  }

  Result<void> run(const Call& call) const {
    const int64_t grain = 1 + kDepthwiseGrain / (g.out[2] * g.oc * g.taps() + 1);
    split_slots(
        call.runtime.workers, g.batch * g.out[0] * g.out[1], grain, [&](int64_t slot, int64_t begin, int64_t end) {
          std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kArenaAlignment);
          for (int64_t row = begin; row < end; ++row) run_row(call, row, scratch);
        });
    return {};
  }
};

template <typename Conv>
Kernel kernel_of(Conv conv, int threads, size_t packed_bytes) {
  const size_t scratch = static_cast<size_t>(threads) * round_up(conv.scratch_bytes(), kArenaAlignment);
  return {.run = [conv = std::move(conv)](const Call& call) { return conv.run(call); },
          .scratch_bytes = scratch,
          .packed_bytes = packed_bytes};
}

}  // namespace

std::optional<Kernel> dense_f32(const NodePlan& plan, const ConvGeometry& g) {
  const auto bounds = bounds_of(plan);
  if (!bounds || !is_f32(plan) || g.multiplier > 0 || g.oc == 0 || g.ic == 0) return std::nullopt;
  const auto weights = plan.in[1].constant->values<float>();
  // Padding is multiplied as zeros here, which only finite weights turn into nothing.
  if (!are_finite(weights)) return std::nullopt;
  const int64_t k = g.taps() * g.ic;
  MutableBuffer panels = MutableBuffer::allocate(static_cast<size_t>(simd::padded(g.oc) * k) * sizeof(float));
  simd::pack_matrix_f32(weights.data(), 1, k, k, g.oc, reinterpret_cast<float*>(panels.bytes().data()));
  DenseF32 conv{.g = g,
                .k = k,
                .in_place = is_pointwise(g),
                .panels = std::move(panels).freeze(),
                .bias = bias_of(plan, g),
                .bounds = *bounds,
                .cut = cut_product({.rows = g.pixels(), .k = k, .columns = g.oc, .block_rows = kBlockRows}, kGrain,
                                   plan.threads)};
  const size_t packed = conv.panels.size();
  return kernel_of(std::move(conv), plan.threads, packed);
}

std::optional<Kernel> depthwise_f32(const NodePlan& plan, const ConvGeometry& g) {
  const auto bounds = bounds_of(plan);
  if (!bounds || !is_f32(plan) || g.multiplier != 1 || g.ic == 0) return std::nullopt;
  return kernel_of(DepthwiseF32{.g = g, .weights = *plan.in[1].constant, .bias = bias_of(plan, g), .bounds = *bounds},
                   plan.threads, 0);
}

}  // namespace carina::interpret
