#include <algorithm>
#include <array>
#include <limits>

#include "frontend/tflite/axis_padding.h"
#include "frontend/tflite/to_aten/aten_call_internal.h"

// Operators with weights, and those that move a window: CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED, pools, RESIZE.
namespace carina::tflite {

namespace {

using ir::ValueId;
using Ints = std::vector<int64_t>;

AxisPadding padding_of(Padding padding, int64_t size, int64_t extent, int64_t stride) {
  return padding == Padding::kSame ? same_padding(size, extent, stride) : AxisPadding();
}

Result<void> check_window(const AtenCall& call) {
  CARINA_CHECKED(call.need_rank(0, 4));
  const Options& o = call.options();
  for (const int32_t n : {o.stride_h, o.stride_w, o.dilation_h, o.dilation_w, o.filter_h, o.filter_w}) {
    constexpr int32_t kMax = 1 << 16;
    if (n < 1 || n > kMax) return call.reject("a size, stride or dilation is out of range");
  }
  return {};
}

// The weights with other axes: element [o,i,y,x] of the result is at `place(o, i, y, x)` of the file's.
template <typename Place>
std::vector<float> arranged(const std::vector<float>& weights, const Shape& shape, Place place) {
  std::vector<float> out(weights.size());
  size_t at = 0;
  for (int64_t o = 0; o < shape[0]; ++o) {
    for (int64_t i = 0; i < shape[1]; ++i) {
      for (int64_t y = 0; y < shape[2]; ++y) {
        for (int64_t x = 0; x < shape[3]; ++x) out[at++] = weights[static_cast<size_t>(place(o, i, y, x))];
      }
    }
  }
  return out;
}

Result<ValueId> bias_of(AtenCall& call, int64_t channels) {
  if (!call.has(2)) return ValueId();
  CARINA_TRY(const std::vector<float> bias, call.floats(2));
  if (static_cast<int64_t>(bias.size()) != channels)
    return call.reject("the bias does not have one element per channel");
  return call.constant("bias", Shape{channels}, bias);
}

// A convolution of weights [O,I,H,W] in PyTorch's order.
Result<void> convolved(AtenCall& call, const Shape& shape, const std::vector<float>& weights, int64_t groups) {
  const Options& o = call.options();
  const Shape input = call.in(0).shape;
  const AxisPadding rows = padding_of(o.padding, input[1], (shape[2] - 1) * o.dilation_h + 1, o.stride_h);
  const AxisPadding columns = padding_of(o.padding, input[2], (shape[3] - 1) * o.dilation_w + 1, o.stride_w);
  CARINA_TRY(const ValueId given, call.value(0));
  ValueId x = call.to_nchw(given);
  Ints padding{rows.before, columns.before};
  if (rows.before != rows.after || columns.before != columns.after) {
    x = call.make(AtenOp::constant_pad_nd_default, {x},
                  {{"pad", Ints{columns.before, columns.after, rows.before, rows.after}}, {"value", 0.0}});
    padding = {0, 0};
  }
  CARINA_TRY(const ValueId bias, bias_of(call, shape[0]));
  const ValueId made = call.make(AtenOp::conv2d_default, {x, call.constant("weight", shape, weights), bias},
                                 {{"stride", Ints{o.stride_h, o.stride_w}},
                                  {"padding", padding},
                                  {"dilation", Ints{o.dilation_h, o.dilation_w}},
                                  {"groups", groups}});
  CARINA_TRY(const ValueId result, call.activated(made));
  return call.set(call.to_nhwc(result));
}

}  // namespace

Result<void> aten_convolution(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(check_window(call));
  CARINA_CHECKED(call.need_rank(1, 4));
  CARINA_TRY(const std::vector<float> weights, call.floats(1));
  const Shape w = call.in(1).shape;  // [O,H,W,I]
  if (w.elements() == 0 || call.in(0).shape[3] % w[3] != 0)
    return call.reject("the channels of the weights do not fit");
  const Shape shape{w[0], w[3], w[1], w[2]};
  const auto place = [&](int64_t o, int64_t i, int64_t y, int64_t x) { return ((o * w[1] + y) * w[2] + x) * w[3] + i; };
  return convolved(call, shape, arranged(weights, shape, place), call.in(0).shape[3] / w[3]);
}

Result<void> aten_depthwise_convolution(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(check_window(call));
  CARINA_CHECKED(call.need_rank(1, 4));
  CARINA_TRY(const std::vector<float> weights, call.floats(1));
  const Shape w = call.in(1).shape;  // [1,H,W,O]
  const int64_t channels = call.in(0).shape[3];
  if (w.elements() == 0 || w[0] != 1 || channels == 0 || w[3] % channels != 0)
    return call.reject("the channels of the weights do not fit");
  const Shape shape{w[3], 1, w[1], w[2]};
  const auto place = [&](int64_t o, int64_t, int64_t y, int64_t x) { return (y * w[2] + x) * w[3] + o; };
  return convolved(call, shape, arranged(weights, shape, place), channels);
}

Result<void> aten_fully_connected(AtenCall& call) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_rank(1, 2));
  if (call.options().weights_format != 0) return call.reject("weights in a shuffled format are not supported");
  const Shape w = call.in(1).shape;
  const int64_t elements = call.in(0).shape.elements();
  if (w.elements() == 0 || elements % w[1] != 0) return call.reject("the input is not rows of the matrix");
  CARINA_TRY(const std::vector<float> weights, call.floats(1));
  CARINA_TRY(const ValueId given, call.value(0));
  CARINA_TRY(const ValueId bias, bias_of(call, w[0]));
  const ValueId rows = call.view(given, Shape{elements / w[1], w[1]});
  const ValueId made = call.make(AtenOp::linear_default, {rows, call.constant("weight", w, weights), bias});
  CARINA_TRY(const ValueId result, call.activated(made));
  return call.set(call.view(result, call.result().shape));
}

