#include <algorithm>
#include <array>
#include <functional>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/cost/kernel_cost.h"
#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"

// Convolutions with a stride beyond the NPU's limit of 3 (patches of an image transformer), and first layers, whose few
// channels leave multipliers idle. Elements of a window become channels, in one of three ways:
//
// - Copied patches. Example: 16x16 with stride 16 on [1,224,224,3]: a copy to [1,14,14,768], then a 1x1 convolution.
// - Folded columns, without a copy. Example: 3x3 with stride 2 and padding 1, 3 channels: two pixels become one with 6
//   channels. The kernel begins one pixel before a pair, so it has 2 pairs: 3x2 taps, stride 1 along the row. Of 8
//   channels that a microblock reads, 6 are used instead of 3: 48 products per result instead of 72.
// - Windows of rows. Each pixel has the elements under a row of the window as its channels, and pixels overlap in
//   memory. Example: the same layer reads 9 channels with a 3x1 kernel. Only padding on the left and right has to be
//   copied.
//
// Windows of a depthwise convolution with such a stride are copied beside each other, which is a stride of their size:
// 3x3 windows with stride 5 have stride 3 then.
//
// The cost function decides between them and the plain convolution. Weights are permuted at compile time. Time: the
// weights, and one estimate per form.
namespace carina::plan {
namespace {

constexpr size_t kN = 0, kH = 1, kW = 2, kC = 3;

// One spatial axis divided into groups of `step` elements, of which `phases` become channels.
struct Folding {
  int64_t step = 1;
  int64_t phases = 1;
  int64_t taps = 1;    // of the remaining kernel, in groups
  int64_t groups = 1;  // read by outputs
  int64_t lead = 0;    // elements of the first group before the kernel
};

bool is_too_large(int64_t stride, int64_t extent, int64_t outputs) {
  return stride > npu::kMaxStride && extent > 1 && outputs > 1;
}

// Kernels no larger than the stride keep only the elements that they read.
Folding folding_of(int64_t stride, int64_t taps, int64_t outputs) {
  const int64_t groups = ceil_div(taps, stride);
  return {.step = stride, .phases = std::min(taps, stride), .taps = groups, .groups = outputs + groups - 1};
}
Folding unfolded(int64_t stride, int64_t taps, int64_t outputs) {
  return {.taps = taps, .groups = (outputs - 1) * stride + taps};
}

// Channels of a patch in the order in which they stand in memory, so that runs are long: axes 0 to 2 are row, column
// and channel.
std::array<size_t, 3> inner_order(const View& view) {
  std::array<size_t, 3> order{0, 1, 2};
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return view.axes[i + 1].stride; });
  return order;
}

// w[o][by][bx][patch] from w[o][ky][kx][c]; taps outside the kernel are zero.
std::vector<int16_t> patch_weights(const Convolution& c, const Folding& y, const Folding& x,
                                   const std::array<size_t, 3>& order) {
  const int64_t out = c.weight_shape[0], height = c.weight_shape[1], width = c.weight_shape[2], in = c.weight_shape[3];
  const std::array<int64_t, 3> sizes{y.phases, x.phases, in};
  const std::vector<int16_t> all = c.weights.widened();
  std::vector<int16_t> weights;
  weights.reserve(static_cast<size_t>(out * y.taps * x.taps * y.phases * x.phases * in));
  std::array<int64_t, 3> at{};
  const auto value = [&](int64_t o, int64_t by, int64_t bx) -> int16_t {
    const int64_t ky = by * y.step + at[0], kx = bx * x.step + at[1] - x.lead;
    if (ky >= height || kx < 0 || kx >= width) return 0;
    return all[static_cast<size_t>(((o * height + ky) * width + kx) * in + at[2])];
  };
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t by = 0; by < y.taps; ++by) {
      for (int64_t bx = 0; bx < x.taps; ++bx) {
        for (at[order[0]] = 0; at[order[0]] < sizes[order[0]]; ++at[order[0]]) {
          for (at[order[1]] = 0; at[order[1]] < sizes[order[1]]; ++at[order[1]]) {
            for (at[order[2]] = 0; at[order[2]] < sizes[order[2]]; ++at[order[2]]) weights.push_back(value(o, by, bx));
          }
        }
      }
    }
  }
  return weights;
}

