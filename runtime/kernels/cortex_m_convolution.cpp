#include <algorithm>
#include <span>

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

TapRange taps_at(const Convolution& conv, int64_t n, int64_t y, int64_t x, const Taps& rows) {
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

// The taps of the output positions of one row, one after the other.
class TapsOfRow {
 public:
  TapsOfRow(const Convolution& conv, int64_t n, int64_t y)
      : conv_(conv),
        n_(n),
        y_(y),
        rows_(taps_inside(conv.rows, y, conv.in.height)),
        step_(static_cast<ptrdiff_t>(conv.columns.stride) * static_cast<ptrdiff_t>(conv.in.column_step)) {
    const Window& window = conv.columns;
    const int64_t reach = (window.kernel - 1) * window.dilation, last = conv.in.width - 1 - reach + window.padding;
    if (last < 0 || std::max({last, window.padding, window.stride}) > INT32_MAX / 2) return;  // without 64-bit division
    const auto stride = static_cast<int32_t>(window.stride);
    first_ = (static_cast<int32_t>(window.padding) + stride - 1) / stride;
    end_ = static_cast<int32_t>(last) / stride + 1;
  }
  // Those of the next position. Inside of the image they are those before, moved.
  const TapRange& next() {
    if (x_ > first_ && x_ < end_) {
      taps_.in += step_;
    } else {
      taps_ = taps_at(conv_, n_, y_, x_, rows_);
    }
    ++x_;
    return taps_;
  }

 private:
  const Convolution& conv_;
  int64_t n_, y_;
  Taps rows_;
  ptrdiff_t step_;
  int32_t first_ = 0, end_ = 0, x_ = 0;  // positions whose columns are inside of the image, and the next position
  TapRange taps_;
};

// Calls function(input, weights) for each tap, starting with the given pointers.
template <typename Function>
[[gnu::always_inline]] inline void for_taps(const TapRange& taps, const int8_t* in, const int8_t* weight,
                                            const Function& function) {
  if (taps.rows == 0 || taps.columns == 0) return;
  in += taps.in;
  weight += taps.weight;
  const ptrdiff_t in_step = taps.in_step, weight_step = taps.weight_step;
  repeat(static_cast<size_t>(taps.rows), [&] {
    const int8_t *in_tap = in, *weight_tap = weight;
    repeat(static_cast<size_t>(taps.columns), [&] {
      function(in_tap, weight_tap);
      in_tap += in_step;
      weight_tap += weight_step;
    });
    in += taps.in_row_step;
    weight += taps.weight_row_step;
  });
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
  OutputCodes codes;

  [[nodiscard]] bool fit(int64_t channels) const {
    for (const Tensor* each : {&multipliers, &shifts}) {
      if (each->type != PteScalarType::kInt || static_cast<int64_t>(each->elements()) != channels) return false;
    }
    for (int64_t c = 0; c < channels; ++c) {
      if (!of(c).is_sane()) return false;
    }
    return codes.low <= codes.high;
  }
  [[nodiscard]] Requantization of(int64_t channel) const {
    return {.multiplier = multipliers.as<const int32_t>()[channel], .shift = shifts.as<const int32_t>()[channel]};
  }
  // Those of four channels.
  [[nodiscard]] FourCodes four(int64_t channel) const {
    return {multipliers.as<const int32_t>() + channel, shifts.as<const int32_t>() + channel, codes};
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
    to[at + static_cast<ptrdiff_t>(c) * static_cast<ptrdiff_t>(conv.out.channel_step)] =
        scales.codes(scales.of(c), start(c) + sum);
  }
  [[nodiscard]] int32_t start(int64_t c) const { return bias == nullptr ? 0 : bias->as<const int32_t>()[c]; }
  // Whether channels are adjacent bytes, which FourCodes can write.
  [[nodiscard]] bool takes_fours() const {
    if (conv.out.channel_step != 1 || conv.out.channels < 4 || !scales.codes.fit()) return false;
    for (int64_t c = 0; c < conv.out.channels; ++c) {
      if (!FourCodes::fits(scales.of(c), start(c))) return false;
    }
    return true;
  }
};

// Returns whether a depthwise convolution has adjacent channels that can be computed four at a time. Each channel has
// its own input, or all four have the same.
bool is_depthwise_in_fours(const Convolution& conv) {
  return conv.in_a_row && conv.channels_each == 1 && conv.filter_step == 1 &&
         (conv.outputs_each == 1 || conv.outputs_each % 4 == 0);
}

// Four channels of a depthwise convolution.
[[gnu::noinline]] void depthwise_four(const Convolution& conv, const TapRange& taps, const Epilogue& epilogue,
                                      ptrdiff_t at, int64_t c) {
  const auto offset = static_cast<int32_t>(conv.in_offset);
  FourSums sums(epilogue.bias == nullptr ? nullptr : epilogue.bias->as<const int32_t>() + c);
  if (conv.outputs_each == 1) {
    for_taps(taps, conv.data + c, conv.weights + c,
             [&](const int8_t* in, const int8_t* weight) { sums.add_products(in, weight, offset); });
  } else {
    for_taps(taps, conv.data + static_cast<int32_t>(c) / static_cast<int32_t>(conv.outputs_each), conv.weights + c,
             [&](const int8_t* in, const int8_t* weight) { sums.add_multiples(*in + offset, weight); });
  }
  epilogue.scales.four(c)(epilogue.to + at + static_cast<ptrdiff_t>(c), sums);
}

// All channels of an output position.
void convolve_pixel(const Convolution& conv, const Epilogue& epilogue, bool in_fours, const TapRange& taps,
                    ptrdiff_t at) {
  if (in_fours) {  // the last four channels may be computed twice
    for (int64_t c = 0; c < conv.out.channels; c += 4)
      depthwise_four(conv, taps, epilogue, at, std::min(c, conv.out.channels - 4));
  } else {
    for (int64_t c = 0; c < conv.out.channels; ++c) epilogue(at, c, element(conv, taps, c));
  }
}

void convolve(const Convolution& conv, bool transposed, const Epilogue& epilogue) {
  if (transposed) {
    for_each(conv.out, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
      epilogue(static_cast<ptrdiff_t>(index_in(conv.out, n, 0, y, x)), c, transposed_element(conv, n, c, y, x));
    });
    return;
  }
  const bool in_fours = is_depthwise_in_fours(conv) && epilogue.takes_fours();
  for (int64_t n = 0; n < conv.out.batches; ++n) {
    for (int64_t y = 0; y < conv.out.height; ++y) {
      TapsOfRow taps(conv, n, y);
      ptrdiff_t at = index_in(conv.out, n, 0, y, 0);
      const auto step = static_cast<ptrdiff_t>(conv.out.column_step);
      for (auto left = static_cast<ptrdiff_t>(conv.out.width); left > 0; --left, at += step)
        convolve_pixel(conv, epilogue, in_fours, taps.next(), at);
    }
  }
}

