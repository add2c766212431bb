#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "accelerate/packed_gemm_internal.h"
#include "accelerate/step_internal.h"
#include "accelerate/vector_internal.h"

namespace carina::accelerate {

// The geometry of a float convolution. Tensors are [N, C, H, W]; a tensor [N, C, W] is treated as height 1.
struct Geometry {
  int64_t batch, channels, out_channels, groups;
  Plane plane;

  [[nodiscard]] int64_t group_in() const { return channels / groups; }
  [[nodiscard]] int64_t group_out() const { return out_channels / groups; }
  [[nodiscard]] bool is_pointwise() const {
    const Plane& p = plane;
    return p.taps() == 1 && p.stride_y == 1 && p.stride_x == 1 && p.padding_y == 0 && p.padding_x == 0;
  }
  [[nodiscard]] bool is_depthwise() const { return group_in() == 1 && plane.taps() > 1 && plane.taps() <= kMaxTaps; }
};

// A float convolution, fused with the batch norm and the clamp that follow it.
class Convolution final : public Step {
 public:
  Convolution(const Geometry& geometry, Arguments arguments, const Tail& tail);

  void run(ThreadPool& pool) override;

  // Computes output channels [first, first + count) of one image into `out`. Requires is_depthwise(). `in` is the plane
  // of the first input channel that these channels read.
  void run_planes(const float* in, int64_t first, int64_t count, float* out) const;
  // Like run(), for convolutions with is_pointwise() and without groups. `in` is the whole image; `first` is a multiple
  // of kPanelRows / 2.
  void run_rows(const float* in, int64_t first, int64_t count, float* out) const;

  [[nodiscard]] const Geometry& geometry() const { return g_; }
  [[nodiscard]] const Tensor& in() const { return in_->tensor; }
  [[nodiscard]] Tensor& out() const { return out_->tensor; }

 private:
  void set_factors(const EValue* bias, Arguments norm);
  void pack_weights();
  void run_depthwise(ThreadPool& pool, const float* in, float* out) const;
  void run_gemms(ThreadPool& pool, const float* in, float* out) const;
  [[nodiscard]] Epilogue epilogue(int64_t first) const;
  void gather(const float* in, int64_t begin, int64_t count, float* to) const;
  struct Outputs {  // `count` outputs in row-major order, the first at (y, x)
    int64_t y, x, count;
  };
  void gather_tap(const float* in, int64_t down, int64_t right, const Outputs& outputs, float* to) const;
  void gather_run(const float* row, int64_t column, int64_t run, float* to) const;

  Geometry g_;
  EValue* in_;
  EValue* weight_;
  EValue* out_;
  Bounds bounds_;
  std::vector<PackedMatrix> packed_;  // the weights of each group, if the convolution is computed as a GEMM
  std::vector<float> scale_, shift_;
  std::vector<float> own_;  // used if the output would overwrite the input
};

// The image and the window of a call of aten.convolution; a 1-D image has one row. No value if the ranks differ or are
// others than 3 and 4. An entry is -1 if its list has another length than the image has axes.
std::optional<Plane> plane_of(Arguments arguments, const EValue& out);

// nullptr if it does not support the call, or a batch norm follows.
std::unique_ptr<Step> make_transposed_convolution(Arguments arguments, const Tail& tail);

// No value if make_convolution() returns none, or the convolution is transposed.
std::optional<Geometry> geometry_of(Arguments arguments, const Tail& tail);

}  // namespace carina::accelerate
