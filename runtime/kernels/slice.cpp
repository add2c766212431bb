#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// A range of an axis: `count` elements from `begin` on, `step` apart.
struct Range {
  int64_t begin = 0;
  int64_t count = 0;
  int64_t step = 1;
};

// Python's rules: negative numbers count from the end, and both ends are clipped.
Range range_of(int64_t start, int64_t end, int64_t step, int64_t size) {
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  return {.begin = start, .count = (end - start) / step + ((end - start) % step != 0 ? 1 : 0), .step = step};
}

// A walk over a range of `axis` of `whole` and over all of `part`. `part` has the size of the range along `axis`, and
// the sizes of `whole` along the others.
bool range_walk(const Tensor& whole, size_t axis, const Range& range, const Tensor& part, Walk<2>& walk) {
  const Layout from = layout_of(whole);
  const Layout to = layout_of(part);
  if (from.rank != to.rank || to.sizes[axis] != range.count) return false;
  for (size_t i = 0; i < from.rank; ++i) {
    if (i != axis && from.sizes[i] != to.sizes[i]) return false;
    walk.add_axis(to.sizes[i], {from.strides[i] * (i == axis ? range.step : 1), to.strides[i]});
  }
  walk.at[0] = range.begin * from.strides[axis];
  return true;
}

Error copy_range(const Tensor& in, size_t axis, const Range& range, const Tensor& out) {
  Walk<2> walk;
  if (in.type != out.type || !range_walk(in, axis, range, out, walk)) return Error::kInvalidArgument;
  copy_elements(in, out, walk);
  return Error::kOk;
}

Error paste_range(const Tensor& in, const Tensor& out, size_t axis, const Range& range) {
  Walk<2> walk;
  if (!copies(in.type, out.type) || !range_walk(out, axis, range, in, walk)) return Error::kInvalidArgument;
  std::swap(walk.strides[0], walk.strides[1]);
  std::swap(walk.at[0], walk.at[1]);
  copy_elements(in, out, walk);
  return Error::kOk;
}

// A walk over one index of `axis` of `whole` and over `part`, which does not have that axis.
bool index_walk(const Tensor& whole, size_t axis, int64_t index, const Tensor& part, Walk<2>& walk) {
  const Layout from = layout_of(whole);
  const Layout to = layout_of(part);
  if (from.rank != to.rank + 1 || index < 0 || index >= from.sizes[axis]) return false;
  for (size_t i = 0; i < from.rank; ++i) {
    if (i == axis) continue;
    const size_t j = i < axis ? i : i - 1;
    if (from.sizes[i] != to.sizes[j]) return false;
    walk.add_axis(to.sizes[j], {from.strides[i], to.strides[j]});
  }
  walk.at[0] = index * from.strides[axis];
  return true;
}

Error copy_index(const Tensor& in, size_t axis, int64_t index, const Tensor& out) {
  Walk<2> walk;
  if (in.type != out.type || !index_walk(in, axis, index, out, walk)) return Error::kInvalidArgument;
  copy_elements(in, out, walk);
  return Error::kOk;
}

Error paste_index(const Tensor& in, const Tensor& out, size_t axis, int64_t index) {
  Walk<2> walk;
  if (!copies(in.type, out.type) || !index_walk(out, axis, index, in, walk)) return Error::kInvalidArgument;
  std::swap(walk.strides[0], walk.strides[1]);
  std::swap(walk.at[0], walk.at[1]);
  copy_elements(in, out, walk);
  return Error::kOk;
}

Error copy_all(const Tensor& in, const Tensor& out) {
  return map_unary(in, out, [](auto a) { return a; });
}

bool writable(const EValue* value) {
  return readable(value) && !value->tensor.read_only;
}

}  // namespace

// (input, dim, start or None, end or None, step, out)
Error slice_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  const int64_t start = call.integer_or(2, 0);
  const int64_t end = call.integer_or(3, std::numeric_limits<int64_t>::max());
  const int64_t step = call.integer(4);
  const Tensor& out = call.out(5);
  call.require(step >= 1 && step <= std::numeric_limits<int32_t>::max());
  CARINA_RT_TRY(call.error());
  const Range range = range_of(start, end, step, in.sizes()[axis]);
  call.fit_along(out, in, axis, range.count);
  CARINA_RT_TRY(call.error());
  return copy_range(in, axis, range, out);
}

// (input, source, dim, start or None, end or None, step, out)
Error slice_scatter(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& source = call.tensor(1);
  const size_t axis = call.axis(2, in.rank());
  const int64_t start = call.integer_or(3, 0);
  const int64_t end = call.integer_or(4, std::numeric_limits<int64_t>::max());
  const int64_t step = call.integer(5);
  const Tensor& out = call.out(6);
  call.require(step >= 1 && step <= std::numeric_limits<int32_t>::max() && takes_sizes_of(out, in));
  CARINA_RT_TRY(call.error());
  CARINA_RT_TRY(copy_all(in, out));
  return paste_range(source, out, axis, range_of(start, end, step, out.sizes()[axis]));
}