// The input with its padding and with whole groups after it, where the groups reach further than the input.
View padded(Selection& s, const Convolution& c, const Folding& y, const Folding& x) {
  const auto reach = [](const Folding& f) { return (f.groups - 1) * f.step + f.phases; };
  const View& view = c.ifm.view;
  const int64_t height = view.axes[kH].size, width = view.axes[kW].size;
  const int64_t bottom = std::max<int64_t>(reach(y) - c.padding.top - height, 0);
  const int64_t right = std::max<int64_t>(reach(x) - c.padding.left - width, 0);
  if (c.padding.top + c.padding.left + bottom + right == 0) return view;
  const Shape shape = view.shape();
  const View out = s.new_tensor(
      "padded", {shape[0], c.padding.top + height + bottom, c.padding.left + width + right, shape[3]}, c.ifm.type);
  emit_pad(s, out,
           {.source = {.view = view, .type = c.ifm.type},
            .before = {0, c.padding.top, c.padding.left, 0},
            .after = {0, bottom, right, 0},
            .fill = c.ifm.zero_point});
  return out;
}

// [N, groups, groups, phase, phase, C] of the input.
View grouped(const View& view, const Folding& y, const Folding& x) {
  const auto group = [](const Axis& axis, const Folding& f) { return Axis{f.groups, axis.stride * f.step}; };
  const auto phase = [](const Axis& axis, const Folding& f) { return Axis{f.phases, axis.stride}; };
  return {.tensor = view.tensor,
          .offset = view.offset,
          .axes = {view.axes[kN], group(view.axes[kH], y), group(view.axes[kW], x), phase(view.axes[kH], y),
                   phase(view.axes[kW], x), view.axes[kC]}};
}

int64_t stride_left(int64_t stride, const Folding& f) {
  return f.step == 1 ? stride : 1;
}

// Adjacent phases of an axis, and the groups in which the input has their elements. The others are padding.
//   Example: 32 rows in groups of 4, after a row of padding: phase 0 is in groups 1 to 7, phases 1 and 2 in 0 to 7.
struct PhaseRun {
  int64_t phase = 0;
  int64_t phases = 1;
  int64_t begin = 0;
  int64_t end = 0;
};
std::vector<PhaseRun> phase_runs(const Folding& f, int64_t padding, int64_t size) {
  std::vector<PhaseRun> runs;
  for (int64_t p = 0; p < f.phases; ++p) {
    const int64_t before = std::max<int64_t>(padding - p, 0), reached = std::max<int64_t>(size + padding - p, 0);
    const int64_t begin = std::min(ceil_div(before, f.step), f.groups);
    const int64_t end = std::clamp(ceil_div(reached, f.step), begin, f.groups);
    if (!runs.empty() && runs.back().begin == begin && runs.back().end == end) {
      ++runs.back().phases;
    } else {
      runs.push_back({.phase = p, .begin = begin, .end = end});
    }
  }
  return runs;
}

View groups_and_phases(const View& patches, size_t axis, const PhaseRun& run, int64_t begin, int64_t end) {
  return sliced_axis(sliced_axis(patches, axis, begin, end - begin), axis + 2, run.phase, run.phases);
}