namespace {

// The padding of a pool, whose windows beyond the input have fewer elements. If one more is padded behind than before,
// ceil_mode adds the last window; that needs a stride of at least 2.
struct PoolPadding {
  Ints amounts = {};
  bool has_ceil = false;
};

Result<PoolPadding> pool_padding_of(const AtenCall& call) {
  const Options& o = call.options();
  const Shape input = call.in(0).shape;
  const AxisPadding rows = padding_of(o.padding, input[1], o.filter_h, o.stride_h);
  const AxisPadding columns = padding_of(o.padding, input[2], o.filter_w, o.stride_w);
  PoolPadding out{.amounts = {rows.before, columns.before}};
  for (const auto& [padding, stride] : {std::pair(rows, o.stride_h), std::pair(columns, o.stride_w)}) {
    if (padding.before == padding.after) continue;
    if (stride == 1) return call.reject("an even window with SAME padding and a stride of 1 is not supported");
    out.has_ceil = true;
  }
  return out;
}

Result<void> pooled(AtenCall& call, AtenOp op) {
  CARINA_CHECKED(check_window(call));
  const Options& o = call.options();
  CARINA_TRY(const PoolPadding padding, pool_padding_of(call));
  CARINA_TRY(const ValueId given, call.value(0));
  ir::Attributes attributes{{"kernel_size", Ints{o.filter_h, o.filter_w}},
                            {"stride", Ints{o.stride_h, o.stride_w}},
                            {"padding", padding.amounts}};
  if (op == AtenOp::avg_pool2d_default) {
    attributes.set("ceil_mode", padding.has_ceil);
    attributes.set("count_include_pad", false);
    attributes.set("divisor_override", std::monostate());
  } else {
    attributes.set("dilation", Ints{1, 1});
    attributes.set("ceil_mode", padding.has_ceil);
  }
  CARINA_TRY(const ValueId made, call.activated(call.make(op, {call.to_nchw(given)}, std::move(attributes))));
  return call.set(call.to_nhwc(made));
}

Result<void> resized(AtenCall& call, AtenOp op, ir::Attributes further) {
  CARINA_CHECKED(call.need(2));
  CARINA_CHECKED(call.need_rank(0, 4));
  CARINA_TRY(const Ints size, call.integers(1));
  if (size.size() != 2 || std::ranges::min(size) < 1) return call.reject("the sizes are not two numbers above 0");
  CARINA_TRY(const ValueId given, call.value(0));
  ir::Attributes attributes{{"output_size", size}};
  for (const auto& [name, value] : further.list()) attributes.set(name, value);
  attributes.set("scales_h", std::monostate());
  attributes.set("scales_w", std::monostate());
  return call.set(call.to_nhwc(call.make(op, {call.to_nchw(given)}, std::move(attributes))));
}

}  // namespace

Result<void> aten_average_pool(AtenCall& call) {
  return pooled(call, AtenOp::avg_pool2d_default);
}

Result<void> aten_max_pool(AtenCall& call) {
  return pooled(call, AtenOp::max_pool2d_default);
}

Result<void> aten_resize_bilinear(AtenCall& call) {
  if (!call.options().half_pixel_centers && !call.options().align_corners)
    return call.reject("a resize that aligns neither corners nor centers of pixels is not supported");
  return resized(call, AtenOp::upsample_bilinear2d_default, {{"align_corners", call.options().align_corners}});
}

Result<void> aten_resize_nearest(AtenCall& call) {
  if (call.options().half_pixel_centers || call.options().align_corners)
    return call.reject("a nearest resize that aligns corners or centers of pixels is not supported");
  return resized(call, AtenOp::upsample_nearest2d_default, {});
}

}  // namespace carina::tflite
