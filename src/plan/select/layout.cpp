#include <algorithm>
#include <array>

#include "facts/npu_targets.h"
#include "plan/select/emit.h"
#include "plan/select/rules.h"
#include "plan/select/weights.h"

// RESHAPE, IDENTITY, SLICE, CONCAT, PAD, TILE, REVERSE and TRANSPOSE: other views of the same elements where strides can
// express it, copies where not.
namespace carina::plan {
namespace {

// The input's elements side by side.
Operand dense(Selection& s, const Operand& x) {
  if (is_dense(x.view)) return x;
  Operand copy = x;
  copy.view = s.new_tensor("dense", x.view.shape(), x.type);
  emit_copy(s, copy.view, x.view, x.type);
  return copy;
}

}  // namespace

Result<void> select_reshape(Selection& s) {
  Operand x = s.cheapest(s.input(0));
  const Shape shape = s.shape(s.output());
  auto view = reshaped(x.view, shape);
  if (!view) {
    x = dense(s, x);
    view = reshaped(x.view, shape);
  }
  x.view = *std::move(view);
  s.define(s.output(), x);
  return {};
}

Result<void> select_slice(Selection& s) {
  CARINA_TRY(const std::vector<int64_t> start, s.constant(s.input(1), "start"));
  CARINA_TRY(const std::vector<int64_t> size, s.constant(s.input(2), "size"));
  Operand x = s.cheapest(s.input(0));
  if (start.size() < x.view.rank() || size.size() < x.view.rank()) return s.refuse("start and size need one number per axis");
  for (size_t i = 0; i < x.view.rank(); ++i) {
    if (start[i] < 0 || size[i] < 1 || start[i] > x.view.axes[i].size - size[i]) return s.refuse("the slice lies outside its input");
  }
  x.view = sliced(x.view, start, size);
  s.define(s.output(), x);
  return {};
}

Result<void> select_concat(Selection& s) {
  const auto axis = static_cast<size_t>(s.node().attributes.integer("axis"));
  const View whole = s.destination(s.output());
  ElementType type;
  int64_t start = 0;
  for (const ir::ValueId id : s.node().inputs) {
    const Operand part = s.plain(id);
    const View place = sliced_axis(whole, axis, start, s.shape(id)[axis]);
    if (part.view != place) emit_copy(s, place, part.view, part.type);
    start += s.shape(id)[axis];
    type = part.type;
  }
  s.define(s.output(), {.view = whole, .type = type});
  return {};
}

Result<void> select_pad(Selection& s) {
  CARINA_TRY(const std::vector<int64_t> padding, s.constant(s.input(1), "padding"));
  CARINA_TRY(const int64_t fill, s.constant_scalar(s.input(2), "padding value"));
  const Operand x = s.plain(s.input(0));
  if (padding.size() < 2 * x.view.rank()) return s.refuse("padding needs two numbers per axis");
  PendingPad pad{.source = x, .before = {}, .after = {}, .fill = fill};
  for (size_t i = 0; i < x.view.rank(); ++i) {
    pad.before.push_back(padding[2 * i]);
    pad.after.push_back(padding[2 * i + 1]);
  }
  if (std::ranges::all_of(padding, [](int64_t p) { return p == 0; })) {
    s.define(s.output(), x);
  } else {
    s.define_pad(s.output(), std::move(pad));
  }
  return {};
}

Result<void> select_tile(Selection& s) {
  const Operand x = s.plain(s.input(0));
  const View out = s.destination(s.output());
  emit_tiled(s, out, x.view, x.type);
  s.define(s.output(), {.view = out, .type = x.type});
  return {};
}

Result<void> select_reverse(Selection& s) {
  const Operand x = s.plain(s.input(0));
  const View out = s.destination(s.output());
  emit_copy(s, reversed(out, static_cast<size_t>(s.node().attributes.integer("axis"))), x.view, x.type);
  s.define(s.output(), {.view = out, .type = x.type});
  return {};
}

namespace {

// dst[.., i] = src[.., i] for an innermost axis that is not side by side in src: the axis is laid as the height of an image
// of one-channel pixels, and a kernel as high as the image whose o-th filter picks row o puts it into the channels. Each
// operation moves whole rows, where a pool could only move one channel at a time.
Result<void> gather_channels(Selection& s, const View& dst, const View& src, ElementType type) {
  const size_t last = dst.rank() - 1;
  const int64_t rows = dst.axes[last].size;
  for (int64_t first = 0; first < rows; first += npu::kMaxKernelHeight) {
    const int64_t count = std::min<int64_t>(npu::kMaxKernelHeight, rows - first);
    Weights weights{.name = "transpose", .out_channels = count, .height = count, .values = std::vector<int16_t>(static_cast<size_t>(count * count), 0)};
    for (int64_t i = 0; i < count; ++i) weights.values[static_cast<size_t>(i * count + i)] = 1;
    Epilogue store = store_only({}, type);
    store.scaled = true;
    CARINA_TRY(const WeightsId pick, add_weights(s, std::move(weights), store));
    // The longest other axis becomes the width; the rest is unrolled.
    const size_t width = static_cast<size_t>(std::ranges::max_element(dst.axes.begin(), dst.axes.end() - 1, {}, &Axis::size) - dst.axes.begin());
    std::vector<std::pair<View, View>> todo{{sliced_axis(dst, last, first, count), sliced_axis(src, last, first, count)}};
    for (size_t axis = 0; axis < last; ++axis) {
      if (axis == width) continue;
      std::vector<std::pair<View, View>> parts;
      for (const auto& [to, from] : todo) {
        for (int64_t i = 0; i < to.axes[axis].size; ++i) parts.emplace_back(sliced_axis(to, axis, i, 1), sliced_axis(from, axis, i, 1));
      }
      todo = std::move(parts);
    }
    for (const auto& [to, from] : todo) {
      const View ofm{.tensor = to.tensor, .offset = to.offset, .axes = {{1, 0}, {1, 0}, to.axes[width], to.axes[last]}};
      const View ifm{.tensor = from.tensor, .offset = from.offset, .axes = {{1, 0}, from.axes[last], from.axes[width], {1, 0}}};
      CARINA_CHECKED(emit_window(s, {.kind = OperationKind::kConv, .ifm = {.view = ifm, .type = type}, .ofm = ofm, .kernel = {.height = count},
                                     .padding = {}, .weights = pick},
                                 store));
    }
  }
  return {};
}

// Axes of size 1 dropped and neighbours merged that are neighbours in both.
void merge_axes(View& dst, View& src) {
  std::vector<Axis> to, from;
  for (size_t i = 0; i < dst.rank(); ++i) {
    const Axis& t = dst.axes[i];
    const Axis& f = src.axes[i];
    if (t.size == 1) continue;
    if (!to.empty() && to.back().stride == t.stride * t.size && from.back().stride == f.stride * f.size && to.back().size * t.size <= npu::kMaxAxis) {
      to.back() = {.size = to.back().size * t.size, .stride = t.stride};
      from.back() = {.size = from.back().size * f.size, .stride = f.stride};
    } else {
      to.push_back(t);
      from.push_back(f);
    }
  }
  dst.axes = std::move(to);
  src.axes = std::move(from);
}

}  // namespace

Result<void> select_transpose(Selection& s) {
  Operand x = s.cheapest(s.input(0));
  x.view = permuted(x.view, s.node().attributes.integers("perms"));
  View dst{}, src = x.view;
  const auto innermost = std::ranges::find_if(x.view.axes.rbegin(), x.view.axes.rend(), [](const Axis& a) { return a.size != 1; });
  if (innermost == x.view.axes.rend() || innermost->stride == 1) {
    s.define(s.output(), x);  // channels still stand side by side: strides do the rest
    return {};
  }
  const bool as_it_is = x.is_plain() && x.type.bytes() == static_cast<int64_t>(element_bytes(s.value(s.output()).dtype));
  const View out = as_it_is ? s.destination(s.output()) : s.new_tensor("transposed", x.view.shape(), x.type);
  dst = out;
  merge_axes(dst, src);
  const bool long_axis = std::ranges::any_of(dst.axes, [](const Axis& a) { return a.size > npu::kMaxAxis; });
  if (x.type.bits <= 16 && dst.rank() >= 2 && !long_axis && dst.axes.back().stride == 1) {
    CARINA_CHECKED(gather_channels(s, dst, src, x.type));
  } else {
    emit_copy(s, out, x.view, x.type);
  }
  x.view = out;
  s.define(s.output(), x);
  return {};
}

}  // namespace carina::plan