// (input, dim, start, length, out)
Error narrow_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  int64_t start = call.integer(2);
  const int64_t length = call.integer(3);
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  const auto size = int64_t{in.sizes()[axis]};
  start += start < 0 ? size : 0;
  if (start < 0 || start > size || length < 0 || length > size - start) return Error::kInvalidArgument;
  call.fit_along(out, in, axis, length);
  CARINA_RT_TRY(call.error());
  return copy_range(in, axis, {.begin = start, .count = length, .step = 1}, out);
}

// (input, dim, index, out)
Error select_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  const int64_t index = call.integer(2);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  call.fit_without(out, in, axis);
  CARINA_RT_TRY(call.error());
  return copy_index(in, axis, index < 0 ? index + in.sizes()[axis] : index, out);
}

// (input, source, dim, index, out)
Error select_scatter(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& source = call.tensor(1);
  const size_t axis = call.axis(2, in.rank());
  const int64_t index = call.integer(3);
  const Tensor& out = call.out(4);
  call.require(takes_sizes_of(out, in));
  CARINA_RT_TRY(call.error());
  CARINA_RT_TRY(copy_all(in, out));
  return paste_index(source, out, axis, index < 0 ? index + out.sizes()[axis] : index);
}

namespace {

// PyTorch allows an empty one-dimensional tensor among tensors of any rank.
bool is_nothing_beside(const Tensor& part, const Tensor& out) {
  return part.rank() == 1 && part.bytes() == 0 && out.rank() != 1;
}

// Gives the output the sum of the parts' sizes along `axis`.
void fit_to_parts(Call& call, std::span<EValue* const> parts, size_t axis, const Tensor& out) {
  const Tensor* like = nullptr;
  int64_t count = 0;
  for (const EValue* part : parts) {
    call.require(readable(part));
    if (call.error() != Error::kOk) return;
    if (is_nothing_beside(part->tensor, out)) continue;
    call.require(part->tensor.rank() == out.rank());
    if (call.error() != Error::kOk) return;
    like = &part->tensor;
    count += part->tensor.sizes()[axis];
  }
  if (like != nullptr) call.fit_along(out, *like, axis, count);
}

}  // namespace

// (tensors, dim, out)
Error cat(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const std::span<EValue* const> parts = call.tensors(0);
  const Tensor& out = call.out(2);
  const size_t axis = call.axis(1, out.rank());
  CARINA_RT_TRY(call.error());
  fit_to_parts(call, parts, axis, out);
  CARINA_RT_TRY(call.error());
  int64_t begin = 0;
  for (const EValue* part : parts) {
    if (is_nothing_beside(part->tensor, out)) continue;
    const int64_t count = part->tensor.sizes()[axis];
    if (count > out.sizes()[axis] - begin) return Error::kInvalidArgument;
    CARINA_RT_TRY(paste_range(part->tensor, out, axis, {.begin = begin, .count = count, .step = 1}));
    begin += count;
  }
  return begin == out.sizes()[axis] ? Error::kOk : Error::kInvalidArgument;
}

namespace {

// Gives the output the sizes of a part, and a new axis.
void fit_to_stack(Call& call, std::span<EValue* const> parts, size_t axis, const Tensor& out) {
  const Tensor& part = parts[0]->tensor;
  call.require(part.rank() + 1 == out.rank());
  if (!out.resizable || call.error() != Error::kOk) return;
  Extents sizes{};
  for (size_t i = 0; i < out.rank(); ++i)
    sizes[i] = i == axis ? static_cast<int64_t>(parts.size()) : part.sizes()[i < axis ? i : i - 1];
  call.fit(out, {sizes.data(), out.rank()});
}

}  // namespace

// (tensors, dim, out)
Error stack(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const std::span<EValue* const> parts = call.tensors(0);
  const Tensor& out = call.out(2);
  const size_t axis = call.axis(1, out.rank());
  CARINA_RT_TRY(call.error());
  if (!parts.empty() && readable(parts[0])) fit_to_stack(call, parts, axis, out);
  CARINA_RT_TRY(call.error());
  if (static_cast<int64_t>(parts.size()) != out.sizes()[axis]) return Error::kInvalidArgument;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!readable(parts[i])) return Error::kInvalidArgument;
    CARINA_RT_TRY(paste_index(parts[i]->tensor, out, axis, static_cast<int64_t>(i)));
  }
  return Error::kOk;
}

