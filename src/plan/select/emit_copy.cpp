#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "facts/npu_targets.h"
#include "plan/network/boxes.h"
#include "plan/select/emit_internal.h"

namespace carina::plan {
namespace {

// A view of the first of the `parts` narrower elements of each element.
View first_parts(View view, int64_t parts) {
  view.offset *= parts;
  for (Axis& axis : view.axes) axis.stride *= parts;
  return view;
}

// The same bytes as twice as many 16-bit elements. Pools copy only 8 and 16 bits.
View halves(const View& view) {
  View result = first_parts(view, 2);
  result.axes.push_back({.size = 2, .stride = 1});
  return result;
}

bool fits_dma(const View& view, int64_t element_bytes) {
  return is_dense(view) && view.offset * element_bytes % npu::kBaseAlignmentBytes == 0 &&
         view.elements() * element_bytes % npu::kBaseAlignmentBytes == 0;
}

void push_dma(Selection& s, const View& dst, const View& src, ElementType type) {
  s.push({.kind = StepKind::kDma,
          .ofm = flat_map(dst, type),
          .ifm = flat_map(src, type),
          .dma_bytes = dst.elements() * type.bytes(),
          .name = {}});
}

}  // namespace

FeatureMap flat_map(const View& view, ElementType type) {
  return {
      .tensor = view.tensor, .offset = view.offset, .height = 1, .width = 1, .depth = view.elements(), .type = type};
}

namespace {

// Every two bytes as one 16-bit element, if the bytes of both views are in pairs.
std::optional<View> paired(const View& view, size_t axis) {
  View result = view;
  for (size_t i = 0; i < view.rank(); ++i) {
    Axis& a = result.axes[i];
    if (i == axis)
      a.size /= 2;
    else if (a.size > 1 && a.stride % 2 != 0)
      return std::nullopt;
    else
      a.stride /= 2;
  }
  if (view.offset % 2 != 0) return std::nullopt;
  result.offset /= 2;
  return result;
}

std::vector<Step> copying_pools(const View& dst, const View& src, ElementType lane) {
  const std::array views{dst, src};
  std::vector<Step> pools;
  for (const Box& box : boxes_of(views, kNoBroadcast)) {
    pools.push_back({.kind = StepKind::kPool,
                     .pool = npu::PoolingMode::AVERAGE,
                     .ofm = feature_map(box, 0, dst.tensor, lane, 0),
                     .ifm = feature_map(box, 1, src.tensor, lane, 0),
                     .activation = {.min = lane.min(), .max = lane.max()},
                     .name = {}});
  }
  return pools;
}

// Short runs of bytes, which take a burst each, as runs of half as many 16-bit elements, whose axes may be exchanged in
// other ways. Returns whether it is cheaper than the pools of bytes, and emits it then.
//   Example: rows of pixels of 2x2 bytes to two rows of bytes, [40,2,2] -> [2,80], are [40,2] -> [2,40] in pairs.
bool copy_pairs(Selection& s, const View& dst, const View& src, std::span<const Step> pools) {
  constexpr int64_t kShortRun = 8;
  for (size_t i = dst.rank(); i-- > 0;) {
    const Axis &to = dst.axes[i], &from = src.axes[i];
    if (to.size == 1 || to.stride != 1 || from.stride != 1) continue;
    if (to.size % 2 != 0 || to.size > kShortRun) return false;
    const auto wide_dst = paired(dst, i), wide_src = paired(src, i);
    if (!wide_dst || !wide_src) return false;
    const std::vector<Step> wide = copying_pools(*wide_dst, *wide_src, kSigned16);
    if (cycles_of_copy(s, *wide_dst, *wide_src, kSigned16, wide) >= cycles_of_copy(s, dst, src, kSigned8, pools))
      return false;
    if (!emit_gather(s, *wide_dst, *wide_src, kSigned16, wide)) {
      for (const Step& pool : wide) s.push(pool);
    }
    return true;
  }
  return false;
}

void copy_elements(Selection& s, const View& dst, const View& src, ElementType type) {
  if (fits_dma(dst, type.bytes()) && fits_dma(src, type.bytes())) return push_dma(s, dst, src, type);
  if (type.bits == 64) return copy_elements(s, halves(dst), halves(src), kSigned32);
  if (type.bits == 32) return copy_elements(s, halves(dst), halves(src), kSigned16);
  const ElementType lane{type.bits, true};
  std::vector<Step> pools = copying_pools(dst, src, lane);
  if (lane.bits == 8 && copy_pairs(s, dst, src, pools)) return;
  if (emit_gather(s, dst, src, lane, pools)) return;
  for (Step& pool : pools) s.push(std::move(pool));
}

}  // namespace

void emit_copy(Selection& s, const View& dst, const View& src, ElementType type) {
  const size_t first = s.network().steps.size();
  copy_elements(s, dst, src, type);
  s.network().copies.push_back(
      {.from = src, .to = dst, .element_bytes = type.bytes(), .first = first, .end = s.network().steps.size()});
}

void emit_low_bits(Selection& s, const View& dst, const Operand& src, ElementType type) {
  emit_copy(s, dst, first_parts(src.view, src.type.bytes() / type.bytes()), type);
}

namespace {

// Emits one fill: it clamps arbitrary input to [value, value].
void push_fill(Selection& s, const FeatureMap& ofm, const FeatureMap& ifm, int64_t value) {
  s.push({.kind = StepKind::kPool,
          .pool = npu::PoolingMode::AVERAGE,
          .ofm = ofm,
          .ifm = ifm,
          .activation = {.min = value, .max = value},
          .name = {}});
}

FeatureMap part_of(FeatureMap map, int64_t y, int64_t x, int64_t c, const FeatureMap& size_of) {
  map.offset += y * map.stride_y + x * map.stride_x + c;
  map.height = std::min(size_of.height, map.height - y);
  map.width = std::min(size_of.width, map.width - x);
  map.depth = std::min(size_of.depth, map.depth - c);
  return map;
}

// Divides `ofm` into tiles that are no larger than the sample.
void fill_tiles(Selection& s, const FeatureMap& ofm, const FeatureMap& sample, int64_t value) {
  for (int64_t y = 0; y < ofm.height && !s.is_full(); y += sample.height) {
    for (int64_t x = 0; x < ofm.width; x += sample.width) {
      for (int64_t c = 0; c < ofm.depth; c += sample.depth) {
        const FeatureMap tile = part_of(ofm, y, x, c, sample);
        push_fill(s, tile, part_of(sample, 0, 0, 0, tile), value);
      }
    }
  }
}

}  // namespace

void emit_fill(Selection& s, const View& dst, const Operand& sample, int64_t value) {
  if (sample.type.bits == 32) {
    const Operand lanes{.view = halves(sample.view), .type = kSigned16};
    const auto low = static_cast<int16_t>(value);
    const auto high = static_cast<int16_t>(value >> 16);
    const View both = halves(dst);
    if (low == high) return emit_fill(s, both, lanes, low);
    emit_fill(s, sliced_axis(both, both.rank() - 1, 0, 1), lanes, low);
    return emit_fill(s, sliced_axis(both, both.rank() - 1, 1, 1), lanes, high);
  }
  const ElementType lane{sample.type.bits, true};
  // The signed value with the same bits as the unsigned one.
  const int64_t signed_value = lane.bits == 8 ? static_cast<int8_t>(value) : static_cast<int16_t>(value);
  const std::array sample_views{sample.view};
  const FeatureMap read = feature_map(boxes_of(sample_views, kNoBroadcast).front(), 0, sample.view.tensor, lane, 0);
  const std::array views{dst};
  for (const Box& box : boxes_of(views, kNoBroadcast))
    if (!s.is_full()) fill_tiles(s, feature_map(box, 0, dst.tensor, lane, 0), read, signed_value);
}

void emit_pad(Selection& s, const View& dst, const PendingPad& pad) {
  View inner = dst;
  for (size_t i = 0; i < dst.rank(); ++i) inner = sliced_axis(inner, i, pad.before[i], pad.source.view.axes[i].size);
  if (!same_elements(inner, pad.source.view)) emit_copy(s, inner, pad.source.view, pad.source.type);
  // The part that has been written grows axis by axis. It is as large as the next border in the other axes, so that a
  // border is one operation, which reads the source where that is large enough and does not wait for other borders.
  //   Example: 9x7 elements with a border of 1: two rows of 7 elements read the source, two columns of 11 the result
  View written = inner;
  for (size_t i = 0; i < dst.rank(); ++i) {
    View around = written;  // whole in this axis
    around.offset -= pad.before[i] * dst.axes[i].stride;
    around.axes[i].size = dst.axes[i].size;
    const auto fill = [&](int64_t start, int64_t size) {
      if (size == 0) return;
      const View border = sliced_axis(around, i, start, size);
      const bool fits =
          std::ranges::equal(border.axes, pad.source.view.axes, std::ranges::less_equal{}, &Axis::size, &Axis::size);
      emit_fill(s, border, fits ? pad.source : Operand{.view = written, .type = pad.source.type}, pad.fill);
    };
    fill(0, pad.before[i]);
    fill(pad.before[i] + written.axes[i].size, pad.after[i]);
    written = around;
  }
}

namespace {

Operand copied(Selection& s, const Operand& operand) {
  Operand copy = operand;
  copy.view = s.new_tensor("dense", operand.view.shape(), operand.type);
  emit_copy(s, copy.view, operand.view, operand.type);
  return copy;
}

// Whether all elements of a tensor have their values: it is an input or a constant, or the steps write as many. Other
// parts of a result that is assembled in place (of a PAD or CONCAT) may come later.
bool is_complete(const Network& network, TensorId id) {
  const PlanTensor& tensor = network[id];
  if (tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kConstant) return true;
  int64_t left = tensor.shape.elements();
  for (const Step& step : network.steps)
    if (step.ofm.tensor == id) left -= step.ofm.height * step.ofm.width * step.ofm.depth;
  return left <= 0;
}

// For a slice of a tensor with another axis order, it is cheaper to copy the rows that contain it. Rows without gaps
// are copied in one operation, rows of a slice one by one.
std::optional<Operand> copied_with_its_rows(Selection& s, const Operand& operand) {
  const View& view = operand.view;
  const size_t channels = view.rank() - 1;
  std::vector<int64_t> start;
  const PlanTensor& tensor = s.network()[view.tensor];
  if (tensor.element_bytes != operand.type.bytes() || !is_complete(s.network(), view.tensor)) return std::nullopt;
  const auto whole = whole_rows(view, tensor.shape.elements(), channels, start);
  if (!whole || whole->shape() == view.shape() || 2 * whole->elements() > 3 * view.elements()) return std::nullopt;
  Operand rows = operand;
  rows.view = *whole;
  rows = copied(s, rows);
  std::vector<int64_t> size;
  for (const Axis& axis : view.axes) size.push_back(axis.size);
  rows.view = sliced(rows.view, start, size);
  return rows;
}

}  // namespace

Operand with_dense_channels(Selection& s, const Operand& operand) {
  if (operand.view.rank() == 0) return operand;
  const Axis& innermost = operand.view.axes.back();
  if (innermost.size == 1 || innermost.stride == 1) return operand;
  if (auto rows = copied_with_its_rows(s, operand)) return *std::move(rows);
  return copied(s, operand);
}

void emit_tiled(Selection& s, const View& dst, const View& src, ElementType type) {
  View filled = dst;
  for (size_t i = 0; i < dst.rank(); ++i) filled = sliced_axis(filled, i, 0, src.axes[i].size);
  emit_copy(s, filled, src, type);
  for (size_t i = 0; i < dst.rank(); ++i) {
    const int64_t whole = dst.axes[i].size;
    for (int64_t done = src.axes[i].size; done < whole;) {
      const int64_t more = std::min(done, whole - done);
      View next = filled;  // axes before i are whole, axes after it still one tile
      next.offset += done * dst.axes[i].stride;
      next.axes[i].size = more;
      emit_copy(s, next, sliced_axis(filled, i, 0, more), type);
      done += more;
      filled.axes[i].size = done;
    }
  }
}

Operand repeated(Selection& s, const Operand& operand, const Shape& shape) {
  if (operand.view.shape() == shape) return operand;
  Operand copy = operand;
  copy.view = s.new_tensor("repeated", shape, operand.type);
  emit_tiled(s, copy.view, operand.view, operand.type);
  return copy;
}

}  // namespace carina::plan