// Copies the elements of patches [N, groups, groups, phase, phase, C] from the input, and fills the others. Without
// elements that several groups read, the patches are no larger than the input, which need not be copied for its padding
// then.
void fill_patches(Selection& s, const View& patches, const Convolution& c, const Folding& y, const Folding& x) {
  const View& view = c.ifm.view;
  const Axis &rows = view.axes[kH], &columns = view.axes[kW];
  const std::vector<PhaseRun> runs_y = phase_runs(y, c.padding.top, rows.size),
                              runs_x = phase_runs(x, c.padding.left, columns.size);
  const auto for_each_pair = [&](const auto& function) {
    for (const PhaseRun& run_y : runs_y) {
      if (run_y.begin == run_y.end) continue;
      for (const PhaseRun& run_x : runs_x)
        function(groups_and_phases(patches, kH, run_y, run_y.begin, run_y.end), run_y, run_x);
    }
  };
  for_each_pair([&](const View& of_rows, const PhaseRun& run_y, const PhaseRun& run_x) {
    if (run_x.begin == run_x.end) return;
    const auto first = [](const Folding& f, const PhaseRun& run, int64_t padding) {
      return run.begin * f.step + run.phase - padding;
    };
    const View from{.tensor = view.tensor,
                    .offset = view.offset + first(y, run_y, c.padding.top) * rows.stride +
                              first(x, run_x, c.padding.left) * columns.stride,
                    .axes = {view.axes[kN],
                             {run_y.end - run_y.begin, rows.stride * y.step},
                             {run_x.end - run_x.begin, columns.stride * x.step},
                             {run_y.phases, rows.stride},
                             {run_x.phases, columns.stride},
                             view.axes[kC]}};
    emit_copy(s, groups_and_phases(of_rows, kW, run_x, run_x.begin, run_x.end), from, c.ifm.type);
  });
  const Operand sample{.view = view, .type = c.ifm.type};
  const auto fill = [&](const View& part, size_t axis, const PhaseRun& run, int64_t begin, int64_t end) {
    if (begin < end) emit_fill(s, groups_and_phases(part, axis, run, begin, end), sample, c.ifm.zero_point);
  };
  for (const PhaseRun& run : runs_y) {
    fill(patches, kH, run, 0, run.begin);
    fill(patches, kH, run, run.end, y.groups);
  }
  for_each_pair([&](const View& of_rows, const PhaseRun&, const PhaseRun& run) {
    fill(of_rows, kW, run, 0, run.begin);
    fill(of_rows, kW, run, run.end, x.groups);
  });
}

void copy_patches(Selection& s, Convolution& c, const Folding& y, const Folding& x) {
  const auto reads_once = [](const Folding& f) { return f.step == 1 || f.taps == 1; };
  const bool in_place = reads_once(y) && reads_once(x);
  const View source = grouped(in_place ? c.ifm.view : padded(s, c, y, x), y, x);
  const auto order = inner_order({.axes = {source.axes[0], source.axes[3], source.axes[4], source.axes[5]}});
  std::vector<int64_t> dims{source.axes[0].size, y.groups, x.groups}, axes{0, 1, 2, 0, 0, 0};
  for (size_t i = 0; i < order.size(); ++i) {
    dims.push_back(source.axes[3 + order[i]].size);
    axes[3 + order[i]] = static_cast<int64_t>(3 + i);
  }
  const View patches = s.new_tensor("patches", Shape(std::span<const int64_t>(dims)), c.ifm.type);
  in_place ? fill_patches(s, permuted(patches, axes), c, y, x)
           : emit_copy(s, permuted(patches, axes), source, c.ifm.type);
  const int64_t depth = y.phases * x.phases * c.weight_shape[3];
  c.ifm.view = *reshaped(patches, {dims[0], y.groups, x.groups, depth});
  c.weights = patch_weights(c, y, x, order);
  c.weight_shape = {c.weight_shape[0], y.taps, x.taps, depth};
  c.kernel = {.height = y.taps,
              .width = x.taps,
              .stride_y = stride_left(c.kernel.stride_y, y),
              .stride_x = stride_left(c.kernel.stride_x, x)};
  c.padding = {};
}

}  // namespace

