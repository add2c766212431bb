// Quantization by channel, by token, and with parameters that are computed at run time.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"
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

// Rows of adjacent elements with the same entry. `repeats` is the number of times that all entries occur in memory.
struct Rows {
  int64_t repeats, entries, count;
};

// Entries along `axis`, if the elements of both tensors have the same order in memory.
Rows rows_along(const Tensor& tensor, size_t axis) {
  Rows rows{.repeats = 1, .entries = tensor.sizes()[axis], .count = 1};
  bool inside = false;
  for (const uint8_t at : tensor.dim_order()) {
    if (at == axis)
      inside = true;
    else
      (inside ? rows.count : rows.repeats) *= tensor.sizes()[at];
  }
  return rows;
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

RowCodes quantizing(const Channels& channels, int64_t entry, const Codes& codes) {
  return {.scale = 1.0F / channels.scale(entry),
          .zero_point = channels.zero_point(entry),
          .low = codes.low,
          .high = codes.high};
}

RowCodes dequantizing(const Channels& channels, int64_t entry) {
  return {.scale = channels.scale(entry), .zero_point = channels.zero_point(entry)};
}

// Quantizes or dequantizes.
struct Convert {
  void (*row)(const Tensor& in, size_t from, const Tensor& out, size_t to, size_t count, const RowCodes& codes);
  bool (*each)(const Tensor& in, const Tensor& out, const Columns& columns, const EachCodes& codes);
};
constexpr Convert kQuantize{.row = quantize_row, .each = quantize_each};
constexpr Convert kDequantize{.row = dequantize_row, .each = dequantize_each};

// Converts rows of one element, some entries at a time. Returns false if Convert::each() does not.
template <typename CodesOf>
bool convert_each(const Tensor& in, const Tensor& out, const Rows& rows, const Convert& convert,
                  const CodesOf& codes_of) {
  const auto entries = static_cast<size_t>(rows.entries), repeats = static_cast<size_t>(rows.repeats);
  for (size_t first = 0; first < entries; first += EachCodes::kMaxColumns) {
    const size_t count = std::min(entries - first, EachCodes::kMaxColumns);
    EachCodes each;
    for (size_t i = 0; i < count; ++i) each.set(i, codes_of(static_cast<int64_t>(first + i)));
    if (!convert.each(in, out, {.first = first, .count = count, .rows = repeats, .step = entries}, each)) return false;
  }
  return true;
}

// Converts all rows. `codes_of` gives the parameters of an entry.
template <typename CodesOf>
void for_rows(const Tensor& in, const Tensor& out, const Rows& rows, const Convert& convert, const CodesOf& codes_of) {
  if (rows.count == 1 && convert_each(in, out, rows, convert, codes_of)) return;
  size_t at = 0;
  const auto count = static_cast<size_t>(rows.count);
  for (int64_t repeat = 0; repeat < rows.repeats; ++repeat) {
    for (int64_t entry = 0; entry < rows.entries; ++entry, at += count)
      convert.row(in, at, out, at, count, codes_of(entry));
  }
}

// The same for tensors of different orders in memory, element by element. `each` is the length of an entry's block in
// logical order; 0 means one entry for each index of `axis`.
template <typename CodesOf>
void for_elements(const Tensor& in, const Tensor& out, int64_t each, size_t axis, const Convert& convert,
                  const CodesOf& codes_of) {
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk{.rank = from.rank, .sizes = from.sizes, .strides = {from.strides, to.strides}, .at = {}, .index = {}};
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next())
    convert.row(in, static_cast<size_t>(walk.at[0]), out, static_cast<size_t>(walk.at[1]), 1,
                codes_of(each == 0 ? walk.index[axis] : i / each));
}

template <typename CodesOf>
void for_channels(const Tensor& in, const Tensor& out, size_t axis, const Convert& convert, const CodesOf& codes_of) {
  if (same_layout(in, out)) return for_rows(in, out, rows_along(in, axis), convert, codes_of);
  for_elements(in, out, 0, axis, convert, codes_of);
}

// Entries belong to rows of `each` elements in logical order.
template <typename CodesOf>
void for_tokens(const Tensor& in, const Tensor& out, int64_t each, const Convert& convert, const CodesOf& codes_of) {
  const auto count = static_cast<int64_t>(in.elements());
  if (count == 0) return;
  const bool in_rows = same_layout(in, out) && (in.contiguous() || each == count);
  if (in_rows) return for_rows(in, out, {.repeats = 1, .entries = count / each, .count = each}, convert, codes_of);
  for_elements(in, out, each, 0, convert, codes_of);
}

int64_t token_of(const Tensor& tensor) {
  return tensor.rank() == 0 ? 1 : int64_t{tensor.sizes().back()};
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
  for_tokens(in, out, static_cast<int64_t>(in.elements()), kQuantize,
             [&](int64_t entry) { return quantizing(one, entry, codes); });
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
  for_tokens(in, out, static_cast<int64_t>(in.elements()), kDequantize,
             [&](int64_t entry) { return dequantizing(one, entry); });
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
  for_channels(in, out, axis, kQuantize, [&](int64_t entry) { return quantizing(channels, entry, codes); });
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
  for_channels(in, out, axis, kDequantize, [&](int64_t entry) { return dequantizing(channels, entry); });
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
  for_tokens(in, out, token_of(in), kQuantize, [&](int64_t entry) { return quantizing(channels, entry, codes); });
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
  for_tokens(in, out, token_of(in), kDequantize, [&](int64_t entry) { return dequantizing(channels, entry); });
  return Error::kOk;
}

}  // namespace carina::runtime
