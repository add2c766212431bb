#include "firmware/npu/execute.h"

#include <algorithm>
#include <limits>

#include "firmware/npu/arithmetic.h"
#include "firmware/npu/checked_map.h"
#include "firmware/npu/output_stage.h"

namespace carina::firmware::npu_core {

namespace {

int32_t zero_point_of(const FeatureMap& map) {
  return map.type.bytes >= 4 ? 0 : map.zero_point;
}

// The size of the IFM in the coordinates of windows: without padding, after upscaling. Source: docs/facts/ethosu.md
// 3.3.
Extent window_extent(const Operation& op) {
  const Kernel& k = op.kernel;
  const Extent& ofm = op.ofm_extent;
  const bool all_channels = op.kind == Kind::kConvolution || (op.kind == Kind::kPool && op.pool == Pool::kReduceSum);
  return {
      .height = std::max<int32_t>(0, (ofm.height - 1) * k.stride_y + k.extent_h - op.padding.top - op.padding.bottom),
      .width = std::max<int32_t>(0, (ofm.width - 1) * k.stride_x + k.extent_w - op.padding.left - op.padding.right),
      .depth = all_channels ? op.ifm_depth : ofm.depth};
}

Extent ifm_box(const Operation& op) {
  if (op.kind == Kind::kElementwise) return op.ofm_extent;
  Extent box = window_extent(op);
  if (op.upscale != Upscale::kNone) {
    box.height = (box.height + 1) / 2;
    box.width = (box.width + 1) / 2;
  }
  return box;
}

Extent ifm2_box(const Operation& op) {
  const Broadcast& b = op.ifm2_broadcast;
  const Extent& ofm = op.ofm_extent;
  return {.height = b.h ? 1 : ofm.height, .width = b.w ? 1 : ofm.width, .depth = b.c ? 1 : ofm.depth};
}

// An operation with its memory. It computes one output position at a time.
class Run {
 public:
  Run(const Operation& op, const Resources& resources)
      : op_(op), weights_(resources.weights), window_(window_extent(op)), ifm_zero_point_(zero_point_of(op.ifm)) {}

  bool prepare_maps(const Resources& resources, std::span<const std::span<std::byte>> regions) {
    reads_ifm2_ = op_.kind == Kind::kElementwise && !op_.is_unary() && !op_.ifm2_broadcast.scalar;
    const Extent box = ifm_box(op_);
    const bool reads_ifm = box.height > 0 && box.width > 0;
    return stage_.prepare(op_, resources) &&
           (!reads_ifm || ifm_.create(op_.ifm, box, regions[op_.ifm.region], "IFM")) &&
           (!reads_ifm2_ || ifm2_.create(op_.ifm2, ifm2_box(op_), regions[op_.ifm2.region], "IFM2")) &&
           ofm_.create(op_.ofm, op_.ofm_extent, regions[op_.ofm.region], "OFM");
  }

  void compute() const {
    for (int32_t y = 0; y < op_.ofm_extent.height; ++y) {
      for (int32_t x = 0; x < op_.ofm_extent.width; ++x) compute_pixel(y, x);
    }
  }

 private:
  void compute_pixel(int32_t y, int32_t x) const {
    const CheckedMap::Pixel out = ofm_.pixel(y, x);
    for (int32_t c = 0; c < op_.ofm_extent.depth; ++c) {
      int64_t count = 1;
      const int64_t acc = accumulate(y, x, c, count);
      out.store(c, stage_.value(acc, c, count));
    }
  }

  [[nodiscard]] int64_t accumulate(int32_t y, int32_t x, int32_t c, int64_t& count) const {
    switch (op_.kind) {
      case Kind::kConvolution:
      case Kind::kDepthwise:
        return convolve(y, x, c);
      case Kind::kPool:
        return pool(y, x, c, count);
      case Kind::kElementwise:
        return elementwise(y, x, c);
    }
    return 0;
  }