namespace {

// Whether pixels of so many channels stand side by side in memory. The stride of an axis of one channel has no meaning.
bool has_dense_pixels(const View& view, int64_t channels) {
  return view.axes[kW].stride == channels && (channels == 1 || view.axes[kC].stride == 1);
}

// Rows of pixels side by side: `step` pixels are one with as many times the channels. Nothing where groups would reach
// over the end of a row; `is_copy`: the tensor was written as a whole, so that what stands after a row may be read.
std::optional<Convolution> with_folded_columns(const PlanTensor& tensor, const Convolution& c, const Shape& out,
                                               bool is_copy) {
  const View& view = c.ifm.view;
  const int64_t step = c.kernel.stride_x, left = c.padding.left, width = view.axes[kW].size;
  const int64_t channels = c.weight_shape[3];
  if (step == 1 || c.kernel.dilation_x != 1 || !has_dense_pixels(view, channels)) return {};
  Folding x{.step = step, .phases = step, .lead = (step - left % step) % step};
  x.taps = ceil_div(x.lead + c.kernel.width, step);
  const int64_t before = (left + x.lead) / step, needed = out[kW] - 1 + x.taps - before;
  x.groups = std::min(needed, ceil_div(width, step));
  const bool over_the_end = x.groups * step > width;
  const bool reads_padding = (out[kW] - 1) * step - left + c.kernel.width > width;
  const int64_t last = view.offset + (view.axes[kN].size - 1) * view.axes[kN].stride +
                       (view.axes[kH].size - 1) * view.axes[kH].stride + x.groups * step * channels;
  if (over_the_end && (!is_copy || reads_padding || last > tensor.shape.elements())) return {};
  if (x.groups < 1 || before >= x.taps || needed - x.groups >= x.taps) return {};
  Convolution folded = c;
  folded.ifm.view.axes[kW] = {.size = x.groups, .stride = step * channels};
  folded.ifm.view.axes[kC] = {.size = step * channels, .stride = 1};
  folded.weights = patch_weights(c, unfolded(1, c.kernel.height, 1), x, {0, 1, 2});
  folded.weight_shape = {c.weight_shape[0], c.kernel.height, x.taps, step * channels};
  folded.kernel.width = x.taps;
  folded.kernel.stride_x = 1;
  folded.padding.left = before;
  folded.padding.right = needed - x.groups;
  return folded;
}

// The map of a view, rows and pixels where they stand in memory.
FeatureMap map_of(const View& view, ElementType type) {
  return {.height = view.axes[kH].size,
          .width = view.axes[kW].size,
          .depth = view.axes[kC].size,
          .stride_y = view.axes[kH].stride,
          .stride_x = view.axes[kW].stride,
          .type = type};
}

bool has_sparse_weights(const Selection& s, const Convolution& c) {
  return s.uses_sparse_weights() &&
         two_of_four({.out_channels = c.weight_shape[0], .in_channels = c.weight_shape[3], .values = c.weights})
             .holds();
}

double cycles_of(const Selection& s, const Convolution& c, const Shape& out) {
  return cheapest_cycles({.kind = StepKind::kConv,
                          .ofm = map_of(dense_view({}, out), c.ifm.type),
                          .ifm = map_of(c.ifm.view, c.ifm.type),
                          .kernel = c.kernel,
                          .padding = c.padding,
                          .sparse_weights = has_sparse_weights(s, c),
                          .per_channel = true,
                          .activation = {.min = c.ifm.type.min(), .max = c.ifm.type.max()},
                          .acc = c.ifm.type.bits == 16 ? AccWidth::kWide : AccWidth::kNarrow,
                          .name = {}},
                         s.family(), s.target());
}

// Elements under a row of a window are the channels of one pixel; pixels overlap in memory. `rows`: the input with the
// padding left and right of it, elements of a row side by side.
Convolution over_row_windows(const Convolution& c, const View& rows, const Shape& out) {
  const int64_t channels = c.weight_shape[3], depth = c.kernel.width * channels;
  Convolution result = c;
  result.ifm.view = rows;
  result.ifm.view.axes[kW] = {.size = out[kW], .stride = c.kernel.stride_x * channels};
  result.ifm.view.axes[kC] = {.size = depth, .stride = 1};
  result.weight_shape = {c.weight_shape[0], c.kernel.height, 1, depth};
  result.kernel.width = result.kernel.stride_x = 1;
  result.padding.left = result.padding.right = 0;
  return result;
}

Shape padded_rows(const Convolution& c) {
  Shape shape = c.ifm.view.shape();
  shape[kW] += c.padding.left + c.padding.right;
  return shape;
}

// The cycles of a copy of whole rows and of the padding at both ends. Each waits for its first read, from the memory of
// the input or of the padding, and for its last write.
double padding_cycles(const Selection& s, const Convolution& c) {
  const npu::MemoryPort& port = s.target().arena_port();
  const int64_t channels = c.weight_shape[3];
  const Shape shape = c.ifm.view.shape(), padded = padded_rows(c);
  // Whole rows are pixels.
  const auto copy_cycles = [&](int64_t columns) {
    if (columns == 0) return 0.0;
    const FeatureMap from = map_of(dense_view({}, {1, shape[kN], shape[kH], columns * channels}), c.ifm.type);
    FeatureMap to = from;
    to.stride_x = padded[kW] * channels;
    return port.read_latency_cycles + port.write_latency_cycles +
           cheapest_cycles(
               {.kind = StepKind::kPool, .pool = npu::PoolingMode::AVERAGE, .ofm = to, .ifm = from, .name = {}},
               s.family(), s.target());
  };
  return copy_cycles(shape[kW]) + copy_cycles(c.padding.left) + copy_cycles(c.padding.right);
}

View pad_rows(Selection& s, const Convolution& c) {
  const View rows = s.new_tensor("padded", padded_rows(c), c.ifm.type);
  emit_pad(s, rows,
           {.source = {.view = c.ifm.view, .type = c.ifm.type},
            .before = {0, 0, c.padding.left, 0},
            .after = {0, 0, c.padding.right, 0},
            .fill = c.ifm.zero_point});
  return rows;
}

// Whether the view is of an input of the network in a slower memory than that of copies. Windows read each of its
// elements many times.
bool is_slow_input(Selection& s, const View& view) {
  const npu::MemoryMode& memory = s.target().memory;
  return s.network()[view.tensor].kind == TensorKind::kInput && memory.arena_port != memory.cache_port;
}

// Uses windows of rows if that takes fewer cycles than `cycles`, with the copies for padding included.
bool lay_row_windows(Selection& s, Convolution& c, const Shape& out, double cycles) {
  const View& view = c.ifm.view;
  constexpr double kMaxShareWithCopies = 0.97;
  if (c.kernel.width == 1 || c.kernel.dilation_x != 1 || c.kernel.width * c.weight_shape[3] > npu::kMaxAxis)
    return false;
  const bool as_it_is =
      c.padding.left + c.padding.right == 0 && has_dense_pixels(view, c.weight_shape[3]) && !is_slow_input(s, view);
  const View rows = as_it_is ? view : dense_view({}, padded_rows(c));
  const double copy = as_it_is ? 0 : padding_cycles(s, c);
  // Copies take memory and end a cascade, which is not worth a gain of a few percent.
  const double max = as_it_is ? cycles : kMaxShareWithCopies * cycles;
  if (cycles_of(s, over_row_windows(c, rows, out), out) + copy >= max) return false;
  c = over_row_windows(c, as_it_is ? view : pad_rows(s, c), out);
  return true;
}

// Whether unrolled rows are cheaper than copied patches. Each unrolled row reads all weights.
bool rows_are_cheaper(const Convolution& c, const Shape& out) {
  const int64_t weights = c.weight_shape.elements(), patch = weights / c.weight_shape[0];
  return !is_too_large(c.kernel.stride_y, c.kernel.height, out[kH]) ||
         weights * out[kH] <= 2 * out[kH] * out[kW] * patch;
}

}  // namespace