// Returns whether pixels are rows of adjacent channels, one after the other.
bool has_adjacent_pixels(const Image& image) {
  return image.channel_step == 1 && image.column_step == image.channels &&
         image.row_step == image.column_step * image.width && image.batch_step == image.row_step * image.height;
}

// Returns whether a convolution is a product of its windows and its filters: there is one group, and a filter lies in
// memory as the elements of a window do.
bool is_product(const Convolution& conv) {
  return conv.channels_each == conv.in.channels && conv.tap_step == conv.channels_each && conv.in.channel_step == 1 &&
         has_adjacent_pixels(conv.out) && conv.in_offset >= -INT8_MAX && conv.in_offset <= -INT8_MIN;
}

// Returns whether the windows lie in memory one after the other: they are the pixels.
bool has_adjacent_windows(const Convolution& conv) {
  const auto is_one = [](const Window& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; };
  return is_one(conv.rows) && is_one(conv.columns) && has_adjacent_pixels(conv.in);
}

// Copies a window, with the input's zero point outside of the image.
void copy_window(const Convolution& conv, const TapRange& taps, int8_t* to) {
  const int64_t all = conv.rows.kernel * conv.columns.kernel;
  if (int64_t{taps.rows} * taps.columns < all)
    std::fill_n(to, static_cast<size_t>(conv.filter_step), static_cast<int8_t>(-conv.in_offset));
  const auto channels = static_cast<int32_t>(conv.channels_each);
  const bool is_row = taps.in_step == channels || taps.columns == 1;  // taps are adjacent
  const int32_t runs = is_row ? 1 : taps.columns, bytes = is_row ? channels * taps.columns : channels;
  const int8_t* row = conv.data + taps.in;
  to += taps.weight;
  for (int32_t i = 0; i < taps.rows; ++i, row += taps.in_row_step, to += taps.weight_row_step) {
    for (int32_t k = 0; k < runs; ++k) copy_bytes(row + k * taps.in_step, to + k * taps.weight_step, bytes);
  }
}

