#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// REDUCE_SUM, and the largest and smallest elements: along the channels, or along any other axis, which a window
// spans.
namespace carina::plan {

Operand with_shape(Selection& s, const Operand& operand, const Shape& shape) {
  Operand result = operand;
  if (auto view = reshaped(operand.view, shape)) {
    result.view = *std::move(view);
    return result;
  }
  result.view = s.new_tensor("dense", operand.view.shape(), operand.type);
  emit_copy(s, result.view, operand.view, operand.type);
  result.view = *reshaped(result.view, shape);
  return result;
}

namespace {

// [A, K, M, C] for an axis K that is not the innermost: what lies before it, it, what lies between it and the channels.
std::array<int64_t, 4> split_at(const Shape& shape, size_t axis) {
  std::array<int64_t, 4> parts{1, shape[axis], 1, shape[shape.rank() - 1]};
  for (size_t i = 0; i < axis; ++i) parts[0] *= shape[i];
  for (size_t i = axis + 1; i + 1 < shape.rank(); ++i) parts[2] *= shape[i];
  return parts;
}

// The input as [N,H,W,C], the kernel that spans the reduced axis, and the result's shape.
struct Laid {
  Operand ifm;
  Kernel kernel;
  Shape out;
};
Laid lay_for_window(Selection& s, const Operand& x, size_t axis) {
  const auto [a, k, m, c] = split_at(x.view.shape(), axis);
  Laid laid{.ifm = with_shape(s, x, {a, k, m, c}), .kernel = {.height = k}, .out = {a, 1, m, c}};
  View& view = laid.ifm.view;
  // A row of results fills the multipliers better than a column, which is what wider kernels leave.
  const bool is_row = k <= npu::kMaxKernelHeight && a * m > 1;
  if (m == 1 && is_row) {
    view = *reshaped(permuted(view, std::array<int64_t, 4>{1, 2, 0, 3}), {1, k, a, c});
    laid.out = {1, 1, a, c};
  } else if (!is_row) {
    view = permuted(view, std::array<int64_t, 4>{0, 2, 1, 3});
    laid.kernel = {.width = k};
    laid.out = {a, m, 1, c};
    if (m == 1) {  // one window column per row of A
      view = *reshaped(view, {1, a, k, c});
      laid.out = {1, a, 1, c};
    }
  }
  return laid;
}
// The axis last where its elements are side by side in memory, whatever the shape says; the order of the others, and so
// of the result, is the same.
size_t lay_innermost(Operand& x, size_t axis) {
  const size_t last = x.view.rank() - 1;
  if (axis == last || x.view.axes[axis].size == 1 || x.view.axes[axis].stride != 1) return axis;
  std::vector<int64_t> perms;
  for (size_t i = 0; i <= last; ++i) {
    if (i != axis) perms.push_back(static_cast<int64_t>(i));
  }
  perms.push_back(static_cast<int64_t>(axis));
  x.view = permuted(x.view, perms);
  return last;
}

bool is_innermost(const Operand& x, size_t axis) {
  return axis + 1 == x.view.rank();
}
int64_t rows_of(const Operand& x) {
  return x.view.elements() / x.view.axes.back().size;
}

// Halves the axis by pairs until one element is left. Of an odd number, the element in the middle is in both halves of
// a maximum or minimum; a sum adds it afterwards.
void reduce_by_pairs(Selection& s, const View& dst, Operand x, size_t axis, npu::ElementwiseMode mode,
                     const Epilogue& epilogue) {
  const Epilogue store = store_only({}, x.type);
  const auto part = [&](const View& view, int64_t start, int64_t size) {
    return Operand{.view = sliced_axis(view, axis, start, size), .type = x.type};
  };
  const auto combine = [&](const View& out, const Operand& a, const Operand& b, const Epilogue& how) {
    emit_elementwise(s, out, {.mode = mode, .a = a, .b = b, .operands = {}}, how);
  };
  while (x.view.axes[axis].size > 2) {
    const bool is_sum = mode == npu::ElementwiseMode::ADD;
    const int64_t size = x.view.axes[axis].size, half = is_sum ? size / 2 : (size + 1) / 2;
    Shape shape = x.view.shape();
    shape[axis] = size == 3 ? 2 : half;
    const View next = s.new_tensor("partial", shape, x.type);
    combine(sliced_axis(next, axis, 0, half), part(x.view, 0, half), part(x.view, is_sum ? half : size - half, half),
            store);
    if (!is_sum) {
      // nothing is left over
    } else if (size == 3) {
      emit_copy(s, sliced_axis(next, axis, 1, 1), sliced_axis(x.view, axis, 2, 1), x.type);
    } else if (size % 2 != 0) {
      combine(sliced_axis(next, axis, 0, 1), part(next, 0, 1), part(x.view, size - 1, 1), store);
    }
    x.view = next;
  }
  if (x.view.axes[axis].size == 2) return combine(dst, part(x.view, 0, 1), part(x.view, 1, 1), epilogue);
  if (x.type.bits == 32 && epilogue.scaled) return emit_scale_32(s, dst, x.view, epilogue);
  emit_copy(s, dst, x.view, x.type);
}

// The same factors with multipliers as small as possible: the scales of 16-bit products have 15 bits, too few for 2^30.
Epilogue with_short_scales(Epilogue epilogue) {
  for (ScaleFactor& factor : epilogue.factors) factor = simplified({factor, epilogue.rounding});
  return epilogue;
}

// A sum of narrow elements over a window. With a scale to narrow results, it is an average pool whose "1/n" is that
// scale, and the sum of one element is a RESCALE of it. Otherwise it is a depthwise kernel of ones, whose scales of
// 16-bit elements may have 15 bits only.
Result<void> sum_window(Selection& s, const Operand& ifm, const View& out, const Kernel& kernel,
                        const Epilogue& epilogue) {
  const bool narrow = epilogue.type.bits <= 16;
  if (narrow && kernel.taps() == 1) {
    emit_requantize(s, out, ifm, epilogue);
    return {};
  }
  if (narrow && !simplified(epilogue.scaling()).is_unit()) {
    return emit_pool(s,
                     {.kind = StepKind::kPool,
                      .pool = npu::PoolingMode::AVERAGE,
                      .ifm = ifm,
                      .ofm = out,
                      .kernel = kernel,
                      .padding = {}},
                     epilogue);
  }
  const int64_t channels = out.axes[3].size;
  const Epilogue how = with_short_scales(epilogue);
  CARINA_TRY(const WeightsId ones,
             add_weights(s,
                         {.name = {},
                          .out_channels = channels,
                          .height = kernel.height,
                          .width = kernel.width,
                          .values = std::vector<int16_t>(static_cast<size_t>(channels * kernel.taps()), 1)},
                         how));
  return emit_window(
      s, {.kind = StepKind::kDepthwise, .ifm = ifm, .ofm = out, .kernel = kernel, .padding = {}, .weights = ones}, how);
}

Result<void> sum_channels(Selection& s, const Operand& x, const View& out, const Epilogue& epilogue) {
  if (x.type.bits == 32 || s.family().abilities.sums_narrow_channels) {
    return emit_window(s,
                       {.kind = StepKind::kPool,
                        .pool = npu::PoolingMode::REDUCE_SUM,
                        .ifm = x,
                        .ofm = out,
                        .kernel = {},
                        .padding = {}},
                       epilogue);
  }
  const int64_t depth = x.view.axes[3].size;
  CARINA_TRY(const WeightsId ones, add_weights(s,
                                               {.name = {},
                                                .out_channels = 1,
                                                .in_channels = depth,
                                                .values = std::vector<int16_t>(static_cast<size_t>(depth), 1)},
                                               epilogue));
  return emit_window(s, {.kind = StepKind::kConv, .ifm = x, .ofm = out, .kernel = {}, .padding = {}, .weights = ones},
                     epilogue);
}

bool sums_as_they_are(const Operand& x) {
  return x.type.bits == 32 || simplified(x.scaling).is_unit();
}

// Ones that a sum may be multiplied with.
constexpr int64_t kMaxOnes = int64_t{1} << 24;
bool fits_kernel(int64_t height, int64_t width, int64_t channels) {
  return height <= npu::kMaxKernelHeight && height * width <= npu::kMaxKernelElements &&
         height * width * channels <= kMaxOnes;
}

// REDUCE_SUM over H and W one after the other is one window.
std::optional<ir::NodeId> other_spatial_axis(Selection& s, const Operand& x, size_t axis) {
  if (x.view.rank() != 4 || x.type.bits > 16 || (axis != 1 && axis != 2)) return std::nullopt;
  const ir::NodeId next = s.sole_user(s.output());
  if (!next.valid() || s.graph().nodes[next.index()].op != ir::Op(TosaOp::REDUCE_SUM)) return std::nullopt;
  if (s.graph().nodes[next.index()].attributes.integer("axis") != static_cast<int64_t>(3 - axis)) return std::nullopt;
  if (!fits_kernel(x.view.axes[1].size, x.view.axes[2].size, x.view.axes[3].size)) return std::nullopt;
  return next;
}

Result<void> sum_spatial(Selection& s, const Operand& x, ir::NodeId second) {
  s.absorb(second);
  const Epilogue epilogue =
      s.follow(s.graph().nodes[second.index()].outputs[0], kSigned32, {.scale = EpilogueRules::Scale::kGlobal});
  const Shape shape = x.view.shape();
  const View out = s.open(epilogue.value, {shape[0], 1, 1, shape[3]});
  CARINA_CHECKED(sum_window(s, x, out, {.height = shape[1], .width = shape[2]}, epilogue));
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

Result<void> sum_axis(Selection& s, const Operand& x, size_t axis, ir::ValueId result) {
  const bool innermost = is_innermost(x, axis);
  const EpilogueRules rules{.scale = EpilogueRules::Scale::kGlobal, .wide_input = x.type.bits == 32 && !innermost};
  const Epilogue epilogue = s.follow(result, kSigned32, rules);
  const int64_t size = x.view.axes[axis].size;
  if (innermost) {
    const View out = s.open(epilogue.value, {1, 1, rows_of(x), 1});
    CARINA_CHECKED(sum_channels(s, with_shape(s, x, {1, 1, rows_of(x), size}), out, epilogue));
    s.close(epilogue.value, out, epilogue.type);
  } else if (x.type.bits == 32) {
    const View out = s.open(epilogue.value, s.shape(result));
    reduce_by_pairs(s, out, x, axis, npu::ElementwiseMode::ADD, epilogue);
    s.close(epilogue.value, out, epilogue.type);
  } else {
    const Laid laid = lay_for_window(s, x, axis);
    const View out = s.open(epilogue.value, laid.out);
    CARINA_CHECKED(sum_window(s, laid.ifm, out, laid.kernel, epilogue));
    s.close(epilogue.value, out, epilogue.type);
  }
  return {};
}

// REDUCE_SUMs one after the other, whose axes are one axis of `x`.
struct JoinedAxes {
  Operand x;
  size_t axis = 0;
  std::vector<ir::NodeId> nodes;  // the ones after the current one
};

// Whether one operation, other than additions of pairs, sums up the axis.
bool sums_at_once(const Operand& x, size_t axis) {
  const int64_t size = x.view.axes[axis].size;
  if (is_innermost(x, axis)) return size <= npu::kMaxAxis;
  return x.type.bits <= 16 && fits_kernel(1, size, x.view.axes.back().size);
}

// The shape with the axes from `first` to `last` as one.
Shape with_joined(const Shape& shape, size_t first, size_t last) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i <= first || i > last)
      sizes.push_back(shape[i]);
    else
      sizes.back() *= shape[i];
  }
  return Shape(sizes);
}

