#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/network/step.h"
#include "plan/network/view.h"

// Divides elementwise and copy operations into boxes that the NPU's addressing can express.
//   Example: five axes [2,3,5,8,16] that cannot be merged. The two outer axes are unrolled: 6 boxes of 5x8x16.
namespace carina::plan {

// The part of one operand that a box covers.
struct BoxOperand {
  int64_t offset = 0;
  int64_t stride_y = 0;
  int64_t stride_x = 0;
  Broadcast broadcast = {};  // axes that the operand does not have
};

// A part of an iteration space that one NPU operation can compute: at most three axes, each within the NPU's limit.
struct Box {
  int64_t height = 1;
  int64_t width = 1;
  int64_t depth = 1;
  std::vector<BoxOperand> operands = {};
};

// The limit for the number of boxes. A network with as many operations would be of no use.
inline constexpr size_t kMaxBoxes = 100'001;
inline constexpr size_t kNoBroadcast = static_cast<size_t>(-1);

// Which axis becomes the channels of the box: any axis that is contiguous, or only the innermost axis (for operations
// with parameters per channel).
enum class ChannelAxis : uint8_t { kAny, kInnermost };

// Divides the common iteration space of `views` into boxes, in order. All views have the shape of views[0], which is
// the destination. An axis that an operand repeats has stride 0 in it. Only the operands from `may_repeat` on may keep
// such axes inside a box; for other operands, repeats are unrolled. The channels of a box are contiguous in all
// operands, or there is one channel.
std::vector<Box> boxes_of(std::span<const View> views, size_t may_repeat, ChannelAxis channels = ChannelAxis::kAny);

// The feature map of one operand of a box.
FeatureMap feature_map(const Box& box, size_t operand, TensorId tensor, ElementType type, int64_t zero_point);

}  // namespace carina::plan
