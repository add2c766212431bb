// Quantization by channel, by token, and with parameters that are computed at run time.
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout_internal.h"
#include "runtime/kernels/quantize_internal.h"

namespace carina::runtime {

namespace {

// Scales and zero points along one axis: entry k belongs to index k. Tokens are rows of `each` elements, with one entry
// per row.
struct Channels {
  const Tensor& scales;
  const Tensor* zero_points;

  [[nodiscard]] float scale(int64_t at) const { return static_cast<float>(Numbers::reader(scales)(at)); }
  [[nodiscard]] int64_t zero_point(int64_t at) const {
    return zero_points == nullptr ? 0 : Integers::reader(*zero_points)(at);
  }
  [[nodiscard]] bool have(int64_t count) const {
    return static_cast<int64_t>(scales.elements()) == count && scales.contiguous() && is_floating(scales.type) &&
           (zero_points == nullptr ||
            (static_cast<int64_t>(zero_points->elements()) == count && zero_points->contiguous()));
  }
};

// Calls function(element of the input, element of the output, entry), with entries along `axis`.
template <typename Function>
void for_channels(const Tensor& in, const Tensor& out, size_t axis, const Function& function) {
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk{.rank = from.rank, .sizes = from.sizes, .strides = {from.strides, to.strides}, .at = {}, .index = {}};
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) function(walk.at[0], walk.at[1], walk.index[axis]);
}

// The same for tokens: all axes but the last are merged to one.
template <typename Function>
void for_tokens(const Tensor& in, const Tensor& out, const Function& function) {
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk{.rank = from.rank, .sizes = from.sizes, .strides = {from.strides, to.strides}, .at = {}, .index = {}};
  const int64_t count = walk.count();
  const int64_t each = from.rank == 0 ? 1 : from.sizes[from.rank - 1];
  for (int64_t i = 0; i < count; ++i, walk.next()) function(walk.at[0], walk.at[1], i / each);
}

int64_t tokens_of(const Tensor& tensor) {
  if (tensor.rank() == 0) return 1;
  int64_t count = 1;
  for (size_t axis = 0; axis + 1 < tensor.rank(); ++axis) count *= tensor.sizes()[axis];
  return count;
}

struct Codes {
  int64_t low, high;
};

auto quantizing(const Tensor& in, const Channels& channels, const Codes& codes, const Tensor& out) {
  return [&, read = Numbers::reader(in), write = Integers::writer(out)](int64_t from, int64_t to, int64_t entry) {
    const float inverse = 1.0F / channels.scale(entry);
    write(to, code_of(static_cast<float>(read(from)), inverse, channels.zero_point(entry), codes.low, codes.high));
  };
}

auto dequantizing(const Tensor& in, const Channels& channels, const Tensor& out) {
  return [&, read = Integers::reader(in), write = Numbers::writer(out)](int64_t from, int64_t to, int64_t entry) {
    write(to, static_cast<double>(value_of_code(read(from), channels.scale(entry), channels.zero_point(entry))));
  };
}

}  // namespace

// (input, scale, zero_point: tensors of one element, quant_min, quant_max, dtype, out)
Error quantize_per_tensor_by_tensors(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels one{call.tensor(1), &call.tensor(2)};
  const Codes codes{call.integer(3), call.integer(4)};
  const Tensor& out = call.out(6);
  call.fit_like(out, in);
  call.require(codes.low <= codes.high && one.have(1) && is_floating(in.type) && !is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const auto quantize = quantizing(in, one, codes, out);
  for_tokens(in, out, [&](int64_t from, int64_t to, int64_t /*token*/) { quantize(from, to, 0); });
  return Error::kOk;
}

// (input, scale, zero_point: tensors of one element, quant_min, quant_max, dtype, out_dtype or None, out)
Error dequantize_per_tensor_by_tensors(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels one{call.tensor(1), &call.tensor(2)};
  const Tensor& out = call.out(7);
  call.fit_like(out, in);
  call.require(one.have(1) && !is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const auto dequantize = dequantizing(in, one, out);
  for_tokens(in, out, [&](int64_t from, int64_t to, int64_t /*token*/) { dequantize(from, to, 0); });
  return Error::kOk;
}

// (input, scales, zero_points, axis, quant_min, quant_max, dtype, out)
Error quantize_per_channel(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels channels{call.tensor(1), &call.tensor(2)};
  const size_t axis = call.axis(3, in.rank());
  const Codes codes{call.integer(4), call.integer(5)};
  const Tensor& out = call.out(7);
  call.fit_like(out, in);
  CARINA_RT_TRY(call.error());
  call.require(codes.low <= codes.high && channels.have(in.sizes()[axis]) && is_floating(in.type) &&
               !is_floating(out.type));
  CARINA_RT_TRY(call.error());
  for_channels(in, out, axis, quantizing(in, channels, codes, out));
  return Error::kOk;
}

// (input, scales, zero_points or None, axis, quant_min, quant_max, dtype, out_dtype or None, out)
Error dequantize_per_channel(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels channels{call.tensor(1), call.optional_tensor(2)};
  const size_t axis = call.axis(3, in.rank());
  const Tensor& out = call.out(8);
  call.fit_like(out, in);
  CARINA_RT_TRY(call.error());
  call.require(channels.have(in.sizes()[axis]) && !is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  for_channels(in, out, axis, dequantizing(in, channels, out));
  return Error::kOk;
}

// (input [..., K], scales [..., 1], zero_points, quant_min, quant_max, dtype, out)
Error quantize_per_token(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels channels{call.tensor(1), &call.tensor(2)};
  const Codes codes{call.integer(3), call.integer(4)};
  const Tensor& out = call.out(6);
  call.fit_like(out, in);
  call.require(codes.low <= codes.high && channels.have(tokens_of(in)) && is_floating(in.type) &&
               !is_floating(out.type));
  CARINA_RT_TRY(call.error());
  for_tokens(in, out, quantizing(in, channels, codes, out));
  return Error::kOk;
}

// (input [..., K], scales, zero_points, quant_min, quant_max, dtype, output dtype, out)
Error dequantize_per_token(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Channels channels{call.tensor(1), &call.tensor(2)};
  const Tensor& out = call.out(7);
  call.fit_like(out, in);
  call.require(channels.have(tokens_of(in)) && !is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  for_tokens(in, out, dequantizing(in, channels, out));
  return Error::kOk;
}

}  // namespace carina::runtime
