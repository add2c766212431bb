#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>

#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/network/boxes.h"
#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"
#include "plan/select/weights_internal.h"

namespace carina::plan {
namespace {

// The number of filters of one operation. More filters need more multiplications per element, and a brick has sixteen
// channels.
constexpr int64_t kFilters = npu::kBrickDepth;

// The largest pixel, in elements, of which filters pick elements. A filter multiplies all elements of the pixel, so
// larger ones never pay.
constexpr int64_t kMaxPixel = 32;

// Drops axes of size 1, and merges axes that are neighbors in both views.
void merge_axes(View& dst, View& src) {
  std::vector<Axis> to, from;
  for (size_t i = 0; i < dst.rank(); ++i) {
    const Axis& t = dst.axes[i];
    const Axis& f = src.axes[i];
    if (t.size == 1) continue;
    if (!to.empty() && to.back().stride == t.stride * t.size && from.back().stride == f.stride * f.size &&
        to.back().size * t.size <= npu::kMaxAxis) {
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

// The parts of dst and src for each index of all axes but some.
using Pair = std::pair<View, View>;
std::vector<Pair> unrolled(const Pair& whole, std::initializer_list<size_t> kept) {
  std::vector<Pair> tiles{whole};
  for (size_t axis = 0; axis < whole.first.rank(); ++axis) {
    if (std::ranges::find(kept, axis) != kept.end()) continue;
    std::vector<Pair> parts;
    for (const auto& [to, from] : tiles) {
      if (parts.size() > kMaxBoxes) break;
      for (int64_t i = 0; i < to.axes[axis].size; ++i)
        parts.emplace_back(sliced_axis(to, axis, i, 1), sliced_axis(from, axis, i, 1));
    }
    tiles = std::move(parts);
  }
  return tiles;
}

void pick(Selection& s, const View& ofm, const View& ifm, ElementType type, int64_t rows, WeightsId filters) {
  Epilogue store = store_only({}, type);
  store.scaled = true;  // 16-bit elements are summed in 40 bits, as those of scaled convolutions
  const auto emitted = emit_window(s,
                                   {.kind = StepKind::kConv,
                                    .ifm = {.view = ifm, .type = type},
                                    .ofm = ofm,
                                    .kernel = {.height = rows},
                                    .padding = {},
                                    .weights = filters},
                                   store);
  CARINA_CHECK(emitted.has_value(), "a kernel of {} rows is within all limits", rows);
}

void pick_rows(Selection& s, const Pair& tile, size_t width, size_t channels, ElementType type, WeightsId filters) {
  const auto& [to, from] = tile;
  const View ofm{.tensor = to.tensor, .offset = to.offset, .axes = {{1, 0}, {1, 0}, to.axes[width], to.axes[channels]}};
  const View ifm{
      .tensor = from.tensor, .offset = from.offset, .axes = {{1, 0}, from.axes[channels], from.axes[width], {1, 0}}};
  pick(s, ofm, ifm, type, to.axes[channels].size, filters);
}

WeightsId row_filters(Selection& s, int64_t count, ElementType type) {
  std::vector<int16_t> identity(static_cast<size_t>(count * count), 0);
  for (int64_t i = 0; i < count; ++i) identity[static_cast<size_t>(i * count + i)] = 1;
  return *add_weights(s, {.name = "transpose", .out_channels = count, .height = count, .values = identity},
                      store_only({}, type));
}

void pick_tiles(Selection& s, const Pair& part, size_t width, size_t channels, ElementType type) {
  const WeightsId pick = row_filters(s, part.first.axes[channels].size, type);
  for (const Pair& tile : unrolled(part, {width, channels})) pick_rows(s, tile, width, channels, type, pick);
}

// Divides the axis into groups of as many elements as there are filters. The elements of a group become the last axis.
View in_groups(View view, size_t axis) {
  const auto [size, stride] = view.axes[axis];
  view.axes[axis] = {.size = size / kFilters, .stride = stride * kFilters};
  view.axes.push_back({.size = kFilters, .stride = stride});
  return view;
}

// The elements from the first picked one to the last.
int64_t pixels_depth(int64_t pixel) {
  return (kFilters - 1) * pixel + 1;
}

// The o-th filter picks the first element of the o-th of sixteen pixels, which are the channels of one.
WeightsId pixel_filters(Selection& s, int64_t pixel, ElementType type) {
  const int64_t depth = pixels_depth(pixel);
  std::vector<int16_t> picks(static_cast<size_t>(kFilters * depth), 0);
  for (int64_t i = 0; i < kFilters; ++i) picks[static_cast<size_t>(i * depth + i * pixel)] = 1;
  return *add_weights(s, {.name = "transpose", .out_channels = kFilters, .in_channels = depth, .values = picks},
                      store_only({}, type));
}

// Groups of sixteen elements of the axis `channels`, all of a tile in one operation.
void pick_pixels(Selection& s, const Pair& part, size_t channels, ElementType type) {
  const int64_t pixel = part.second.axes[channels].stride;
  const WeightsId filters = pixel_filters(s, pixel, type);
  const size_t inner = part.first.rank();
  const Pair groups{in_groups(part.first, channels), in_groups(part.second, channels)};
  for (const auto& [to, from] : unrolled(groups, {channels, inner})) {
    const View ofm{
        .tensor = to.tensor, .offset = to.offset, .axes = {{1, 0}, {1, 0}, to.axes[channels], to.axes[inner]}};
    const View ifm{.tensor = from.tensor,
                   .offset = from.offset,
                   .axes = {{1, 0}, {1, 0}, from.axes[channels], {pixels_depth(pixel), 1}}};
    pick(s, ofm, ifm, type, 1, filters);
  }
}

// Pools whose results the NPU transposes: the contiguous axis of src is their depth, that of dst (`channels`) their
// width. Nothing if the NPU does not transpose, or if no axis of src is contiguous.
//   Example: [9216,4] -> [4,9216] is one pool of 9216 pixels with 4 channels, stored as WCH.
std::vector<Step> transposing_pools(const Selection& s, const View& dst, const View& src, size_t channels,
                                    ElementType type) {
  const auto backwards = [](const Axis& axis) { return axis.stride < 0; };
  const auto found = std::ranges::find(src.axes, 1, &Axis::stride);
  if (!s.transposes_results() || found == src.axes.end() || std::ranges::any_of(dst.axes, backwards) ||
      std::ranges::any_of(src.axes, backwards))
    return {};
  const auto depth = static_cast<size_t>(found - src.axes.begin());
  size_t height = depth;  // the longest other axis, if there is one
  for (size_t i = 0; i < dst.rank(); ++i) {
    if (i != channels && i != depth && (height == depth || dst.axes[i].size > dst.axes[height].size)) height = i;
  }
  const auto map_of = [&](const View& view) {
    FeatureMap map{.tensor = view.tensor,
                   .offset = view.offset,
                   .width = view.axes[channels].size,
                   .depth = view.axes[depth].size,
                   .stride_x = view.axes[channels].stride,
                   .stride_c = view.axes[depth].stride,
                   .type = type};
    if (height != depth) {
      map.height = view.axes[height].size;
      map.stride_y = view.axes[height].stride;
    }
    return map;
  };
  std::vector<Step> pools;
  for (const auto& [to, from] : unrolled({dst, src}, {channels, depth, height})) {
    pools.push_back({.kind = StepKind::kPool,
                     .pool = npu::PoolingMode::AVERAGE,
                     .ofm = map_of(to),
                     .ifm = map_of(from),
                     .activation = {.min = type.min(), .max = type.max()},
                     .name = {}});
  }
  return pools;
}

double cycles_of_pools(const Selection& s, std::span<const Step> pools) {
  double cycles = 0;
  for (const Step& pool : pools) cycles += cheapest_cycles_in_place(s, pool);
  return cycles;
}

// Filters that pick one of `elements` each. One bit tells the nonzero weights from each other, since all are 1.
WeightFacts facts_of_picks(int64_t elements) {
  const double nonzero = 1.0 / static_cast<double>(elements), zero = 1 - nonzero;
  const double bits = nonzero + (zero > 0 ? -nonzero * std::log2(nonzero) - zero * std::log2(zero) : 0);
  return {.bits_per_weight = bits, .zero_rate = zero};
}

// The cycles of one of several equal operations, which need not wait for each other.
double cycles_of_pick(const Selection& s, Step one, int64_t elements) {
  one.sparse_weights = s.uses_sparse_weights();
  one.per_channel = true;
  return cheapest_cycles_in_place(s, std::move(one), facts_of_picks(elements));
}

// What the first of these operations waits for its filters at the start of a network. Later ones are loaded beside
// earlier operations. estimate(0.5): of the latency, since the operation reads its input in the same time.
double wait_for_filters(const Selection& s) {
  constexpr size_t kFewSteps = 2;
  constexpr double kShareOfLatency = 0.5;
  const Target& target = s.target();
  const npu::MemoryPort& port = target.constants_port();
  return s.network().steps.size() < kFewSteps ? kShareOfLatency * port.read_latency_cycles : 0;
}

// The operations of one size are alike, so one of them is estimated.
double cycles_of_rows(const Selection& s, const View& dst, const View& src, size_t channels, size_t width,
                      ElementType type) {
  const int64_t count = std::min(kFilters, dst.axes[channels].size);
  const auto& [size, to_stride] = dst.axes[width];
  const Step one{.kind = StepKind::kConv,
                 .ofm = {.tensor = dst.tensor, .width = size, .depth = count, .stride_x = to_stride, .type = type},
                 .ifm = {.tensor = src.tensor,
                         .height = count,
                         .width = size,
                         .stride_y = src.axes[channels].stride,
                         .stride_x = src.axes[width].stride,
                         .type = type},
                 .kernel = {.height = count},
                 .name = {}};
  const int64_t rows = dst.axes[channels].size, tiles = dst.elements() / (size * rows);
  return wait_for_filters(s) + static_cast<double>(tiles * ceil_div(rows, count)) * cycles_of_pick(s, one, count);
}

double cycles_of_pixels(const Selection& s, const View& dst, const View& src, size_t channels, ElementType type) {
  const int64_t pixel = src.axes[channels].stride, groups = dst.axes[channels].size / kFilters;
  const Step one{.kind = StepKind::kConv,
                 .ofm = {.tensor = dst.tensor, .width = groups, .depth = kFilters, .stride_x = kFilters, .type = type},
                 .ifm = {.tensor = src.tensor,
                         .width = groups,
                         .depth = pixels_depth(pixel),
                         .stride_x = kFilters * pixel,
                         .type = type},
                 .name = {}};
  const int64_t operations = dst.elements() / dst.axes[channels].size;
  return wait_for_filters(s) + static_cast<double>(operations) * cycles_of_pick(s, one, pixels_depth(pixel));
}

// The forms of a copy to other channels, and their cycles.
struct Forms {
  View dst = {};
  View src = {};
  size_t channels = 0;  // the contiguous axis of `dst`
  size_t width = 0;     // the longest other axis; the rest is unrolled
  double by_rows = std::numeric_limits<double>::infinity();
  double by_pixels = std::numeric_limits<double>::infinity();
  double by_transposing = std::numeric_limits<double>::infinity();
  std::vector<Step> transposing = {};

  [[nodiscard]] double least() const { return std::min({by_rows, by_pixels, by_transposing}); }
};

std::optional<Forms> forms_of(const Selection& s, const View& dst, const View& src, ElementType type) {
  Forms forms{.dst = dst, .src = src};
  merge_axes(forms.dst, forms.src);
  const auto &to = forms.dst.axes, &from = forms.src.axes;
  if (type.bits > 16 || to.size() < 2) return std::nullopt;
  const auto found = std::ranges::find(to, 1, &Axis::stride);
  if (found == to.end()) return std::nullopt;
  forms.channels = static_cast<size_t>(found - to.begin());
  const auto bad = [](const Axis& a) { return a.size > npu::kMaxAxis || a.stride == 0; };
  if (from[forms.channels].stride == 1 || std::ranges::any_of(to, bad) || std::ranges::any_of(from, bad))
    return std::nullopt;
  forms.width = forms.channels == 0 ? 1 : 0;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i != forms.channels && to[i].size > to[forms.width].size) forms.width = i;
  }
  const int64_t pixel = from[forms.channels].stride;
  forms.by_rows = cycles_of_rows(s, forms.dst, forms.src, forms.channels, forms.width, type);
  if (to[forms.channels].size >= kFilters && pixel > 0 && pixel <= kMaxPixel)
    forms.by_pixels = cycles_of_pixels(s, forms.dst, forms.src, forms.channels, type);
  forms.transposing = transposing_pools(s, forms.dst, forms.src, forms.channels, type);
  if (!forms.transposing.empty()) {
    forms.by_transposing =
        cycles_of_pools(s, std::span(forms.transposing).first(1)) * static_cast<double>(forms.transposing.size());
  }
  return forms;
}

}  // namespace

double cycles_of_copy(const Selection& s, const View& dst, const View& src, ElementType type,
                      std::span<const Step> pools) {
  const auto forms = forms_of(s, dst, src, type);
  const double by_pools = cycles_of_pools(s, pools);
  return forms ? std::min(by_pools, forms->least()) : by_pools;
}

// Convolutions that move elements to other channels, where a pool moves one channel at a time. In one form the axis
// that becomes channels is laid as the height of an image of one-channel pixels; the o-th filter of a kernel as high
// picks row o. In the other, sixteen pixels are the channels of one, from which the o-th filter picks an element of
// pixel o; it reads memory in runs, and multiplies more.
//   Example: an image of 4 channels, [9216,4] -> [4,9216], by pixels: 4 convolutions over 576 groups with 61 channels
bool emit_gather(Selection& s, const View& whole_dst, const View& whole_src, ElementType type,
                 std::span<const Step> others) {
  auto forms = forms_of(s, whole_dst, whole_src, type);
  if (!forms) return false;
  const auto& [dst, src, channels, width, by_rows, by_pixels, by_transposing, transposing] = *forms;
  const double by_pools = cycles_of_pools(s, others);
  if (by_transposing < std::min({by_pools, by_rows, by_pixels})) {
    for (Step& pool : forms->transposing) s.push(std::move(pool));
    return true;
  }
  if (by_pools < std::min(by_rows, by_pixels)) return false;
  const int64_t rows = dst.axes[channels].size;
  int64_t first = 0;
  if (by_pixels < by_rows) {
    first = rows / kFilters * kFilters;
    pick_pixels(s, {sliced_axis(dst, channels, 0, first), sliced_axis(src, channels, 0, first)}, channels, type);
  }
  for (; first < rows && !s.is_full(); first += kFilters) {
    const int64_t count = std::min(kFilters, rows - first);
    pick_tiles(s, {sliced_axis(dst, channels, first, count), sliced_axis(src, channels, first, count)}, width, channels,
               type);
  }
  return true;
}

}  // namespace carina::plan
