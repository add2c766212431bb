#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/network/step.h"
#include "plan/network/view.h"

namespace carina::plan {

// The part of one operand that belongs to a box.
struct BoxOperand {
  int64_t offset = 0;
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  Broadcast broadcast = {};  // axes that the operand does not have
};

// A part of an iteration space that one NPU operation can walk: at most three axes, each within the NPU's limit.
struct Box {
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  std::vector<BoxOperand> operands = {};
};

// More boxes than this are not made: nobody wants a network of as many operations.
inline constexpr size_t kMaxBoxes = 100'001;
inline constexpr size_t kNoBroadcast = static_cast<size_t>(-1);

// Which axis becomes the box's channels: whichever stands side by side, or only the innermost (where channels are told
// apart).
enum class ChannelAxis : uint8_t { kAny, kInnermost };

// Cuts the common iteration space of `views` into boxes, in order. All views have the shape of views[0], the
// destination; axes that an operand repeats have stride 0 in it. Only operand `may_repeat` may keep such axes inside a
// box; repeats of the others are unrolled. Channels stand side by side in all operands of a box (or there is one
// channel).
std::vector<Box> boxes_of(std::span<const View> views, size_t may_repeat, ChannelAxis channels = ChannelAxis::kAny);

// The feature map of one operand of a box.
FeatureMap feature_map(const Box& box, size_t operand, TensorId tensor, ElementType type, int64_t zero_point);

}  // namespace carina::plan
