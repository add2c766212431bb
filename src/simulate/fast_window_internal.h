#pragma once

#include <cstdint>
#include <span>

#include "simulate/fast_internal.h"
#include "simulate/scratch_internal.h"
#include "simulate/work_internal.h"

namespace carina::simulate {

// The inputs that a patch of outputs looks at, as dense values [rows][columns][channels] with padding filled in: of 16 bits less
// the zero point, or unsigned bytes as read_row() raises them.
template <typename T>
class Window {
 public:
  // Fills the window, in the thread's scratch memory. `channels` per column (the map's, padded). `fill` stands where there is
  // no input, `zero` where upscaling puts one.
  Window(const Work& work, const Patch& patch, size_t channels, T fill, T zero);

  // The first tap of each output position of the patch, in order.
  [[nodiscard]] std::span<const T* const> pixels() const { return pixels_; }
  // From a position's first tap to another tap.
  [[nodiscard]] int64_t tap_offset(int32_t ky, int32_t kx) const;
  [[nodiscard]] int64_t row_elems() const { return row_elems_; }

 private:
  void load(const Patch& patch);
  void load_row(int64_t iy, T* out);

  const Work& work_;
  int64_t channels_;
  T fill_;
  T zero_;
  int64_t first_column_;  // of the input; before its first one where that is padding
  int64_t columns_;
  int64_t row_elems_;
  std::span<const T* const> pixels_;
};

// How much makes a window and accumulators of a size that caches hold.
PatchSize patch_for_cache(const Work& work, size_t channels_in, size_t channels_out);

}  // namespace carina::simulate