  // Calls body(ky, kx, pixel) for each tap inside of the IFM. `pixel` is nullptr if upscaling inserts a zero there.
  template <typename Body>
  void for_each_tap(int32_t y, int32_t x, const Body& body) const {
    const Kernel& k = op_.kernel;
    for (int32_t ky = 0; ky < k.height; ++ky) {
      const int32_t iy = y * k.stride_y - op_.padding.top + ky * k.dilation_y;
      if (iy < 0 || iy >= window_.height) continue;
      for (int32_t kx = 0; kx < k.width; ++kx) {
        const int32_t ix = x * k.stride_x - op_.padding.left + kx * k.dilation_x;
        if (ix < 0 || ix >= window_.width) continue;
        const bool zero = op_.upscale == Upscale::kZeros && (iy % 2 != 0 || ix % 2 != 0);
        const int32_t scale = op_.upscale == Upscale::kNone ? 1 : 2;
        const CheckedMap::Pixel pixel = ifm_.pixel(iy / scale, ix / scale);
        body(ky, kx, zero ? nullptr : &pixel);
      }
    }
  }

  [[nodiscard]] int64_t input(const CheckedMap::Pixel& pixel, int32_t c) const {
    return pixel.load(c) - ifm_zero_point_;
  }

  [[nodiscard]] int64_t convolve(int32_t y, int32_t x, int32_t o) const {
    const bool depthwise = op_.kind == Kind::kDepthwise;
    const int32_t depth = depthwise ? 1 : op_.ifm_depth;
    int64_t acc = 0;
    for_each_tap(y, x, [&](int32_t ky, int32_t kx, const CheckedMap::Pixel* pixel) {
      if (pixel == nullptr) return;
      const size_t tap = (size_t(o) * op_.kernel.height + ky) * op_.kernel.width + kx;
      const int16_t* weights = weights_.data() + tap * depth;
      for (int32_t i = 0; i < depth; ++i) acc += input(*pixel, depthwise ? o : i) * weights[i];
    });
    return acc;
  }

  [[nodiscard]] int64_t pool(int32_t y, int32_t x, int32_t c, int64_t& count) const {
    const bool max = op_.pool == Pool::kMax;
    int64_t acc = max ? std::numeric_limits<int64_t>::min() : 0;
    count = 0;
    for_each_tap(y, x, [&](int32_t, int32_t, const CheckedMap::Pixel* pixel) {
      ++count;
      if (op_.pool == Pool::kReduceSum) {
        for (int32_t i = 0; pixel != nullptr && i < op_.ifm_depth; ++i) acc += input(*pixel, i);
        return;
      }
      const int64_t value = pixel == nullptr ? 0 : input(*pixel, c);
      acc = max ? std::max(acc, value) : acc + value;
    });
    return count == 0 ? 0 : acc;
  }

  [[nodiscard]] int64_t second_operand(int32_t y, int32_t x, int32_t c) const {
    const Broadcast& b = op_.ifm2_broadcast;
    const int64_t value = reads_ifm2_ ? ifm2_.pixel(b.h ? 0 : y, b.w ? 0 : x).load(b.c ? 0 : c) : op_.scalar;
    return value - zero_point_of(op_.ifm2);
  }

  [[nodiscard]] int64_t elementwise(int32_t y, int32_t x, int32_t c) const {
    const int64_t a = input(ifm_.pixel(y, x), c);
    if (op_.is_unary()) return combine(op_, a, 0);
    const int64_t b = second_operand(y, x, c);
    return op_.swap_operands ? combine(op_, b, a) : combine(op_, a, b);
  }

  const Operation& op_;
  std::span<const int16_t> weights_;
  Extent window_;
  int32_t ifm_zero_point_;
  bool reads_ifm2_ = false;
  CheckedMap ifm_;
  CheckedMap ifm2_;
  CheckedMap ofm_;
  OutputStage stage_;
};

}  // namespace

bool execute(const Operation& op, const Resources& resources,
             const std::array<std::span<std::byte>, kNpuRegions>& regions) {
  Run run(op, resources);
  if (!run.prepare_maps(resources, regions)) return false;
  run.compute();
  return true;
}

}  // namespace carina::firmware::npu_core
