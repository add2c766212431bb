#pragma once

#include <cstdint>
#include <span>

#include "simulate/scratch.h"
#include "simulate/work.h"

namespace carina::simulate {

// The inputs that a few output rows look at, as dense values [rows][columns][channels] with padding filled in: of 16 bits less
// the zero point, or unsigned bytes as read_row() raises them.
template <typename T>
class Window {
 public:
  // `channels` per column (the map's, padded). `fill` stands where there is no input, `zero` where upscaling puts one.
  Window(const Work& work, size_t channels, T fill, T zero);

  // Fills the window for output rows `rows`, in the thread's scratch memory.
  void load(Rows rows);
  // The first tap of each output position of the loaded rows, in order.
  [[nodiscard]] std::span<const T* const> pixels() const { return pixels_; }
  // From a position's first tap to another tap.
  [[nodiscard]] int64_t tap_offset(int32_t ky, int32_t kx) const;
  [[nodiscard]] int64_t row_elems() const { return row_elems_; }

 private:
  void load_row(int64_t iy, T* out);

  const Work& work_;
  int64_t channels_;
  T fill_;
  T zero_;
  int64_t columns_;
  int64_t row_elems_;
  std::span<const T* const> pixels_;
};

// How many output rows make a window and accumulators of a size that caches hold.
int32_t rows_for_cache(const Work& work, size_t channels_in, size_t channels_out);

}  // namespace carina::simulate