void fold_columns(Selection& s, Convolution& c, const Shape& out, bool is_copy) {
  constexpr int64_t kFewChannels = 16;
  if (c.weight_shape[3] > kFewChannels || c.kernel.stride_x > npu::kMaxStride) return;
  auto folded = with_folded_columns(s.network()[c.ifm.view.tensor], c, out, is_copy);
  const double as_it_is = cycles_of(s, c, out), in_groups = folded ? cycles_of(s, *folded, out) : as_it_is;
  if (lay_row_windows(s, c, out, std::min(as_it_is, in_groups))) return;
  if (in_groups < as_it_is) c = *std::move(folded);
}

bool has_patches(const Convolution& c, const Shape& out) {
  const Kernel& k = c.kernel;
  return k.dilation_y == 1 && k.dilation_x == 1 &&
         (is_too_large(k.stride_y, k.height, out[kH]) || is_too_large(k.stride_x, k.width, out[kW]));
}

namespace {

// A folding of an axis only if its stride is too large.
Folding folding_if_too_large(int64_t stride, int64_t taps, int64_t outputs) {
  return is_too_large(stride, taps, outputs) ? folding_of(stride, taps, outputs) : unfolded(stride, taps, outputs);
}

// The cycles of the copies of fill_patches(): one for each pair of phases.
double copy_cycles(const Selection& s, const Convolution& c, const View& patches, const Folding& y, const Folding& x) {
  const auto map = [&](const View& view, int64_t step_y, int64_t step_x) {
    return FeatureMap{.height = y.groups,
                      .width = x.groups,
                      .depth = view.axes.back().size,
                      .stride_y = view.axes[kH].stride * step_y,
                      .stride_x = view.axes[kW].stride * step_x,
                      .type = c.ifm.type};
  };
  const double one = cycles_of(s, {.kind = StepKind::kPool,
                                   .pool = npu::PoolingMode::AVERAGE,
                                   .ofm = map(patches, 1, 1),
                                   .ifm = map(c.ifm.view, y.step, x.step),
                                   .name = {}});
  return static_cast<double>(y.phases * x.phases) * (one + kCyclesOfStart);
}

double depthwise_cycles(const Selection& s, const Convolution& c, const Shape& out) {
  return cycles_of(s,
                   Window{.kind = StepKind::kDepthwise,
                          .ifm = c.ifm,
                          .ofm = dense_view({}, out),
                          .kernel = c.kernel,
                          .padding = c.padding},
                   store_only({}, c.ifm.type));
}

}  // namespace

