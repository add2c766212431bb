#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "accelerate/packed_gemm_internal.h"
#include "accelerate/step_internal.h"
#include "accelerate/vector_internal.h"

namespace carina::accelerate {

// A convolution of floats, [N, C, H, W] throughout; one of [N, C, W] has a height of one.
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

// With the batch norm and the limits that follow it.
class Convolution final : public Step {
 public:
  Convolution(const Geometry& geometry, Arguments arguments, const Tail& tail);

  void run(ThreadPool& pool) override;

  // For one image of those that is_depthwise(): channels [first, first + count) of the output to `out`, from the planes of the
  // inputs that they read, the first of them at `in`.
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
  struct Outputs {  // from (y, x) on, row by row
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

// No value if make_convolution() returns none.
std::optional<Geometry> geometry_of(Arguments arguments, const Tail& tail);

}  // namespace carina::accelerate