// As many of the REDUCE_SUMs that follow as sum up the axes beside that of the current one.
//   Example: sums of [4,5,6,7] along the axes 1, 2 and 3 are sums of [4,210] along axis 1.
JoinedAxes joined_axes(const Selection& s, const Operand& x, size_t axis) {
  JoinedAxes joined{.x = x, .axis = axis, .nodes = {}};
  size_t first = axis, last = axis;
  std::vector<ir::NodeId> nodes;
  ir::NodeId next = s.sole_user(s.output());
  for (; next.valid() && s.graph()[next].op == ir::Op(TosaOp::REDUCE_SUM);
       next = s.sole_user(s.graph()[next].outputs[0])) {
    const auto other = static_cast<size_t>(s.graph()[next].attributes.integer("axis"));
    if (other + 1 != first && other != last + 1) break;
    first = std::min(first, other);
    last = std::max(last, other);
    nodes.push_back(next);
    const auto view = reshaped(x.view, with_joined(x.view.shape(), first, last));
    if (!view) continue;
    Operand whole = x;
    whole.view = *view;
    const size_t laid = lay_innermost(whole, first);
    if (sums_at_once(whole, laid)) joined = {.x = std::move(whole), .axis = laid, .nodes = nodes};
  }
  return joined;
}

}  // namespace