void lay_windows_apart(Selection& s, Convolution& c, const Shape& out) {
  const Kernel& k = c.kernel;
  if (!has_patches(c, out)) return;
  const Folding y = folding_if_too_large(k.stride_y, k.height, out[kH]),
                x = folding_if_too_large(k.stride_x, k.width, out[kW]);
  const auto fits = [](const Folding& f) { return f.step == 1 || (f.taps == 1 && f.phases <= npu::kMaxStride); };
  if (!fits(y) || !fits(x)) return;
  const Shape shape = c.ifm.view.shape();
  Convolution apart = c;
  apart.ifm.view = dense_view({}, {shape[kN], y.groups * y.phases, x.groups * x.phases, shape[kC]});
  if (y.step > 1) apart.kernel.stride_y = y.phases;
  if (x.step > 1) apart.kernel.stride_x = x.phases;
  apart.padding = {};
  const auto as_patches = [&](const View& image) {
    return grouped(image, {.step = y.phases, .phases = y.phases, .groups = y.groups},
                   {.step = x.phases, .phases = x.phases, .groups = x.groups});
  };
  // Operations for single results wait for each other less than their estimate says.
  constexpr double kMaxShareWithCopies = 0.8;
  const double copies = copy_cycles(s, c, as_patches(apart.ifm.view), y, x);
  if (copies + depthwise_cycles(s, apart, out) >= kMaxShareWithCopies * depthwise_cycles(s, c, out)) return;
  apart.ifm.view = s.new_tensor("windows", apart.ifm.view.shape(), c.ifm.type);
  fill_patches(s, as_patches(apart.ifm.view), c, y, x);
  c = std::move(apart);
}

void lay_patches(Selection& s, Convolution& c, const Shape& out) {
  const Kernel& k = c.kernel;
  if (rows_are_cheaper(c, out)) {
    Convolution rows = c;
    rows.ifm = with_dense_channels(s, c.ifm);
    auto folded =
        with_folded_columns(s.network()[rows.ifm.view.tensor], rows, out, rows.ifm.view.tensor != c.ifm.view.tensor);
    if (folded) {
      if (!lay_row_windows(s, rows, out, cycles_of(s, *folded, out))) rows = *std::move(folded);
      c = std::move(rows);
      return;
    }
  }
  copy_patches(s, c, folding_if_too_large(k.stride_y, k.height, out[kH]),
               folding_if_too_large(k.stride_x, k.width, out[kW]));
}

}  // namespace carina::plan
