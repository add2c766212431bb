// Depthwise convolutions of one tap: each channel has a factor and an addend. Channels need not be the last axis, so
// that operands which are transposed for the convolution alone can stay as they are.

#include <algorithm>
#include <limits>

#include "kernels/affine.h"
#include "kernels/convolution_internal.h"
#include "kernels/int8_product_internal.h"

namespace carina::kernels {

namespace {

constexpr int64_t kElements = 16 * 1024;  // for a thread

// Channels are the last axis.
struct ByColumns {
  AffineColumns columns;
  int64_t pixels, channels;
  int8_t low, high;

  void run(const Execution& call) const {
    split(call.workers, pixels, 1 + kElements / channels, [&](int64_t begin, int64_t end) {
      columns.run({.in = call.input<int8_t>(0) + begin * channels,
                   .in_stride = channels,
                   .out = call.output<int8_t>() + begin * channels,
                   .rows = end - begin,
                   .low = low,
                   .high = high});
    });
  }
};

// A row of `inner` elements has one channel.
struct ByRows {
  std::vector<Affine> factors;
  ChannelLayout layout;
  int8_t low, high;

  void run(const Execution& call) const {
    const auto channels = std::ssize(factors);
    split(call.workers, layout.outer * channels, 1 + kElements / layout.inner, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        affine_rows({.in = call.input<int8_t>(0) + row * layout.inner,
                     .in_stride = layout.inner,
                     .out = call.output<int8_t>() + row * layout.inner,
                     .rows = 1,
                     .columns = layout.inner,
                     .factors = &factors[static_cast<size_t>(row % channels)],
                     .low = low,
                     .high = high});
    });
  }
};

struct RowsOfFloats {
  std::vector<float> factors, addends;
  ChannelLayout layout;
  BoundsF32 bounds;

  void run_row(const float* in, size_t channel, float* out) const {
    const auto each = [&](Combine op, const float* from, const float& value) {
      combine_f32({.op = op,
                   .a = {.data = from, .stride = layout.inner, .repeats = false},
                   .b = {.data = &value, .stride = 0, .repeats = true},
                   .out = out,
                   .rows = 1,
                   .columns = layout.inner});
    };
    each(Combine::kMul, in, factors[channel]);
    each(Combine::kAdd, out, addends[channel]);
    if (bounds.low > -std::numeric_limits<float>::infinity() || bounds.high < std::numeric_limits<float>::infinity())
      clamp_f32(out, out, layout.inner, bounds.low, bounds.high);
  }

  void run(const Execution& call) const {
    const auto channels = std::ssize(factors);
    split(call.workers, layout.outer * channels, 1 + kElements / layout.inner, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        run_row(call.input<float>(0) + row * layout.inner, static_cast<size_t>(row % channels),
                call.output<float>() + row * layout.inner);
    });
  }
};

bool scales_channels(const ConvGeometry& g) {
  return is_pointwise(g) && g.multiplier == 1 && g.ic > 0 && g.pixels() > 0;
}

}  // namespace

std::optional<Operator> scaled_channels_i8(const ConvI8& conv, const ChannelLayout& layout) {
  const ConvGeometry& g = conv.geometry;
  if (!scales_channels(g)) return std::nullopt;
  const ConstantsI8& constants = conv.constants;
  const WeightTerms terms =
      weight_terms(constants, {.weights = constants.weights, .k = 1, .n = g.oc, .stride_k = g.oc, .stride_n = 1});
  const auto epilogue = epilogue_for(conv.epilogue, terms);
  if (!epilogue || !epilogue->scales || epilogue->out_type != DType::kInt8) return std::nullopt;
  std::vector<Affine> factors;
  for (int64_t c = 0; c < g.ic; ++c) {
    const int64_t weight = constants.weights[c] - constants.weight_zp;
    const auto scale = linear_scale(*epilogue->scales, c);
    const auto factor =
        scale ? scaled(*scale, {.factor = weight, .addend = terms.column[static_cast<size_t>(c)]}) : std::nullopt;
    if (!factor) return std::nullopt;
    factors.push_back(*factor);
  }
  const auto low = static_cast<int8_t>(epilogue->scales->low), high = static_cast<int8_t>(epilogue->scales->high);
  if (layout.inner == 1) {
    return Operator{.run = [scaled = ByColumns{.columns = AffineColumns(factors),
                                               .pixels = layout.outer,
                                               .channels = g.ic,
                                               .low = low,
                                               .high = high}](const Execution& call) { scaled.run(call); }};
  }
  return Operator{.run = [scaled = ByRows{.factors = std::move(factors), .layout = layout, .low = low, .high = high}](
                             const Execution& call) { scaled.run(call); }};
}

std::optional<Operator> scaled_channels_f32(const ConvF32& conv, const ChannelLayout& layout) {
  const ConvGeometry& g = conv.geometry;
  if (!scales_channels(g)) return std::nullopt;
  const auto weights = conv.weights.values<float>();
  RowsOfFloats rows{.factors = std::vector<float>(weights.begin(), weights.end()),
                    .addends = {},
                    .layout = layout,
                    .bounds = conv.bounds};
  // A sum of products begins with 0, so a product of -0 counts as 0. Adding 0 instead of -0 has the same effect.
  for (size_t c = 0; c < weights.size(); ++c) rows.addends.push_back(conv.bias[g.bias_count == 1 ? 0 : c] + 0.0F);
  return Operator{.run = [rows = std::move(rows)](const Execution& call) { rows.run(call); }};
}

}  // namespace carina::kernels