namespace {

// The size of part `index`: an entry of the list, or one size for all, where the last part has the rest.
int64_t part_size(const EValue& sizes, size_t index, int64_t left) {
  if (sizes.kind == EValue::Kind::kIntList) return index < sizes.integers.size() ? sizes.integers[index] : -1;
  return std::min(sizes.to_int(), left);
}

// Splits `in` along `axis`. Each part has the size of its output; a resizable output gets its size.
Error split(Call& call, const Tensor& in, const EValue& sizes, size_t axis, std::span<EValue* const> outs) {
  int64_t begin = 0;
  for (size_t i = 0; i < outs.size(); ++i) {
    const EValue* out = outs[i];
    if (!writable(out) || out->tensor.rank() != in.rank()) return Error::kInvalidArgument;
    call.fit_along(out->tensor, in, axis, part_size(sizes, i, in.sizes()[axis] - begin));
    CARINA_RT_TRY(call.error());
    const int64_t count = out->tensor.sizes()[axis];
    if (count > in.sizes()[axis] - begin) return Error::kInvalidArgument;
    CARINA_RT_TRY(copy_range(in, axis, {.begin = begin, .count = count, .step = 1}, out->tensor));
    begin += count;
  }
  return begin == in.sizes()[axis] ? Error::kOk : Error::kInvalidArgument;
}

}  // namespace

// (input, split size or sizes, dim, outs)
Error split_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(2, in.rank());
  const std::span<EValue* const> outs = call.tensors(3);
  CARINA_RT_TRY(call.error());
  return split(call, in, *arguments[1], axis, outs);
}

// (input, dim, outs)
Error unbind_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const size_t axis = call.axis(1, in.rank());
  const std::span<EValue* const> outs = call.tensors(2);
  CARINA_RT_TRY(call.error());
  if (static_cast<int64_t>(outs.size()) != in.sizes()[axis]) return Error::kInvalidArgument;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!writable(outs[i])) return Error::kInvalidArgument;
    call.fit_without(outs[i]->tensor, in, axis);
    CARINA_RT_TRY(call.error());
    CARINA_RT_TRY(copy_index(in, axis, static_cast<int64_t>(i), outs[i]->tensor));
  }
  return Error::kOk;
}

namespace {

void fit_to_padding(Call& call, const Tensor& in, std::span<const int64_t> pad, const Tensor& out) {
  if (!out.resizable) return;
  Extents sizes = layout_of(in).sizes;
  for (size_t entry = 0; entry < pad.size(); ++entry) {
    int64_t& size = sizes[in.rank() - 1 - entry / 2];
    call.require(!__builtin_add_overflow(size, pad[entry], &size));
  }
  call.fit(out, {sizes.data(), in.rank()});
}

}  // namespace

// (input, pad, value, out). `pad` has the sizes before and after the last axis, then of the previous axis, and so on.
// Negative numbers remove elements.
Error constant_pad_nd(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> pad = call.integers(1);
  static_cast<void>(call.number(2));
  const Tensor& out = call.out(3);
  call.require(in.rank() == out.rank() && in.type == out.type && pad.size() % 2 == 0 && pad.size() / 2 <= in.rank());
  CARINA_RT_TRY(call.error());
  fit_to_padding(call, in, pad, out);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  const ScalarTensor value(*arguments[2], in);
  Walk<2> walk;
  for (size_t axis = 0; axis < from.rank; ++axis) {
    const size_t entry = 2 * (from.rank - 1 - axis);
    const int64_t before = entry < pad.size() ? pad[entry] : 0;
    const int64_t after = entry < pad.size() ? pad[entry + 1] : 0;
    constexpr int64_t kMaxPad = std::numeric_limits<int32_t>::max();
    if (before < -kMaxPad || before > kMaxPad || after < -kMaxPad || after > kMaxPad ||
        to.sizes[axis] != from.sizes[axis] + before + after)
      return Error::kInvalidArgument;
    const int64_t skipped = std::max<int64_t>(-before, 0);
    const int64_t first = std::max<int64_t>(before, 0);
    const int64_t count = std::max<int64_t>(std::min(from.sizes[axis] - skipped, to.sizes[axis] - first), 0);
    walk.add_axis(count, {from.strides[axis], to.strides[axis]});
    if (count > 0) walk.at[0] += skipped * from.strides[axis];
    if (count > 0) walk.at[1] += first * to.strides[axis];
  }
  int64_t element = 0;  // storage for an element of any type
  const Tensor one(out.type, {}, {}, &element);
  CARINA_RT_TRY(map_unary(value.tensor(), one, [](auto a) { return a; }));
  Walk<2> all;
  all.add_axis(static_cast<int64_t>(out.elements()), {0, 1});
  copy_elements(one, out, all);
  copy_elements(in, out, walk);
  return Error::kOk;
}

}  // namespace carina::runtime
