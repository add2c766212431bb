#include "runtime/kernels/cortex_m_internal.h"
#include "runtime/kernels/int8_dot_internal.h"
#include "runtime/kernels/kernels_internal.h"

// The int8 convolutions of ExecuTorch's Cortex-M backend: plain, depthwise and transposed, each for both orders of
// axes. An output element is requantize(sum((input + input_offset) * weight) + bias) + output_offset, clamped.
namespace carina::runtime {

bool image_of(const Tensor& tensor, Axes axes, Image& image) {
  if (tensor.rank() != 4) return false;
  if (axes == Axes::kNchw) return image_of(tensor, Missing::kBatch, image);
  const Layout layout = layout_of(tensor);
  image = {.batches = layout.sizes[0],
           .channels = layout.sizes[3],
           .height = layout.sizes[1],
           .width = layout.sizes[2],
           .batch_step = layout.strides[0],
           .channel_step = layout.strides[3],
           .row_step = layout.strides[1],
           .column_step = layout.strides[2]};
  return true;
}

namespace {

enum class Kind : uint8_t { kPlain, kDepthwise, kTransposed };

// The positions of the arguments in the three schemas, which differ after the dilation.
struct Roles {
  size_t dilation, input_offset, out;
};
constexpr Roles roles_of(Kind kind) {
  if (kind == Kind::kPlain) return {.dilation = 5, .input_offset = 6, .out = 13};
  if (kind == Kind::kDepthwise) return {.dilation = 5, .input_offset = 7, .out = 14};
  return {.dilation = 6, .input_offset = 7, .out = 15};
}

struct Convolution {
  Image in, out;
  Window rows, columns;
  const int8_t* data = nullptr;
  const int8_t* weights = nullptr;
  int64_t channels_each = 1;  // input channels per output channel
  int64_t outputs_each = 1;   // output channels per group
  int64_t in_offset = 0;
  bool in_a_row = false;  // channels are adjacent in memory, and sums fit 32 bits
  // Distances in the weights, in elements.
  int64_t filter_step = 0, tap_row_step = 0, tap_step = 0, channel_step = 0;
};

Window window_of(Call& call, const Roles& roles, size_t axis, int64_t kernel) {
  return {.kernel = kernel,
          .stride = entry_of(call, call.integers(3), axis, 2, 1),
          .padding = entry_of(call, call.integers(4), axis, 2, 0),
          .dilation = entry_of(call, call.integers(roles.dilation), axis, 2, 1)};
}

// The input index that a tap of a transposed convolution reads for output index `at`, or -1.
int64_t source(const Window& window, int64_t size, int64_t at, int64_t tap) {
  const int64_t above = at + window.padding - tap * window.dilation;
  return above < 0 || above % window.stride != 0 || above / window.stride >= size ? -1 : above / window.stride;
}

// The sum of products over the input channels at one tap.
int64_t tap_sum(const Convolution& conv, const int8_t* in, const int8_t* weight) {
  if (conv.in_a_row)
    return dot(in, weight, static_cast<int32_t>(conv.channels_each), static_cast<int32_t>(conv.in_offset));
  int64_t sum = 0;
  for (int64_t k = 0; k < conv.channels_each; ++k)
    sum += (in[k * conv.in.channel_step] + conv.in_offset) * weight[k * conv.channel_step];
  return sum;
}

int64_t transposed_element(const Convolution& conv, int64_t n, int64_t c, int64_t y, int64_t x) {
  const int64_t first = static_cast<int32_t>(c) / static_cast<int32_t>(conv.outputs_each) * conv.channels_each;
  int64_t sum = 0;
  for (int64_t ky = 0; ky < conv.rows.kernel; ++ky) {
    const int64_t in_y = source(conv.rows, conv.in.height, y, ky);
    if (in_y < 0) continue;
    for (int64_t kx = 0; kx < conv.columns.kernel; ++kx) {
      const int64_t in_x = source(conv.columns, conv.in.width, x, kx);
      if (in_x < 0) continue;
      sum += tap_sum(conv, conv.data + index_in(conv.in, n, first, in_y, in_x),
                     conv.weights + c * conv.filter_step + ky * conv.tap_row_step + kx * conv.tap_step);
    }
  }
  return sum;
}

// The taps of one output position that are inside of the image, and the address of the first of them. Unused distances
// are 0, such as the row distance if there is one row.
struct TapRange {
  int32_t rows = 0, columns = 0;
  ptrdiff_t in = 0, in_row_step = 0, in_step = 0;
  ptrdiff_t weight = 0, weight_row_step = 0, weight_step = 0;
};

TapRange taps_of(const Convolution& conv, int64_t n, int64_t y, int64_t x) {
  const Taps rows = taps_inside(conv.rows, y, conv.in.height);
  const Taps columns = taps_inside(conv.columns, x, conv.in.width);
  TapRange taps;
  if (rows.end <= rows.first || columns.end <= columns.first) return taps;
  const int64_t top = y * conv.rows.stride - conv.rows.padding + rows.first * conv.rows.dilation;
  const int64_t left = x * conv.columns.stride - conv.columns.padding + columns.first * conv.columns.dilation;
  taps.rows = static_cast<int32_t>(rows.end - rows.first);
  taps.columns = static_cast<int32_t>(columns.end - columns.first);
  taps.in = static_cast<ptrdiff_t>(index_in(conv.in, n, 0, top, left));
  taps.weight = static_cast<ptrdiff_t>(rows.first * conv.tap_row_step + columns.first * conv.tap_step);
  if (taps.rows > 1) taps.in_row_step = static_cast<ptrdiff_t>(conv.rows.dilation * conv.in.row_step);
  if (taps.columns > 1) taps.in_step = static_cast<ptrdiff_t>(conv.columns.dilation * conv.in.column_step);
  taps.weight_row_step = static_cast<ptrdiff_t>(conv.tap_row_step);
  taps.weight_step = static_cast<ptrdiff_t>(conv.tap_step);
  return taps;
}

// Calls function(input, weights) for each tap, starting with the given pointers.
template <typename Function>
void for_taps(const TapRange& taps, const int8_t* in, const int8_t* weight, const Function& function) {
  in += taps.in;
  weight += taps.weight;
  for (int32_t y = 0; y < taps.rows; ++y) {
    for (int32_t x = 0; x < taps.columns; ++x)
      function(in + y * taps.in_row_step + x * taps.in_step, weight + y * taps.weight_row_step + x * taps.weight_step);
  }
}

int64_t element(const Convolution& conv, const TapRange& taps, int64_t c) {
  const int64_t first = static_cast<int32_t>(c) / static_cast<int32_t>(conv.outputs_each) * conv.channels_each;
  int64_t sum = 0;
  for_taps(taps, conv.data + first * conv.in.channel_step, conv.weights + c * conv.filter_step,
           [&](const int8_t* in, const int8_t* weight) { sum += tap_sum(conv, in, weight); });
  return sum;
}

// The weights are [O, H, W, I]; those of a depthwise convolution are [1, H, W, O].
void set_weights(const Tensor& weight, Kind kind, Convolution& conv) {
  const auto sizes = weight.sizes();
  const int64_t last = sizes[3];
  conv.tap_step = last;
  conv.tap_row_step = sizes[2] * last;
  conv.filter_step = kind == Kind::kDepthwise ? 1 : sizes[1] * sizes[2] * last;
  conv.channel_step = 1;
  conv.channels_each = kind == Kind::kDepthwise ? 1 : last;
  conv.weights = weight.as<const int8_t>();
}

// Checks that the groups and channels of input, weights and output agree.
bool fit_channels(const Tensor& weight, Kind kind, Convolution& conv) {
  const int64_t filters = kind == Kind::kDepthwise ? weight.sizes()[3] : weight.sizes()[0];
  if (conv.channels_each < 1 || conv.in.channels < 1 || conv.in.channels % conv.channels_each != 0) return false;
  const int64_t groups = conv.in.channels / conv.channels_each;
  if (filters != conv.out.channels || filters % groups != 0 || (kind == Kind::kTransposed && groups != 1)) return false;
  conv.outputs_each = filters / groups;
  return true;
}

struct Scales {
  const Tensor& multipliers;
  const Tensor& shifts;
  int64_t zero_point, low, high;

