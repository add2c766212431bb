#include <array>
#include <type_traits>
#include <utility>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/float_sums_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

// Float convolutions of one or two axes, also transposed and with groups, for any strides, padding and dilation.
namespace carina::runtime {

namespace {

struct Convolution {
  Image in, weight, out;  // of the weight, batches is the first axis and channels the second
  Window rows, columns;
  int64_t groups = 1;
};

// The sum for the output element (n, c, y, x). Channels are the outermost loop, as in ExecuTorch's kernel. With an
// equal order of additions, floats have equal bits, and so have the integers that they are quantized to.
template <typename Value, typename Reader>
Value element(const Convolution& conv, const Reader& read_in, const Reader& read_weight, int64_t n, int64_t c,
              int64_t y, int64_t x) {
  const int64_t in_channels = conv.weight.channels;
  const int64_t first = c / (conv.out.channels / conv.groups) * in_channels;
  const Taps rows = taps_inside(conv.rows, y, conv.in.height);
  const Taps columns = taps_inside(conv.columns, x, conv.in.width);
  const int64_t row_step = conv.rows.dilation * conv.in.row_step;
  const int64_t column_step = conv.columns.dilation * conv.in.column_step;
  const int64_t corner = n * conv.in.batch_step + first * conv.in.channel_step +
                         (y * conv.rows.stride - conv.rows.padding) * conv.in.row_step +
                         (x * conv.columns.stride - conv.columns.padding) * conv.in.column_step;
  Value sum{0};
  for (int64_t k = 0; k < in_channels; ++k) {
    for (int64_t ky = rows.first; ky < rows.end; ++ky) {
      const int64_t in_at = corner + k * conv.in.channel_step + ky * row_step;
      const int64_t weight_at = c * conv.weight.batch_step + k * conv.weight.channel_step + ky * conv.weight.row_step;
      for (int64_t kx = columns.first; kx < columns.end; ++kx) {
        sum =
            plus(sum, times(read_in(in_at + kx * column_step), read_weight(weight_at + kx * conv.weight.column_step)));
      }
    }
  }
  return sum;
}

// The same for a transposed convolution, whose weight is [in channels, out channels per group, kernel].
template <typename Value, typename Reader>
Value transposed_element(const Convolution& conv, const Reader& read_in, const Reader& read_weight, int64_t n,
                         int64_t c, int64_t y, int64_t x) {
  const int64_t out_channels = conv.weight.channels;
  const int64_t in_channels = conv.in.channels / conv.groups;
  const int64_t first = c / out_channels * in_channels;
  Value sum{0};
  if (in_channels == 0) return sum;
  for (int64_t ky = 0; ky < conv.rows.kernel; ++ky) {
    const int64_t above = y + conv.rows.padding - ky * conv.rows.dilation;
    if (above < 0 || above % conv.rows.stride != 0 || above / conv.rows.stride >= conv.in.height) continue;
    for (int64_t kx = 0; kx < conv.columns.kernel; ++kx) {
      const int64_t before = x + conv.columns.padding - kx * conv.columns.dilation;
      if (before < 0 || before % conv.columns.stride != 0 || before / conv.columns.stride >= conv.in.width) continue;
      const int64_t in_at = n * conv.in.batch_step + first * conv.in.channel_step +
                            above / conv.rows.stride * conv.in.row_step +
                            before / conv.columns.stride * conv.in.column_step;
      const int64_t weight_at = first * conv.weight.batch_step + c % out_channels * conv.weight.channel_step +
                                ky * conv.weight.row_step + kx * conv.weight.column_step;
      for (int64_t k = 0; k < in_channels; ++k) {
        sum = plus(
            sum, times(read_in(in_at + k * conv.in.channel_step), read_weight(weight_at + k * conv.weight.batch_step)));
      }
    }
  }
  return sum;
}

// The taps of a float convolution at some output elements: `a` has the steps of the operand that the elements share,
// `b` those of the other. From the outermost axis to the innermost.
using TapAxes = std::array<Terms, 3>;

// Moves axes of one tap outwards, so that the innermost loop is long.
void order_taps(TapAxes& axes) {
  for (int i = 0; i < 2 && axes[2].count == 1; ++i) axes = {axes[2], axes[0], axes[1]};
}

// The sums of kSums output elements, whose operand b begins b_next apart.
template <size_t kSums>
[[gnu::noinline]] std::array<float, kSums> float_sums(const float* a, const float* b, ptrdiff_t b_next,
                                                      const TapAxes& axes) {
  FloatSums<kSums> sums;
  for (size_t i = 0; i < axes[0].count; ++i, a += axes[0].a_step, b += axes[0].b_step) {
    const float *x = a, *y = b;
    for (size_t k = 0; k < axes[1].count; ++k, x += axes[1].a_step, y += axes[1].b_step)
      add_products(sums, x, y, b_next, axes[2]);
  }
  return sums.values();
}

// A float convolution. Four elements are computed at a time: those of four filters that share an input, otherwise those
// of four neighboring windows that share a filter, such as in depthwise convolutions.
class FloatConvolution {
 public:
  FloatConvolution(const Convolution& conv, const Tensor& in, const Tensor& weight, const Tensor* bias,
                   const Tensor& out)
      : conv_(conv),
        in_(in.as<const float>()),
        weight_(weight.as<const float>()),
        bias_(bias == nullptr ? nullptr : bias->as<const float>()),
        out_(out.as<float>()),
        shares_input_(conv.out.channels / conv.groups % 4 == 0) {}

