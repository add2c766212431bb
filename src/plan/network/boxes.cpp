#include "plan/network/boxes.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {
namespace {

// One axis of the iteration space with the stride that each operand has along it.
struct SharedAxis {
  int64_t size = 1;
  std::vector<int64_t> strides;
};

std::vector<SharedAxis> shared_axes(std::span<const View> views) {
  std::vector<SharedAxis> axes;
  for (size_t i = 0; i < views.front().rank(); ++i) {
    SharedAxis axis{.size = views.front().axes[i].size, .strides = {}};
    if (axis.size == 1) continue;
    for (const View& view : views) axis.strides.push_back(view.axes[i].stride);
    axes.push_back(std::move(axis));
  }
  return axes;
}

class BoxCutter {
 public:
  BoxCutter(std::span<const View> views, size_t may_repeat, ChannelAxis channels)
      : views_(views), may_repeat_(may_repeat), channels_(channels), outer_(shared_axes(views)) {}

  std::vector<Box> cut() {
    unroll_repeats();
    take_channels();
    take_rows_and_columns();
    if (channels_ == ChannelAxis::kAny) widen_vector();
    std::vector<int64_t> offsets;
    for (const View& view : views_) offsets.push_back(view.offset);
    walk(0, offsets);
    return std::move(boxes_);
  }

 private:
  [[nodiscard]] bool repeats_where_it_must_not(const SharedAxis& axis) const {
    for (size_t k = 1; k < axis.strides.size(); ++k) {
      if (k < may_repeat_ && axis.strides[k] == 0) return true;
    }
    return false;
  }

  void unroll_repeats() {
    const auto inner = std::stable_partition(outer_.begin(), outer_.end(),
                                             [&](const SharedAxis& a) { return repeats_where_it_must_not(a); });
    inner_.assign(std::make_move_iterator(inner), std::make_move_iterator(outer_.end()));
    outer_.erase(inner, outer_.end());
  }

  [[nodiscard]] bool side_by_side(const SharedAxis& axis) const {
    for (size_t k = 0; k < axis.strides.size(); ++k) {
      if (axis.strides[k] != 1 && !(k >= may_repeat_ && axis.strides[k] == 0)) return false;
    }
    return true;
  }

  void take_channels() {
    for (size_t i = inner_.size(); i-- > 0;) {
      if (!side_by_side(inner_[i])) continue;
      box_axes_[2] = std::move(inner_[i]);
      inner_.erase(inner_.begin() + static_cast<std::ptrdiff_t>(i));
      if (channels_ == ChannelAxis::kAny) lengthen_channels();
      return;
    }
  }

  // Merges an axis into the channels if it is contiguous after them in all operands. Too few channels would not fill
  // an ublock.
  void lengthen_channels() {
    constexpr int64_t kFewChannels = 8;
    SharedAxis& channels = box_axes_[2];
    const auto after = [&](const SharedAxis& axis) { return can_merge(axis, channels); };
    for (auto next = std::ranges::find_if(inner_, after); channels.size < kFewChannels && next != inner_.end();
         next = std::ranges::find_if(inner_, after)) {
      channels.size *= next->size;
      inner_.erase(next);
    }
  }

  static bool can_merge(const SharedAxis& outer, const SharedAxis& inner) {
    for (size_t k = 0; k < outer.strides.size(); ++k) {
      if (outer.strides[k] != inner.strides[k] * inner.size) return false;
    }
    return true;
  }

