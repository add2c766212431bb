// int8 convolutions of constant weights with the vector kernels. Dense ones are computed as a GEMM of gathered input
// rows, depthwise ones pixel by pixel.

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "kernels/convolution_internal.h"
#include "kernels/gemm_tiling_internal.h"
#include "kernels/int8_product_internal.h"
#include "kernels/repeated_channels_internal.h"

namespace carina::kernels {

namespace {

constexpr int64_t kBlockRows = 66;      // output pixels gathered at a time
constexpr int64_t kGrain = 128 * 1024;  // multiply-adds; they take about a microsecond
constexpr int64_t kDepthwiseGrain = 16 * 1024;

struct DenseBytes {
  ConvGeometry g;
  bool in_place;  // input rows are used as rows of the matrix without a copy
  Int8Product product;
  std::vector<int8_t> padding;  // one pixel of input zero points
  GemmTiling tiling;

  [[nodiscard]] size_t row_area() const {
    return round_up(in_place ? size_t{0} : static_cast<size_t>(kBlockRows) * product.row_bytes(), kScratchAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const { return row_area() + Int8Product::scratch_bytes(kBlockRows); }

  void gather(const int8_t* in, int64_t first, int64_t rows, std::byte* to) const {
    const size_t row_bytes = product.row_bytes(), element = product.format().a_bytes;
    const size_t used = static_cast<size_t>(product.k()) * element, tap_bytes = static_cast<size_t>(g.ic) * element;
    PartPacker parts;
    for_each_run_of_pixels(g, first, rows, [&](int64_t row, int64_t tap, int64_t offset, int64_t count) {
      parts.add(offset < 0 ? padding.data() : in + offset, count,
                to + static_cast<size_t>(row) * row_bytes + static_cast<size_t>(tap) * tap_bytes);
    });
    if (used == row_bytes) return;
    for (int64_t r = 0; r < rows; ++r) std::memset(to + static_cast<size_t>(r) * row_bytes + used, 0, row_bytes - used);
  }

  void run_unit(const Execution& call, const GemmTiling::Unit& unit, std::byte* scratch) const {
    const auto* in = call.input<int8_t>(0);
    const auto [first, rows, column, columns] = unit;
    if (!in_place) gather(in, first, rows, scratch);
    product.run({.a = in_place ? reinterpret_cast<const std::byte*>(in + first * g.ic) : scratch,
                 .rows = rows,
                 .first = column,
                 .columns = columns,
                 .out = call.out + static_cast<size_t>(first * g.oc) * product.out_bytes(),
                 .out_stride = g.oc,
                 .scratch = scratch + row_area()});
  }

  void run(const Execution& call) const {
    split_slots(call.workers, tiling.units(), tiling.grain, [&](int64_t slot, int64_t begin, int64_t end) {
      std::byte* scratch = call.scratch + static_cast<size_t>(slot) * scratch_bytes();
      for (int64_t unit = begin; unit < end; ++unit) run_unit(call, tiling.unit(unit), scratch);
    });
  }
};

struct DepthwiseRows {
  ConvGeometry g;
  Buffer packed;
  std::vector<int8_t> padding;
  std::vector<int32_t> column;  // added to the sums
  IntegerEpilogue epilogue;
  std::optional<DepthwiseBytes> bytes;  // the whole convolution, if there is a kernel with results in bytes
  int64_t block;                        // pixels of a row at a time

  [[nodiscard]] size_t pointer_bytes() const {
    return round_up(static_cast<size_t>(block * g.taps()) * sizeof(const int8_t*), kScratchAlignment);
  }
  [[nodiscard]] size_t scratch_bytes() const {
    return pointer_bytes() + (bytes ? 0 : static_cast<size_t>(block * padded(g.ic)) * sizeof(int32_t));
  }

  // Computes a row from its columns, each of which several pixels read.
  void run_columns(const Execution& call, int64_t row, std::byte* scratch) const {
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
    bytes->run(x, g.out[2], reinterpret_cast<int8_t*>(call.out) + row * g.out[2] * g.ic);
  }

  void run_row(const Execution& call, int64_t row, std::byte* scratch) const {
    auto** x = reinterpret_cast<const int8_t**>(scratch);
    auto* sums = reinterpret_cast<int32_t*>(scratch + pointer_bytes());
    const auto* in = call.input<int8_t>(0);
    for (int64_t ox = 0; ox < g.out[2]; ox += block) {
      const int64_t pixels = std::min(block, g.out[2] - ox);
      const int64_t first = row * g.out[2] + ox;
      write_taps_of_pixels(g, first, pixels, in, g.ic, padding.data(), x);
      if (bytes) {
        bytes->run(x, pixels, reinterpret_cast<int8_t*>(call.out) + first * g.ic);
        continue;
      }
      depthwise_i8({.x = x,
                    .packed = reinterpret_cast<const int32_t*>(packed.data()),
                    .taps = g.taps(),
                    .channels = g.ic,
                    .pixels = pixels,
                    .acc = sums});
      std::byte* out = call.out + static_cast<size_t>(first * g.ic) * element_bytes(epilogue.out_type);
      epilogue.run(
          {.sums = sums, .stride = padded(g.ic), .column = column.data(), .rows = pixels, .first = 0, .channels = g.ic},
          out, g.ic);
    }
  }

  void run(const Execution& call) const {
    const int64_t grain = 1 + kDepthwiseGrain / (g.out[2] * g.oc * g.taps() + 1);
    split_slots(call.workers, g.batch * g.out[0] * g.out[1], grain, [&](int64_t slot, int64_t begin, int64_t end) {
      std::byte* scratch = call.scratch + static_cast<size_t>(slot) * round_up(scratch_bytes(), kScratchAlignment);
      const bool by_columns = bytes && bytes->by_columns();
      for (int64_t row = begin; row < end; ++row)
        by_columns ? run_columns(call, row, scratch) : run_row(call, row, scratch);
    });
  }
};

}  // namespace

std::optional<Operator> dense_i8(const ConvI8& conv) {
  const ConvGeometry& g = conv.geometry;
  const bool one_input = g.multiplier > 0 && g.ic == 1;  // a depthwise convolution of one channel is dense
  if ((g.multiplier > 0 && !one_input) || g.oc == 0 || g.ic == 0) return std::nullopt;
  const int64_t k = g.taps() * g.ic;
  auto product = Int8Product::create(conv.epilogue, conv.constants,
                                     {.weights = conv.constants.weights,
                                      .k = k,
                                      .n = g.oc,
                                      .stride_k = one_input ? g.oc : 1,
                                      .stride_n = one_input ? 1 : k});
  if (!product) return std::nullopt;
  const MatrixFormat& format = product->format();
  const size_t packed = product->packed_bytes();
  return operator_of(
      DenseBytes{
          .g = g,
          .in_place = is_pointwise(g) && format.a_bytes == 1 && k % format.k_step == 0,
          .product = *std::move(product),
          .padding = std::vector<int8_t>(static_cast<size_t>(g.ic), static_cast<int8_t>(conv.constants.input_zp)),
          .tiling =
              tile_gemm({.rows = g.pixels(), .k = k, .columns = g.oc, .block_rows = kBlockRows}, kGrain, conv.threads)},
      conv.threads, packed);
}

std::optional<Operator> depthwise_i8(const ConvI8& conv) {
  const ConvGeometry& g = conv.geometry;
  const ConstantsI8& constants = conv.constants;
  if (g.multiplier > 1 && g.ic > 1) return on_repeated_channels<int8_t>(conv, &depthwise_i8);
  if (g.multiplier != 1 || g.ic == 0) return std::nullopt;
  if (auto scaled = scaled_channels_i8(conv, {.outer = g.pixels(), .inner = 1})) return scaled;
  WeightTerms terms = weight_terms(
      constants, {.weights = constants.weights, .k = g.taps(), .n = g.oc, .stride_k = g.oc, .stride_n = 1});
  auto epilogue = epilogue_for(conv.epilogue, terms);
  if (!epilogue) return std::nullopt;
  std::vector<int16_t> weights(static_cast<size_t>(g.taps() * g.ic));
  std::ranges::transform(std::span(constants.weights, weights.size()), weights.begin(),
                         [&](int8_t w) { return static_cast<int16_t>(w - constants.weight_zp); });
  MutableBuffer packed = MutableBuffer::allocate(static_cast<size_t>(pairs(g.taps()) * padded(g.ic)) * sizeof(int32_t));
  pack_depthwise(weights.data(), g.taps(), g.ic, reinterpret_cast<int32_t*>(packed.bytes().data()));
  // The weights' zero point is already subtracted, so only the input's remains: the sums are of x (w - wz), and the
  // column subtracts input_zp (sum(w) - k weight_zp), as weight_terms returns it.
  constexpr int64_t kSumsBytes = 16384;
  DepthwiseRows depthwise{
      .g = g,
      .packed = std::move(packed).freeze(),
      .padding = std::vector<int8_t>(static_cast<size_t>(g.ic), static_cast<int8_t>(constants.input_zp)),
      .column = {},
      .epilogue = *std::move(epilogue),
      .bytes = {},
      .block = std::clamp<int64_t>(kSumsBytes / (padded(g.ic) * 4), 1, std::max<int64_t>(1, g.out[2]))};
  const auto in_registers = depthwise.epilogue.in_registers(terms.column, g.oc);
  const bool flat = g.kernel[0] == 1 && g.in[0] == 1;
  if (in_registers && flat && DepthwiseBytes::takes(weights.data(), std::ssize(weights))) {
    depthwise.bytes.emplace(
        DepthwiseBytes::Window{
            .height = g.kernel[1], .width = g.kernel[2], .stride_x = g.stride[2], .dilation_x = g.dilation[2]},
        g.ic, weights.data(), *in_registers);
    if (depthwise.bytes->by_columns()) depthwise.block = std::max<int64_t>(1, g.out[2]);
  }
  depthwise.column = std::move(terms.column);
  const size_t packed_bytes = depthwise.packed.size();
  return operator_of(std::move(depthwise), conv.threads, packed_bytes);
}

}  // namespace carina::kernels