Result<void> select_reduce_sum(Selection& s) {
  if (s.value(s.output()).dtype != DType::kInt32)
    return s.reject("the type is not supported", "int32", std::string(name_of(s.value(s.output()).dtype)));
  const auto axis = static_cast<size_t>(s.node().attributes.integer("axis"));
  Operand x = s.cheapest(s.input(0));
  if (!sums_as_they_are(x)) x = s.plain(s.input(0));
  if (const JoinedAxes joined = joined_axes(s, x, axis); !joined.nodes.empty()) {
    for (const ir::NodeId node : joined.nodes) s.absorb(node);
    return sum_axis(s, joined.x, joined.axis, s.graph()[joined.nodes.back()].outputs[0]);
  }
  if (x.type.bits <= 16 && !is_innermost(x, axis) && !fits_kernel(1, x.view.axes[axis].size, x.view.axes.back().size))
    x = s.plain(s.input(0));
  if (const auto second = other_spatial_axis(s, x, axis)) return sum_spatial(s, x, *second);
  const size_t laid = lay_innermost(x, axis);
  return sum_axis(s, x, laid, s.output());
}

namespace {

// The rows of a contiguous innermost axis, of which maxima of halves leave `left` elements.
Operand halved_rows(Selection& s, const Operand& x, int64_t left) {
  const int64_t count = rows_of(x), size = x.view.axes.back().size;
  Operand rows = with_shape(s, with_dense_channels(s, x), {count, size});
  for (int64_t now = size; now > left;) {
    now = (now + 1) / 2;
    const View half = s.new_tensor("largest", {count, now}, x.type);
    emit_halves(s, half, rows, npu::ElementwiseMode::MAX);
    rows.view = half;
  }
  return rows;
}

// How many elements of a row maxima of halves should leave to a window. Of another axis: all.
int64_t channels_left(const Selection& s, const Operand& x, size_t axis) {
  const int64_t size = x.view.axes[axis].size;
  return is_innermost(x, axis) ? channels_after_halving(s, rows_of(x), size, x.type) : size;
}

// The axis as that of a window; of the channels, of one-channel pixels, after maxima of halves.
Result<Laid> lay_for_extreme(Selection& s, const Operand& x, size_t axis, int64_t left) {
  if (!is_innermost(x, axis)) return lay_for_window(s, x, axis);
  CARINA_TRY(const Operand fewer, largest_of_groups(s, halved_rows(s, x, left)));
  const int64_t rows = rows_of(x);
  const int64_t size = fewer.view.axes[1].size;
  return Laid{.ifm = with_shape(s, fewer, {1, rows, size, 1}), .kernel = {.width = size}, .out = {1, rows, 1, 1}};
}

Result<void> extreme_window(Selection& s, npu::PoolingMode mode, const Laid& laid, const View& out,
                            const Epilogue& epilogue) {
  return emit_pool(
      s, {.kind = StepKind::kPool, .pool = mode, .ifm = laid.ifm, .ofm = out, .kernel = laid.kernel, .padding = {}},
      epilogue);
}

Shape without(Shape shape, size_t axis) {
  shape[axis] = 1;
  return shape;
}

}  // namespace

