#include <algorithm>
#include <array>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// RESHAPE, IDENTITY, SLICE, CONCAT, PAD, TILE, REVERSE and TRANSPOSE. They become views of the same elements if strides
// can express them, otherwise copies.
namespace carina::plan {
namespace {

// The input's elements, contiguous.
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
  s.transpose_for_parts(s.input(0));
  Operand x = s.cheapest(s.input(0));
  if (start.size() < x.view.rank() || size.size() < x.view.rank())
    return s.reject("start and size need one number per axis");
  for (size_t i = 0; i < x.view.rank(); ++i) {
    if (start[i] < 0 || size[i] < 1 || start[i] > x.view.axes[i].size - size[i])
      return s.reject("the slice lies outside its input");
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
    const View destination = sliced_axis(whole, axis, start, s.shape(id)[axis]);
    if (!same_elements(part.view, destination)) emit_copy(s, destination, part.view, part.type);
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
  if (padding.size() < 2 * x.view.rank()) return s.reject("padding needs two numbers per axis");
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

// TRANSPOSE is a view with another axis order. A reader that needs contiguous channels copies it.
Result<void> select_transpose(Selection& s) {
  s.transpose_for_parts(s.input(0));
  Operand x = s.cheapest(s.input(0));
  x.view = permuted(x.view, s.node().attributes.integers("perms"));
  s.define(s.output(), x);
  return {};
}

}  // namespace carina::plan