  void take_rows_and_columns() {
    for (size_t i = 0; i + 1 < inner_.size() && inner_.size() > 2;) {
      if (can_merge(inner_[i], inner_[i + 1])) {
        inner_[i + 1].size *= inner_[i].size;
        inner_.erase(inner_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    while (inner_.size() > 2) {  // the smallest is unrolled
      const auto smallest = std::ranges::min_element(inner_, {}, &SharedAxis::size);
      outer_.push_back(std::move(*smallest));
      inner_.erase(smallest);
    }
    if (!inner_.empty()) box_axes_[1] = std::move(inner_.back());
    if (inner_.size() == 2) box_axes_[0] = std::move(inner_.front());
  }

  // Gives a long row of channels a width. Alone it would fill only one column of each block.
  void widen_vector() {
    constexpr int64_t kLongVector = 4096;
    SharedAxis& channels = box_axes_[2];
    if (channels.size < kLongVector || box_axes_[0].size != 1 || box_axes_[1].size != 1) return;
    for (const int64_t depth : {128, 64, 32, 16}) {
      if (channels.size % depth != 0) continue;
      box_axes_[1] = {.size = channels.size / depth, .strides = channels.strides};
      for (int64_t& stride : box_axes_[1].strides) stride *= depth;
      channels.size = depth;
      return;
    }
  }

  void walk(size_t axis, std::vector<int64_t>& offsets) {
    if (boxes_.size() >= kMaxBoxes) return;
    if (axis == outer_.size()) {
      split(0, {box_axes_[0].size, box_axes_[1].size, box_axes_[2].size}, offsets);
      return;
    }
    const SharedAxis& loop = outer_[axis];
    for (int64_t i = 0; i < loop.size && boxes_.size() < kMaxBoxes; ++i) {
      walk(axis + 1, offsets);
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += loop.strides[k];
    }
    if (boxes_.size() >= kMaxBoxes) return;  // cancelled: offsets are not used any more
    for (size_t k = 0; k < offsets.size(); ++k) offsets[k] -= loop.strides[k] * loop.size;
  }

  // Divides box axes that are longer than the NPU's limit.
  void split(size_t axis, std::array<int64_t, 3> sizes, std::vector<int64_t> offsets) {
    if (axis == 3) {
      emit(sizes, offsets);
      return;
    }
    const int64_t whole = sizes[axis];
    for (int64_t start = 0; start < whole && boxes_.size() < kMaxBoxes; start += npu::kMaxAxis) {
      sizes[axis] = std::min<int64_t>(npu::kMaxAxis, whole - start);
      split(axis + 1, sizes, offsets);
      if (box_axes_[axis].strides.empty()) continue;
      for (size_t k = 0; k < offsets.size(); ++k) offsets[k] += box_axes_[axis].strides[k] * npu::kMaxAxis;
    }
  }

  [[nodiscard]] int64_t stride(size_t axis, size_t operand) const {
    return box_axes_[axis].strides.empty() ? 0 : box_axes_[axis].strides[operand];
  }

  void emit(const std::array<int64_t, 3>& sizes, const std::vector<int64_t>& offsets) {
    Box box{.height = sizes[0], .width = sizes[1], .depth = sizes[2], .operands = {}};
    for (size_t k = 0; k < offsets.size(); ++k) {
      box.operands.push_back({.offset = offsets[k],
                              .stride_y = stride(0, k),
                              .stride_x = stride(1, k),
                              .broadcast = {.height = sizes[0] > 1 && stride(0, k) == 0,
                                            .width = sizes[1] > 1 && stride(1, k) == 0,
                                            .depth = sizes[2] > 1 && stride(2, k) == 0}});
    }
    boxes_.push_back(std::move(box));
  }

  std::span<const View> views_;
  size_t may_repeat_;
  ChannelAxis channels_;
  std::vector<SharedAxis> outer_;  // unrolled
  std::vector<SharedAxis> inner_;
  std::array<SharedAxis, 3> box_axes_;
  std::vector<Box> boxes_;
};

}  // namespace

std::vector<Box> boxes_of(std::span<const View> views, size_t may_repeat, ChannelAxis channels) {
  return BoxCutter(views, may_repeat, channels).cut();
}

FeatureMap feature_map(const Box& box, size_t operand, TensorId tensor, ElementType type, int64_t zero_point) {
  const BoxOperand& part = box.operands[operand];
  return {.tensor = tensor,
          .offset = part.offset,
          .height = part.broadcast.height ? 1 : box.height,
          .width = part.broadcast.width ? 1 : box.width,
          .depth = part.broadcast.depth ? 1 : box.depth,
          .stride_y = part.stride_y,
          .stride_x = part.stride_x,
          .type = type,
          .zero_point = zero_point};
}

}  // namespace carina::plan