// Moves the input's offset into the columns' starts, which are written to `starts`.
void apply_offset(Int8Product& product, int32_t* starts) {
  const auto inner = static_cast<int32_t>(product.inner), offset = static_cast<int32_t>(product.a.offset);
  for (int64_t n = 0; n < product.columns; ++n)
    starts[n] = (product.start == nullptr ? 0 : product.start[n]) + offset * sum_of(product.b.data + n * inner, inner);
  product.start = starts;
  product.a.offset = 0;
}

// Multiplies windows and filters. `memory` is scratch for copies of windows. Returns false if it is too small for one.
bool multiply_windows(const Convolution& conv, Int8Product product, std::span<int32_t> memory, int8_t* out) {
  product.inner = conv.filter_step;
  if (has_adjacent_windows(conv)) {
    product.a.data = conv.data;
    product.rows = conv.in.batches * conv.in.height * conv.in.width;
    product.write_to(out, product.fits_fours());
    return true;
  }
  const auto window = static_cast<size_t>(conv.filter_step), columns = static_cast<size_t>(product.columns);
  if (window == 0 || memory.size_bytes() < window) return false;
  const bool in_fours = product.fits_fours();
  if (in_fours && memory.size() > columns && memory.subspan(columns).size_bytes() >= window) {
    apply_offset(product, memory.data());
    memory = memory.subspan(columns);
  }
  const auto most = static_cast<int64_t>(memory.size_bytes() / window);
  auto* windows = reinterpret_cast<int8_t*>(memory.data());
  product.a.data = windows;
  product.rows = 0;
  const auto flush = [&] {
    product.write_to(out, in_fours);
    out += product.rows * product.columns;
    product.rows = 0;
  };
  for (int64_t n = 0; n < conv.out.batches; ++n) {
    for (int64_t y = 0; y < conv.out.height; ++y) {
      TapsOfRow taps(conv, n, y);
      for (auto left = static_cast<ptrdiff_t>(conv.out.width); left > 0; --left) {
        copy_window(conv, taps.next(), windows + static_cast<size_t>(product.rows) * window);
        if (++product.rows == most) flush();
      }
    }
  }
  if (product.rows > 0) flush();
  return true;
}

// The memory of an optional scratch tensor.
std::span<int32_t> memory_of(const EValue& scratch) {
  if (!scratch.is_tensor() || scratch.tensor.data == nullptr || scratch.tensor.read_only) return {};
  const auto address = reinterpret_cast<uintptr_t>(scratch.tensor.data);
  const size_t skipped = (alignof(int32_t) - address % alignof(int32_t)) % alignof(int32_t);
  const size_t bytes = scratch.tensor.bytes();
  if (bytes < skipped) return {};
  return {reinterpret_cast<int32_t*>(address + skipped), (bytes - skipped) / sizeof(int32_t)};
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
  const Scales scales{
      .multipliers = call.tensor(first + 2),
      .shifts = call.tensor(first + 3),
      .codes = {
          .zero_point = call.integer(first + 1), .low = call.integer(first + 4), .high = call.integer(first + 5)}};
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
  conv.in_a_row = conv.in.channel_step == 1 && sums_fit(2 * products, conv.in_offset);
  if (kind == Kind::kPlain && is_product(conv)) {
    const Int8Product product{.a = {.data = nullptr, .offset = conv.in_offset},
                              .b = {.data = conv.weights, .offset = 0},
                              .rows = 0,
                              .columns = conv.out.channels,
                              .inner = 0,
                              .start = bias == nullptr ? nullptr : bias->as<const int32_t>(),
                              .multipliers = scales.multipliers.as<const int32_t>(),
                              .shifts = scales.shifts.as<const int32_t>(),
                              .codes = scales.codes};
    if (multiply_windows(conv, product, memory_of(*arguments[roles.out - 1]), out.as<int8_t>())) return Error::kOk;
  }
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
