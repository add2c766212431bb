#pragma once

#include <cstdint>
#include <span>

#include "simulate/kernels/fast.h"
#include "simulate/kernels/scratch_internal.h"
#include "simulate/kernels/work.h"

namespace carina::simulate {

// The inputs of a patch of outputs, as dense values [rows][columns][channels] with padding filled in. Values are 16
// bits minus the zero point, or unsigned bytes as read_row() returns them.
template <typename T>
class Window {
 public:
  // Fills the window, in the thread's scratch memory. `channels` is the padded number of the map's channels. `fill` is
  // the value of padding, `zero` the value that upscaling inserts.
  Window(const Work& work, const Patch& patch, size_t channels, T fill, T zero);

  // The first tap of each output position of the patch, in order.
  [[nodiscard]] std::span<const T* const> pixels() const { return pixels_; }
  // The offset from a position's first tap to another tap.
  [[nodiscard]] int64_t tap_offset(int32_t ky, int32_t kx) const;

 private:
  void load(const Patch& patch);
  void load_row(int64_t iy, T* out);

  const Work& work_;
  int64_t channels_;
  T fill_;
  T zero_;
  int64_t first_column_;  // of the input; negative in the padding
  int64_t columns_;
  int64_t row_elems_;
  std::span<const T* const> pixels_;
};

// The patch size for which window and accumulators fit the caches.
PatchSize patch_for_cache(const Work& work, size_t channels_in, size_t channels_out);

}  // namespace carina::simulate
