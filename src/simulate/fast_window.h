#pragma once

#include <cstdint>
#include <span>

#include "simulate/scratch.h"
#include "simulate/work.h"

namespace carina::simulate {

// The inputs that a few output rows look at, as dense 16-bit values [rows][columns][channels] with padding filled in.
class Window {
 public:
  // `channels` per column (the map's, padded); `fill` stands where there is no input.
  Window(const Work& work, size_t channels, int16_t fill);

  // Fills the window for output rows `rows`, in the thread's scratch memory.
  void load(Rows rows);
  // The first tap of each output position of the loaded rows, in order.
  [[nodiscard]] std::span<const int16_t* const> pixels() const { return pixels_; }
  // From a position's first tap to another tap.
  [[nodiscard]] int64_t tap_offset(int32_t ky, int32_t kx) const;
  [[nodiscard]] int64_t row_elems() const { return row_elems_; }

 private:
  void load_row(int64_t iy, int16_t* out);

  const Work& work_;
  int64_t channels_;
  int16_t fill_;
  int64_t columns_;
  int64_t row_elems_;
  std::span<const int16_t* const> pixels_;
};

// How many output rows make a window and accumulators of a size that caches hold.
int32_t rows_for_cache(const Work& work, size_t channels_in, size_t channels_out);

}  // namespace carina::simulate
