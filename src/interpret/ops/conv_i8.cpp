// int8 convolutions of constant weights with the vector kernels. Dense ones are computed as a GEMM of gathered input
// rows, depthwise ones pixel by pixel.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/ops/conv_internal.h"
#include "interpret/ops/gemm_tiling_internal.h"
#include "interpret/ops/integer_epilogue_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kBlockRows = 66;      // output pixels gathered at a time
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds; they take about a microsecond
constexpr int64_t kDepthwiseGrain = 16 * 1024;

// The constants of an int8 convolution.
struct Constants {
  const int8_t* weights;
  const int32_t* bias;
  int32_t input_zp;
  int32_t weight_zp;
};

std::optional<Constants> constants_of(const NodePlan& plan) {
  const bool types = plan.in[0].dtype == kInt8 && (plan.in[1].dtype == kInt8 || plan.in[1].dtype == kInt4) &&
                     plan.out[0].dtype == kInt32;
  if (!types) return std::nullopt;
  for (size_t i = 1; i < 5; ++i) {
    if (plan.in[i].constant == nullptr) return std::nullopt;
  }
  return Constants{.weights = plan.in[1].constant->values<int8_t>().data(),
                   .bias = plan.in[2].constant->values<int32_t>().data(),
                   .input_zp = static_cast<int32_t>(scalar_at(plan.in[3].constant->data.data(), kInt8)),
                   .weight_zp = static_cast<int32_t>(scalar_at(plan.in[4].constant->data.data(), kInt8))};
}

// Values that depend only on the weights: the terms of the zero points, and a bound of the sums.
struct WeightTerms {
  std::vector<int32_t> column;  // bias - input_zp * sum(w) + k * input_zp * weight_zp
  int64_t largest_sum = 0;
};

// Sums over the k weights of each of n outputs. Weight (k, n) is at weights[k * stride_k + n * stride_n].
std::vector<simd::ByteSums> column_sums(const int8_t* weights, int64_t k, int64_t n, int64_t stride_k,
                                        int64_t stride_n) {
  std::vector<simd::ByteSums> sums(static_cast<size_t>(n));
  for (int64_t column = 0; column < n && stride_k == 1; ++column)
    sums[static_cast<size_t>(column)] = simd::byte_sums(weights + column * stride_n, k);
  for (int64_t at = 0; at < k && stride_k != 1; ++at) {
    for (int64_t column = 0; column < n; ++column) {
      const int32_t w = weights[at * stride_k + column * stride_n];
      sums[static_cast<size_t>(column)].sum += w;
      sums[static_cast<size_t>(column)].magnitude += std::abs(w);
    }
  }
  return sums;
}

WeightTerms weight_terms(const Constants& c, std::span<const simd::ByteSums> sums, int64_t k, int64_t bias_count) {
  WeightTerms terms;
  terms.column.assign(static_cast<size_t>(simd::padded(std::ssize(sums))), 0);
  const int64_t largest_input = std::max<int64_t>(127 - c.input_zp, c.input_zp + 128);
  for (size_t column = 0; column < sums.size(); ++column) {
    const int64_t bias = c.bias[bias_count == 1 ? 0 : column];
    const int64_t magnitude = sums[column].magnitude + k * std::abs(c.weight_zp);
    terms.largest_sum = std::max(terms.largest_sum, magnitude * largest_input + std::abs(bias));
    const int64_t term = bias - c.input_zp * sums[column].sum + k * c.input_zp * c.weight_zp;
    terms.column[column] = static_cast<int32_t>(term);  // modulo 2^32, like the sums
  }
  return terms;
}

std::optional<IntegerEpilogue> epilogue_of(const TailPlan& plan, const WeightTerms& terms) {
  return terms.largest_sum > INT32_MAX ? std::nullopt : integer_epilogue(plan, terms.largest_sum);
}

struct DenseI8 {
  ConvGeometry g;
  int64_t k;
  simd::MatrixFormat format;
  bool in_place;  // input rows are used as rows of the matrix without a copy
  bool needs_sums;
  int32_t weight_zp;
  Buffer panels;
  std::vector<int8_t> padding;  // one pixel of input zero points
  std::vector<int32_t> column;  // added to the sums
  IntegerEpilogue epilogue;
  std::optional<simd::Int8Epilogue> bytes;  // the same epilogue, if the product's microkernel applies it
  GemmTiling tiling;

