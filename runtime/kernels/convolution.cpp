#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
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

template <typename Domain>
void convolve(Domain domain, const Convolution& conv, const Tensor& in, const Tensor& weight, const Tensor* bias,
              const Tensor& out, bool transposed) {
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
