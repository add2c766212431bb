#include <algorithm>
#include <array>

#include "facts/npu_targets.h"
#include "plan/network/boxes.h"
#include "plan/select/emit_internal.h"
#include "plan/select/weights_internal.h"

namespace carina::plan {
namespace {

// Filters that an operation picks at once: more cost more multiplications per element, and bricks hold sixteen.
constexpr int64_t kFilters = npu::kBrickDepth;

// From here on operations that read single elements wait for memory longer than more operations would take.
constexpr int64_t kMaxStrideBytes = 8;

// Axes of size 1 dropped and neighbors merged that are neighbors in both.
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

// The tiles of dst and src along every axis but two, one index each.
using Pair = std::pair<View, View>;
std::vector<Pair> unrolled(const Pair& whole, size_t kept, size_t also_kept) {
  std::vector<Pair> tiles{whole};
  for (size_t axis = 0; axis < whole.first.rank(); ++axis) {
    if (axis == kept || axis == also_kept) continue;
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

void pick_rows(Selection& s, const Pair& tile, size_t width, size_t channels, ElementType type, WeightsId pick) {
  const auto& [to, from] = tile;
  const int64_t count = to.axes[channels].size;
  const View ofm{.tensor = to.tensor, .offset = to.offset, .axes = {{1, 0}, {1, 0}, to.axes[width], to.axes[channels]}};
  const View ifm{
      .tensor = from.tensor, .offset = from.offset, .axes = {{1, 0}, from.axes[channels], from.axes[width], {1, 0}}};
  Epilogue store = store_only({}, type);
  store.scaled = true;  // 16-bit elements are summed in 40 bits, as those of scaled convolutions
  const auto emitted = emit_window(s,
                                   {.kind = StepKind::kConv,
                                    .ifm = {.view = ifm, .type = type},
                                    .ofm = ofm,
                                    .kernel = {.height = count},
                                    .padding = {},
                                    .weights = pick},
                                   store);
  CARINA_CHECK(emitted.has_value(), "a kernel of {} rows is within all limits", count);
}

WeightsId row_filters(Selection& s, int64_t count, ElementType type) {
  std::vector<int16_t> identity(static_cast<size_t>(count * count), 0);
  for (int64_t i = 0; i < count; ++i) identity[static_cast<size_t>(i * count + i)] = 1;
  return *add_weights(s, {.name = "transpose", .out_channels = count, .height = count, .values = identity},
                      store_only({}, type));
}

void pick_tiles(Selection& s, const Pair& part, size_t width, size_t channels, ElementType type) {
  const WeightsId pick = row_filters(s, part.first.axes[channels].size, type);
  for (const Pair& tile : unrolled(part, width, channels)) pick_rows(s, tile, width, channels, type, pick);
}

// The axis in groups of as many elements as there are filters, and these as an axis behind all others.
View in_groups(View view, size_t axis) {
  const auto [size, stride] = view.axes[axis];
  view.axes[axis] = {.size = size / kFilters, .stride = stride * kFilters};
  view.axes.push_back({.size = kFilters, .stride = stride});
  return view;
}

}  // namespace

// The axis that becomes channels is laid as the height of an image of one-channel pixels, and a kernel as high as the
// image whose o-th filter picks row o puts it into the channels. That moves whole rows, where a pool moves one channel
// at a time.
bool emit_gather(Selection& s, const View& whole_dst, const View& whole_src, ElementType type) {
  View dst = whole_dst, src = whole_src;
  merge_axes(dst, src);
  if (type.bits > 16 || dst.rank() < 2) return false;
  const auto found = std::ranges::find(dst.axes, 1, &Axis::stride);
  if (found == dst.axes.end()) return false;
  const auto channels = static_cast<size_t>(found - dst.axes.begin());
  const auto bad = [](const Axis& a) { return a.size > npu::kMaxAxis || a.stride == 0; };
  if (src.axes[channels].stride == 1 || std::ranges::any_of(dst.axes, bad) || std::ranges::any_of(src.axes, bad))
    return false;
  size_t width = channels == 0 ? 1 : 0;  // the longest other axis; the rest is unrolled
  for (size_t i = 0; i < dst.rank(); ++i) {
    if (i != channels && dst.axes[i].size > dst.axes[width].size) width = i;
  }
  const int64_t rows = dst.axes[channels].size, groups = rows / kFilters;
  int64_t first = 0;
  // All groups in one operation and the other axes unrolled, where an access to memory still reads some elements.
  if (groups > dst.axes[width].size && src.axes[channels].stride * type.bytes() <= kMaxStrideBytes) {
    first = groups * kFilters;
    const Pair whole{sliced_axis(dst, channels, 0, first), sliced_axis(src, channels, 0, first)};
    pick_tiles(s, {in_groups(whole.first, channels), in_groups(whole.second, channels)}, channels, dst.rank(), type);
  }
  for (; first < rows && !s.is_full(); first += kFilters) {
    const int64_t count = std::min(kFilters, rows - first);
    pick_tiles(s, {sliced_axis(dst, channels, first, count), sliced_axis(src, channels, first, count)}, width, channels,
               type);
  }
  return true;
}

}  // namespace carina::plan