  struct Scratch {
    std::byte* rows;
    int32_t* sums;
    int32_t* products;
  };
  [[nodiscard]] size_t row_area() const {
    return round_up(in_place ? size_t{0} : static_cast<size_t>(kBlockRows) * format.row_bytes(k), kArenaAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const { return row_area() + kBlockRows * sizeof(int32_t) * (1 + kBlockColumns); }
  [[nodiscard]] Scratch scratch_at(std::byte* base) const {
    auto* sums = reinterpret_cast<int32_t*>(base + row_area());
    return {.rows = base, .sums = sums, .products = sums + kBlockRows};
  }

  void gather(const int8_t* in, int64_t first, int64_t rows, std::byte* to) const {
    const size_t row_bytes = format.row_bytes(k);
    ConvPixel pixel = pixel_of(g, first);
    for (int64_t r = 0; r < rows; ++r, advance(g, pixel)) {
      std::byte* row = to + static_cast<size_t>(r) * row_bytes;
      int64_t at = 0;
      for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
        simd::pack_row(offset < 0 ? padding.data() : in + offset, count,
                       row + static_cast<size_t>(at) * format.a_bytes);
        at += count;
      });
      std::memset(row + static_cast<size_t>(k) * format.a_bytes, 0,
                  row_bytes - static_cast<size_t>(k) * format.a_bytes);
    }
  }

  void run_unit(const Call& call, const GemmTiling::Unit& unit, const Scratch& scratch) const {
    const auto* in = call.input<int8_t>(0);
    const auto [first, rows, part, columns] = unit;
    if (!in_place) gather(in, first, rows, scratch.rows);
    const std::byte* a = in_place ? reinterpret_cast<const std::byte*>(in + first * g.ic) : scratch.rows;
    const size_t row_bytes = format.row_bytes(k);
    if (needs_sums) simd::row_sums(a, row_bytes, rows, k, scratch.sums);
    std::byte* out = call.out[0] + static_cast<size_t>(first * g.oc) * element_bytes(epilogue.out_type);
    for (int64_t first_column = part; first_column < part + columns; first_column += kBlockColumns) {
      const int64_t channels = std::min(kBlockColumns, part + columns - first_column);
      const int64_t panel = first_column / simd::kLanes;
      const int64_t count = simd::padded(channels) / simd::kLanes;
      simd::MatrixJob job{.a = a,
                          .row_bytes = row_bytes,
                          .rows = rows,
                          .k = k,
                          .panels = panels.data() + static_cast<size_t>(panel) * format.panel_bytes(k),
                          .panel_count = count,
                          .sums = scratch.sums,
                          .c = scratch.products,
                          .c_stride = kBlockColumns};
      if (bytes) {
        job.epilogue = &*bytes;
        job.first_channel = first_column;
        job.channels = channels;
        job.weight_zp = weight_zp;
        job.out = reinterpret_cast<int8_t*>(out) + first_column;
        job.out_stride = g.oc;
        simd::multiply_to_bytes(job);
        continue;
      }
      simd::multiply(job);
      if (weight_zp != 0) {
        simd::take_row_terms({.acc = scratch.products,
                              .stride = kBlockColumns,
                              .rows = rows,
                              .channels = count * simd::kLanes,
                              .factor = weight_zp,
                              .row_sums = scratch.sums});
      }
      epilogue.run({.sums = scratch.products,
                    .stride = kBlockColumns,
                    .column = column.data(),
                    .rows = rows,
                    .first = first_column,
                    .channels = channels},
                   out, g.oc);
    }
  }

  Result<void> run(const Call& call) const {
    split_slots(call.runtime.workers, tiling.units(), tiling.grain, [&](int64_t slot, int64_t begin, int64_t end) {
      const Scratch scratch = scratch_at(call.scratch + static_cast<size_t>(slot) * scratch_bytes());
      for (int64_t unit = begin; unit < end; ++unit) run_unit(call, tiling.unit(unit), scratch);
    });
    return {};
  }
};

struct DepthwiseI8 {
  ConvGeometry g;
  Buffer packed;
  std::vector<int8_t> padding;
  std::vector<int32_t> column;  // added to the sums
  IntegerEpilogue epilogue;
  std::optional<simd::DepthwiseBytes> bytes;  // the whole convolution, if there is a kernel with results in bytes
  int64_t block;                              // pixels of a row at a time