Result<Operand> emit_largest(Selection& s, const Operand& x, size_t axis) {
  CARINA_TRY(const Laid laid, lay_for_extreme(s, x, axis, channels_left(s, x, axis)));
  if (laid.kernel.taps() == 1) return with_shape(s, laid.ifm, without(x.view.shape(), axis));
  const View out = s.new_tensor("largest", laid.out, x.type);
  CARINA_CHECKED(extreme_window(s, npu::PoolingMode::MAX, laid, out, store_only({}, x.type)));
  return Operand{.view = *reshaped(out, without(x.view.shape(), axis)), .type = x.type};
}

Result<void> select_reduce_extreme(Selection& s) {
  auto axis = static_cast<size_t>(s.node().attributes.integer("axis"));
  const ir::Op op = s.node().op;
  const bool is_max = op == ir::Op(TosaOp::REDUCE_MAX) || op == ir::Op(TosaOp::REDUCE_ANY);
  Operand x = s.plain(s.input(0));
  x.type.is_signed = true;  // bools are 0 and 1 either way
  if (is_max && x.type.bits <= 16) axis = lay_innermost(x, axis);
  const bool in_rows = is_innermost(x, axis);
  if (is_max && x.type.bits <= 16 && (!in_rows || rows_of(x) <= npu::kMaxAxis)) {
    const int64_t left = channels_left(s, x, axis);
    if (in_rows && left == 1 && x.view.axes[axis].size > 1) {
      const View out = s.open(s.output(), {rows_of(x), 1});
      emit_halves(s, out, halved_rows(s, x, 2), npu::ElementwiseMode::MAX);
      s.close(s.output(), out, x.type);
      return {};
    }
    const Epilogue epilogue = s.follow(s.output(), x.type, {});
    CARINA_TRY(const Laid laid, lay_for_extreme(s, x, axis, left));
    const View out = s.open(epilogue.value, laid.out);
    CARINA_CHECKED(extreme_window(s, npu::PoolingMode::MAX, laid, out, epilogue));
    s.close(epilogue.value, out, epilogue.type);
    return {};
  }
  const int64_t size = x.view.axes[axis].size;
  if (!is_max && !in_rows && x.type.bits <= 16 && s.family().abilities.min_pools && size <= npu::kMaxKernelElements) {
    const Laid laid = lay_for_window(s, x, axis);
    const View out = s.open(s.output(), laid.out);
    CARINA_CHECKED(extreme_window(s, npu::PoolingMode::MIN, laid, out, store_only(s.output(), x.type)));
    s.close(s.output(), out, x.type);
    return {};
  }
  const Epilogue epilogue = store_only(s.output(), x.type);
  const View out = s.open(epilogue.value, s.shape(s.output()));
  reduce_by_pairs(s, out, x, axis, is_max ? npu::ElementwiseMode::MAX : npu::ElementwiseMode::MIN, epilogue);
  s.close(epilogue.value, out, epilogue.type);
  return {};
}

}  // namespace carina::plan