  void run() const {
    for (int64_t n = 0; n < conv_.out.batches; ++n) {
      for (int64_t c = 0; c < conv_.out.channels; c += shares_input_ ? 4 : 1) {
        for (int64_t y = 0; y < conv_.out.height; ++y) row(n, c, y);
      }
    }
  }

 private:
  static ptrdiff_t narrow(int64_t step) { return static_cast<ptrdiff_t>(step); }

  // Calls the windows of one row of the output.
  void row(int64_t n, int64_t c, int64_t y) const {
    const Taps rows = taps_inside(conv_.rows, y, conv_.in.height);
    const int64_t group = c / (conv_.out.channels / conv_.groups) * conv_.weight.channels;
    const float* in = in_ + narrow(n * conv_.in.batch_step + group * conv_.in.channel_step +
                                   (y * conv_.rows.stride - conv_.rows.padding) * conv_.in.row_step -
                                   conv_.columns.padding * conv_.in.column_step);
    float* out = out_ + narrow(n * conv_.out.batch_step + c * conv_.out.channel_step + y * conv_.out.row_step);
    const ptrdiff_t in_step = narrow(conv_.columns.stride * conv_.in.column_step);
    const ptrdiff_t out_step = narrow(conv_.out.column_step);
    for (int64_t x = 0; x < conv_.out.width;) {
      const Taps columns = taps_inside(conv_.columns, x, conv_.in.width);
      if (shares_input_) {
        filters<4>(in, rows, columns, c, out, narrow(conv_.out.channel_step));
      } else if (are_whole(x, columns)) {
        windows(in, rows, c, out);
        x += 4, in += 4 * in_step, out += 4 * out_step;
        continue;
      } else {
        filters<1>(in, rows, columns, c, out, 0);
      }
      ++x, in += in_step, out += out_step;
    }
  }

  // Whether the windows of columns x to x + 3 are inside of the input.
  [[nodiscard]] bool are_whole(int64_t x, const Taps& columns) const {
    return columns.first == 0 && x + 4 <= conv_.out.width &&
           taps_inside(conv_.columns, x + 3, conv_.in.width).end == conv_.columns.kernel;
  }