  [[nodiscard]] size_t pointer_bytes() const {
    return round_up(static_cast<size_t>(block * g.taps()) * sizeof(const int8_t*), kArenaAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const {
    return pointer_bytes() + (bytes ? 0 : static_cast<size_t>(block * simd::padded(g.ic)) * sizeof(int32_t));
  }

  // Computes a row from its columns, each of which several pixels read.
  void run_columns(const Call& call, int64_t row, std::byte* scratch) const {
    auto** x = reinterpret_cast<const int8_t**>(scratch);
    const ConvPixel pixel = pixel_of(g, row * g.out[2]);
    const int8_t* image = call.input<int8_t>(0) + pixel.n * g.in[1] * g.in[2] * g.ic;
    const int64_t columns = (g.out[2] - 1) * g.stride[2] + g.kernel[2];
    for (int64_t ky = 0; ky < g.kernel[1]; ++ky) {
      const int64_t y = tap_position(g, 1, pixel.at[1], ky);
      for (int64_t j = 0; j < columns; ++j) {
        const int64_t at = j - g.pad[2];
        const bool inside = y >= 0 && y < g.in[1] && at >= 0 && at < g.in[2];
        x[j * g.kernel[1] + ky] = inside ? image + (y * g.in[2] + at) * g.ic : padding.data();
      }
    }
    bytes->run(x, g.out[2], reinterpret_cast<int8_t*>(call.out[0]) + row * g.out[2] * g.ic);
  }

  void run_row(const Call& call, int64_t row, std::byte* scratch) const {
    auto** x = reinterpret_cast<const int8_t**>(scratch);
    auto* sums = reinterpret_cast<int32_t*>(scratch + pointer_bytes());
    const auto* in = call.input<int8_t>(0);
    for (int64_t ox = 0; ox < g.out[2]; ox += block) {
      const int64_t pixels = std::min(block, g.out[2] - ox);
      const int64_t first = row * g.out[2] + ox;
      int64_t at = 0;
      ConvPixel pixel = pixel_of(g, first);
      for (int64_t p = 0; p < pixels; ++p, advance(g, pixel)) {
        for_each_run(g, pixel, [&](int64_t offset, int64_t count) {
          for (int64_t c = 0; c < count; c += g.ic) x[at++] = offset < 0 ? padding.data() : in + offset + c;
        });
      }
      if (bytes) {
        bytes->run(x, pixels, reinterpret_cast<int8_t*>(call.out[0]) + first * g.ic);
        continue;
      }
      simd::depthwise_i8({.x = x,
                          .packed = reinterpret_cast<const int32_t*>(packed.data()),
                          .taps = g.taps(),
                          .channels = g.ic,
                          .pixels = pixels,
                          .acc = sums});
      std::byte* out = call.out[0] + static_cast<size_t>(first * g.ic) * element_bytes(epilogue.out_type);
      epilogue.run({.sums = sums,
                    .stride = simd::padded(g.ic),
                    .column = column.data(),
                    .rows = pixels,
                    .first = 0,
                    .channels = g.ic},
                   out, g.ic);
    }
  }

  Result<void> run(const Call& call) const {
    const int64_t grain = 1 + kDepthwiseGrain / (g.out[2] * g.oc * g.taps() + 1);
    split_slots(
        call.runtime.workers, g.batch * g.out[0] * g.out[1], grain, [&](int64_t slot, int64_t begin, int64_t end) {
          std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kArenaAlignment);
          const bool by_columns = bytes && bytes->by_columns();
          for (int64_t row = begin; row < end; ++row)
            by_columns ? run_columns(call, row, scratch) : run_row(call, row, scratch);
        });
    return {};
  }
};

}  // namespace

