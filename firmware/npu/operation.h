#pragma once

#include <array>
#include <cstdint>

// One NPU operation, from the registers at its command. Sizes are sizes (not size - 1). Registers that only one product
// has are omitted. Private to the library.
namespace carina::firmware::npu_core {

struct ElementType {
  uint8_t bytes = 1;
  bool is_signed = false;
};

struct Extent {
  int32_t height = 0;
  int32_t width = 0;
  int32_t depth = 0;
};

struct FeatureMap {
  std::array<uint32_t, 4> base{};  // addresses of the tiles
  int32_t stride_y = 0;
  int32_t stride_x = 0;
  int32_t stride_c = 0;
  int32_t width0 = 0;   // width of the left tiles
  int32_t height0 = 0;  // height of the upper left tile
  int32_t height1 = 0;  // height of the upper right tile
  uint8_t region = 0;
  ElementType type{};
  bool bricks = false;  // the layout is NHCWB16
  int32_t zero_point = 0;
};

enum class Rounding : uint8_t { kNatural, kDouble, kTruncate };

// A multiplier and a right shift. Source: docs/facts/ethosu.md 4.1.
struct Scaling {
  uint32_t multiplier = 1;
  uint8_t shift = 0;
  Rounding mode = Rounding::kNatural;
  uint8_t double_round = 0;
  [[nodiscard]] bool is_unit() const { return multiplier == 1 && shift == 0; }
};

enum class Kind : uint8_t { kConvolution, kDepthwise, kPool, kElementwise };
enum class Pool : uint8_t { kMax, kAverage, kReduceSum };
enum class Elementwise : uint8_t { kMul, kAdd, kSub, kMin, kMax, kLrelu, kAbs, kClz, kShr, kShl };
enum class OperandScaling : uint8_t { kBoth16, kFirst32, kSecond32 };
enum class Upscale : uint8_t { kNone, kNearest, kZeros };

struct Broadcast {
  bool h = false;
  bool w = false;
  bool c = false;
  bool scalar = false;
};

struct Kernel {
  int32_t height = 1;  // number of taps
  int32_t width = 1;
  int32_t stride_y = 1;
  int32_t stride_x = 1;
  int32_t dilation_y = 1;
  int32_t dilation_x = 1;
  int32_t extent_h = 1;  // (taps - 1) * dilation + 1
  int32_t extent_w = 1;
  [[nodiscard]] int64_t taps() const { return int64_t{height} * width; }
};

struct Padding {
  int32_t top = 0;
  int32_t left = 0;
  int32_t right = 0;
  int32_t bottom = 0;
};

struct Activation {
  bool table = false;
  uint8_t slot = 0;
  ElementType type{};  // type of the clamped value and of the table index
  bool clamp = true;
  int32_t min = 0;
  int32_t max = 0;
};

// A range of bytes that an operation reads.
struct Stream {
  uint8_t region = 0;
  uint32_t base = 0;
  uint32_t bytes = 0;
};

struct Operation {
  Kind kind = Kind::kPool;
  Pool pool = Pool::kMax;
  Elementwise elementwise = Elementwise::kAdd;
  Extent ofm_extent{};
  int32_t ifm_depth = 1;
  FeatureMap ifm{};
  FeatureMap ifm2{};
  FeatureMap ofm{};
  Broadcast ifm2_broadcast{};
  bool swap_operands = false;
  int32_t scalar = 0;
  Kernel kernel{};
  Padding padding{};
  Upscale upscale = Upscale::kNone;
  bool part_kernel_first = false;
  int32_t block_depth = 1;
  Scaling output{};
  bool per_channel = false;
  OperandScaling operand_scaling = OperandScaling::kBoth16;
  Scaling first{};
  Scaling second{};
  Activation activation{};
  Stream weights{};
  Stream scales{};

  [[nodiscard]] bool is_convolution_like() const { return kind == Kind::kConvolution || kind == Kind::kDepthwise; }
  [[nodiscard]] bool is_unary() const {
    return elementwise == Elementwise::kAbs || elementwise == Elementwise::kClz || elementwise == Elementwise::kLrelu;
  }
  // 32-bit operands have no scale and no zero point.
  [[nodiscard]] bool has_wide_operand() const { return ifm.type.bytes >= 4 || (!is_unary() && ifm2.type.bytes >= 4); }
};

}  // namespace carina::firmware::npu_core