  // `in` is the first tap of the window, which may be outside of the input.
  template <size_t kFilters>
  void filters(const float* in, const Taps& rows, const Taps& columns, int64_t c, float* out, ptrdiff_t step) const {
    const float* weight = weight_ + narrow(c * conv_.weight.batch_step);
    std::array<float, kFilters> sums = FloatSums<kFilters>().values();
    if (conv_.weight.channels > 0 && has_taps(rows) && has_taps(columns)) {
      TapAxes axes = axes_of(rows, columns);
      order_taps(axes);
      sums = float_sums<kFilters>(in + in_offset(rows, columns), weight + weight_offset(rows, columns),
                                  narrow(conv_.weight.batch_step), axes);
    }
    for (size_t i = 0; i < kFilters; ++i)
      write(c + static_cast<int64_t>(i), out + static_cast<ptrdiff_t>(i) * step, sums[i]);
  }

  // Four windows with all columns.
  void windows(const float* in, const Taps& rows, int64_t c, float* out) const {
    std::array<float, 4> sums = FloatSums<4>().values();
    const Taps columns{.first = 0, .end = conv_.columns.kernel};
    if (conv_.weight.channels > 0 && has_taps(rows)) {
      TapAxes axes = axes_of(rows, columns);
      for (Terms& axis : axes) std::swap(axis.a_step, axis.b_step);
      order_taps(axes);
      sums = float_sums<4>(weight_ + narrow(c * conv_.weight.batch_step) + weight_offset(rows, columns),
                           in + in_offset(rows, columns), narrow(conv_.columns.stride * conv_.in.column_step), axes);
    }
    for (size_t i = 0; i < 4; ++i) write(c, out + static_cast<ptrdiff_t>(i) * narrow(conv_.out.column_step), sums[i]);
  }

  static bool has_taps(const Taps& taps) { return taps.first < taps.end; }
  [[nodiscard]] TapAxes axes_of(const Taps& rows, const Taps& columns) const {
    return {Terms{.count = static_cast<size_t>(conv_.weight.channels),
                  .a_step = narrow(conv_.in.channel_step),
                  .b_step = narrow(conv_.weight.channel_step)},
            Terms{.count = static_cast<size_t>(rows.end - rows.first),
                  .a_step = narrow(conv_.rows.dilation * conv_.in.row_step),
                  .b_step = narrow(conv_.weight.row_step)},
            Terms{.count = static_cast<size_t>(columns.end - columns.first),
                  .a_step = narrow(conv_.columns.dilation * conv_.in.column_step),
                  .b_step = narrow(conv_.weight.column_step)}};
  }
  [[nodiscard]] ptrdiff_t in_offset(const Taps& rows, const Taps& columns) const {
    return narrow(rows.first * conv_.rows.dilation * conv_.in.row_step +
                  columns.first * conv_.columns.dilation * conv_.in.column_step);
  }
  [[nodiscard]] ptrdiff_t weight_offset(const Taps& rows, const Taps& columns) const {
    return narrow(rows.first * conv_.weight.row_step + columns.first * conv_.weight.column_step);
  }
  void write(int64_t c, float* to, float sum) const { *to = (bias_ == nullptr ? 0.0F : bias_[c]) + sum; }