std::optional<Kernel> dense_i8(const TailPlan& fused, const ConvGeometry& g) {
  const NodePlan& plan = fused.node;
  const auto constants = constants_of(plan);
  const bool one_input = g.multiplier > 0 && g.ic == 1;  // a depthwise convolution of one channel is dense
  if (!constants || (g.multiplier > 0 && !one_input) || g.oc == 0 || g.ic == 0) return std::nullopt;
  const int64_t k = g.taps() * g.ic;
  const int64_t stride_k = one_input ? g.oc : 1;
  const int64_t stride_n = one_input ? 1 : k;
  WeightTerms terms =
      weight_terms(*constants, column_sums(constants->weights, k, g.oc, stride_k, stride_n), k, g.bias_count);
  auto epilogue = epilogue_of(fused, terms);
  if (!epilogue) return std::nullopt;
  const simd::MatrixFormat format = simd::matrix_format();
  MutableBuffer panels =
      MutableBuffer::allocate(format.panel_bytes(k) * static_cast<size_t>(simd::padded(g.oc) / simd::kLanes));
  simd::pack_matrix(constants->weights, stride_k, stride_n, k, g.oc, panels.bytes().data());
  DenseI8 conv{.g = g,
               .k = k,
               .format = format,
               .in_place = is_pointwise(g) && format.a_bytes == 1 && k % format.k_step == 0,
               .needs_sums = simd::matrix_needs_sums() || constants->weight_zp != 0,
               .weight_zp = constants->weight_zp,
               .panels = std::move(panels).freeze(),
               .padding = std::vector<int8_t>(static_cast<size_t>(g.ic), static_cast<int8_t>(constants->input_zp)),
               .column = {},
               .epilogue = *std::move(epilogue),
               .bytes = {},
               .tiling = tile_gemm({.rows = g.pixels(), .k = k, .columns = g.oc, .block_rows = kBlockRows}, kGrain,
                                   plan.threads)};
  conv.bytes = conv.epilogue.in_registers(terms.column);
  conv.column = std::move(terms.column);
  const size_t packed = conv.panels.size();
  return conv_kernel(std::move(conv), plan.threads, packed);
}

std::optional<Kernel> depthwise_i8(const TailPlan& fused, const ConvGeometry& g) {
  const NodePlan& plan = fused.node;
  const auto constants = constants_of(plan);
  if (!constants || g.multiplier != 1 || g.ic == 0) return std::nullopt;
  WeightTerms terms =
      weight_terms(*constants, column_sums(constants->weights, g.taps(), g.oc, g.oc, 1), g.taps(), g.bias_count);
  auto epilogue = epilogue_of(fused, terms);
  if (!epilogue) return std::nullopt;
  std::vector<int16_t> weights(static_cast<size_t>(g.taps() * g.ic));
  std::ranges::transform(std::span(constants->weights, weights.size()), weights.begin(),
                         [&](int8_t w) { return static_cast<int16_t>(w - constants->weight_zp); });
  MutableBuffer packed =
      MutableBuffer::allocate(static_cast<size_t>(simd::pairs(g.taps()) * simd::padded(g.ic)) * sizeof(int32_t));
  simd::pack_depthwise(weights.data(), g.taps(), g.ic, reinterpret_cast<int32_t*>(packed.bytes().data()));
  // The weights' zero point is already subtracted, so only the input's remains: the sums are of x (w - wz), and the
  // column subtracts input_zp (sum(w) - k weight_zp), as weight_terms returns it.
  constexpr int64_t kSumsBytes = 16384;
  DepthwiseI8 conv{
      .g = g,
      .packed = std::move(packed).freeze(),
      .padding = std::vector<int8_t>(static_cast<size_t>(g.ic), static_cast<int8_t>(constants->input_zp)),
      .column = {},
      .epilogue = *std::move(epilogue),
      .bytes = {},
      .block = std::clamp<int64_t>(kSumsBytes / (simd::padded(g.ic) * 4), 1, std::max<int64_t>(1, g.out[2]))};
  const auto in_registers = conv.epilogue.in_registers(terms.column);
  const bool flat = g.kernel[0] == 1 && g.in[0] == 1;
  if (in_registers && flat && simd::DepthwiseBytes::takes(weights.data(), std::ssize(weights))) {
    conv.bytes.emplace(
        simd::DepthwiseBytes::Window{
            .height = g.kernel[1], .width = g.kernel[2], .stride_x = g.stride[2], .dilation_x = g.dilation[2]},
        g.ic, weights.data(), *in_registers);
    if (conv.bytes->by_columns()) conv.block = std::max<int64_t>(1, g.out[2]);
  }
  conv.column = std::move(terms.column);
  const size_t packed_bytes = conv.packed.size();
  return conv_kernel(std::move(conv), plan.threads, packed_bytes);
}

}  // namespace carina::interpret