  [[nodiscard]] bool fit(int64_t channels) const {
    for (const Tensor* each : {&multipliers, &shifts}) {
      if (each->type != PteScalarType::kInt || static_cast<int64_t>(each->elements()) != channels) return false;
    }
    for (int64_t c = 0; c < channels; ++c) {
      if (!of(c).is_sane()) return false;
    }
    return low <= high;
  }
  [[nodiscard]] Requantization of(int64_t channel) const {
    return {.multiplier = multipliers.as<const int32_t>()[channel], .shift = shifts.as<const int32_t>()[channel]};
  }
};

// Converts sums to bytes.
struct Epilogue {
  const Convolution& conv;
  const Tensor* bias;
  const Scales& scales;
  int8_t* to;
  // `at` is the offset of the first channel of the output position.
  void operator()(ptrdiff_t at, int64_t c, int64_t sum) const {
    const int64_t start = bias == nullptr ? 0 : bias->as<const int32_t>()[c];
    to[at + static_cast<ptrdiff_t>(c) * static_cast<ptrdiff_t>(conv.out.channel_step)] = static_cast<int8_t>(
        std::clamp<int64_t>(scales.of(c)(start + sum) + scales.zero_point, scales.low, scales.high));
  }
};

// Returns whether a depthwise convolution has adjacent channels that can be computed four at a time. Each channel has
// its own input, or all four have the same.
bool comes_in_fours(const Convolution& conv) {
  return conv.in_a_row && conv.channels_each == 1 && conv.filter_step == 1 && conv.out.channels % 4 == 0 &&
         (conv.outputs_each == 1 || conv.outputs_each % 4 == 0);
}

void four_elements(const Convolution& conv, const TapRange& taps, int64_t c, int32_t* sums) {
  const auto offset = static_cast<int32_t>(conv.in_offset);
  if (conv.outputs_each == 1) {
    for_taps(taps, conv.data + c, conv.weights + c,
             [&](const int8_t* in, const int8_t* weight) { add_products(sums, in, weight, offset); });
  } else {
    for_taps(taps, conv.data + static_cast<int32_t>(c) / static_cast<int32_t>(conv.outputs_each), conv.weights + c,
             [&](const int8_t* in, const int8_t* weight) { add_multiples(sums, *in + offset, weight); });
  }
}

void convolve_pixel(const Convolution& conv, const Epilogue& epilogue, int64_t n, int64_t y, int64_t x) {
  const TapRange taps = taps_of(conv, n, y, x);
  const auto at = static_cast<ptrdiff_t>(index_in(conv.out, n, 0, y, x));
  if (!comes_in_fours(conv)) {
    for (int64_t c = 0; c < conv.out.channels; ++c) epilogue(at, c, element(conv, taps, c));
    return;
  }
  for (int64_t c = 0; c < conv.out.channels; c += 4) {
    int32_t sums[4] = {};
    four_elements(conv, taps, c, sums);
    for (int64_t k = 0; k < 4; ++k) epilogue(at, c + k, sums[k]);
  }
}

void convolve(const Convolution& conv, bool transposed, const Epilogue& epilogue) {
  if (transposed) {
    for_each(conv.out, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
      epilogue(static_cast<ptrdiff_t>(index_in(conv.out, n, 0, y, x)), c, transposed_element(conv, n, c, y, x));
    });
    return;
  }
  for (int64_t n = 0; n < conv.out.batches; ++n) {
    for (int64_t y = 0; y < conv.out.height; ++y) {
      for (int64_t x = 0; x < conv.out.width; ++x) convolve_pixel(conv, epilogue, n, y, x);
    }
  }
}

// (input, weight, bias or None, stride, padding, dilation, input_offset, output_offset, multipliers, shifts,
// activation_min, activation_max, scratch, out). Depthwise: depth_multiplier follows the dilation. Transposed:
// output_padding precedes the dilation, and there is a second scratch.
Error convolution_of(Arguments arguments, Kind kind, Axes axes) {
  Call call(arguments);
  const Roles roles = roles_of(kind);
  const bool transposed = kind == Kind::kTransposed;
  const Tensor& in = call.tensor(0);
  const Tensor& weight = call.tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const size_t first = roles.input_offset;
  const Scales scales{.multipliers = call.tensor(first + 2),
                      .shifts = call.tensor(first + 3),
                      .zero_point = call.integer(first + 1),
                      .low = call.integer(first + 4),
                      .high = call.integer(first + 5)};
  const Tensor& out = call.out(roles.out);
  Convolution conv;
  conv.data = in.as<const int8_t>();
  conv.in_offset = call.integer(first);
  call.support(in.type == PteScalarType::kChar && weight.type == in.type && out.type == in.type);
  call.require(image_of(in, axes, conv.in) && image_of(out, axes, conv.out) && weight.rank() == 4 &&
               weight.contiguous());
  CARINA_RT_TRY(call.error());
  set_weights(weight, kind, conv);
  conv.rows = window_of(call, roles, 0, weight.sizes()[1]);
  conv.columns = window_of(call, roles, 1, weight.sizes()[2]);
  const auto more = transposed ? call.integers(5) : std::span<const int64_t>();
  const int64_t more_rows = entry_of(call, more, 0, 2, 0), more_columns = entry_of(call, more, 1, 2, 0);
  call.require(is_sane(conv.rows) && is_sane(conv.columns) && fit_channels(weight, kind, conv) &&
               scales.fit(conv.out.channels) && conv.in.batches == conv.out.batches && more_rows >= 0 &&
               more_rows < conv.rows.stride + conv.rows.dilation && more_columns >= 0 &&
               more_columns < conv.columns.stride + conv.columns.dilation);
  call.require(bias == nullptr ||
               (bias->type == PteScalarType::kInt && static_cast<int64_t>(bias->elements()) == conv.out.channels));
  CARINA_RT_TRY(call.error());
  call.require(conv.out.height == convolved_size(conv.rows, conv.in.height, more_rows, transposed) &&
               conv.out.width == convolved_size(conv.columns, conv.in.width, more_columns, transposed));
  CARINA_RT_TRY(call.error());
  const int64_t products = conv.rows.kernel * conv.columns.kernel * conv.channels_each;
  conv.in_a_row = conv.in.channel_step == 1 && sums_fit(products, conv.in_offset);
  convolve(conv, transposed, {.conv = conv, .bias = bias, .scales = scales, .to = out.as<int8_t>()});
  return Error::kOk;
}

}  // namespace

Error cortex_m_conv2d(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kPlain, Axes::kNchw);
}
Error cortex_m_conv2d_nhwc(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kPlain, Axes::kNhwc);
}
Error cortex_m_depthwise(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kDepthwise, Axes::kNchw);
}
Error cortex_m_depthwise_nhwc(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kDepthwise, Axes::kNhwc);
}
Error cortex_m_transpose_conv2d(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kTransposed, Axes::kNchw);
}
Error cortex_m_transpose_conv2d_nhwc(Arguments arguments, Arena& /*scratch*/) {
  return convolution_of(arguments, Kind::kTransposed, Axes::kNhwc);
}

}  // namespace carina::runtime