  const Convolution& conv_;
  const float *in_, *weight_, *bias_;
  float* out_;
  bool shares_input_;
};

template <typename Domain>
void convolve(Domain domain, const Convolution& conv, const Tensor& in, const Tensor& weight, const Tensor* bias,
              const Tensor& out, bool transposed) {
  if constexpr (std::is_same_v<Domain, Floats>) {
    if (!transposed) return FloatConvolution(conv, in, weight, bias, out).run();
  }
  using Value = typename Domain::Value;
  const auto read_in = domain.reader(in);
  const auto read_weight = domain.reader(weight);
  const auto read_bias = domain.reader(bias == nullptr ? in : *bias);
  const auto write = domain.writer(out);
  for (int64_t n = 0; n < conv.out.batches; ++n) {
    for (int64_t c = 0; c < conv.out.channels; ++c) {
      const Value start = bias == nullptr ? Value{0} : read_bias(c);
      for (int64_t y = 0; y < conv.out.height; ++y) {
        for (int64_t x = 0; x < conv.out.width; ++x) {
          const Value sum = transposed ? transposed_element<Value>(conv, read_in, read_weight, n, c, y, x)
                                       : element<Value>(conv, read_in, read_weight, n, c, y, x);
          write(n * conv.out.batch_step + c * conv.out.channel_step + y * conv.out.row_step + x * conv.out.column_step,
                plus(start, sum));
        }
      }
    }
  }
}

Window window_of(Call& call, size_t axis, size_t axes, int64_t kernel) {
  return {.kernel = kernel,
          .stride = entry_of(call, call.integers(3), axis, axes, 1),
          .padding = entry_of(call, call.integers(4), axis, axes, 0),
          .dilation = entry_of(call, call.integers(5), axis, axes, 1)};
}

bool channels_fit(const Convolution& conv, bool transposed) {
  if (conv.groups < 1 || conv.in.batches != conv.out.batches || conv.in.channels % conv.groups != 0 ||
      conv.out.channels % conv.groups != 0)
    return false;
  if (transposed)
    return conv.weight.batches == conv.in.channels && conv.weight.channels * conv.groups == conv.out.channels &&
           conv.weight.channels > 0;
  return conv.weight.batches == conv.out.channels && conv.weight.channels * conv.groups == conv.in.channels;
}

}  // namespace

// (input [N, C, W] or [N, C, H, W], weight, bias or None, stride, padding, dilation, transposed, output_padding,
// groups, out)
Error convolution(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& weight = call.tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const bool transposed = call.flag(6);
  const std::span<const int64_t> more = call.integers(7);
  const Tensor& out = call.out(9);
  Convolution conv;
  conv.groups = call.integer(8);
  call.require(in.rank() == out.rank() && in.rank() == weight.rank() && image_of(in, Missing::kHeight, conv.in) &&
               image_of(weight, Missing::kHeight, conv.weight));
  CARINA_RT_TRY(call.error());
  const size_t axes = in.rank() - 2;
  if (axes == 2) conv.rows = window_of(call, 0, axes, conv.weight.height);
  conv.columns = window_of(call, axes - 1, axes, conv.weight.width);
  const int64_t more_rows = axes == 2 && transposed ? entry_of(call, more, 0, axes, 0) : 0;
  const int64_t more_columns = transposed ? entry_of(call, more, axes - 1, axes, 0) : 0;
  call.require(is_sane(conv.rows) && is_sane(conv.columns) && conv.groups >= 1 && conv.groups <= INT32_MAX &&
               more_rows >= 0 && more_rows < conv.rows.stride + conv.rows.dilation && more_columns >= 0 &&
               more_columns < conv.columns.stride + conv.columns.dilation);
  CARINA_RT_TRY(call.error());
  const Image wanted{.batches = conv.in.batches,
                     .channels = transposed ? conv.weight.channels * conv.groups : conv.weight.batches,
                     .height = convolved_size(conv.rows, conv.in.height, more_rows, transposed),
                     .width = convolved_size(conv.columns, conv.in.width, more_columns, transposed)};
  fit_to_image(call, out, Missing::kHeight, wanted);
  call.require(image_of(out, Missing::kHeight, conv.out) && channels_fit(conv, transposed) &&
               conv.out.height == wanted.height && conv.out.width == wanted.width);
  call.require(bias == nullptr || (bias->rank() == 1 && bias->sizes()[0] == conv.out.channels));
  CARINA_RT_TRY(call.error());
  if (out.elements() == 0) return Error::kOk;
  in_domain([&](auto domain) { convolve(domain, conv, in, weight, bias, out, transposed); }, in, weight, out,
            bias == nullptr ? in : *bias);
  return Error::kOk;
}

}  // namespace carina::runtime
