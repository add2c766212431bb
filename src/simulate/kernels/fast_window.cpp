#include "simulate/kernels/fast_window_internal.h"

#include <algorithm>

#include "simulate/kernels/rows.h"

namespace carina::simulate {

namespace {

constexpr int64_t kWindowElems = 128 * 1024;  // 256 KiB
constexpr int64_t kAccElems = 64 * 1024;
constexpr int64_t kMinColumns = 96;   // fewer would read an operation's weights for little
constexpr int64_t kTileColumns = 12;  // a multiple of what kernels take together

template <typename T>
WindowScratch<T>& window_scratch() {
  if constexpr (sizeof(T) == 1) {
    return thread_scratch().bytes;
  } else {
    return thread_scratch().shorts;
  }
}

int64_t window_columns(const Operation& op, int64_t outputs) {
  return (outputs - 1) * op.kernel.stride_x + op.kernel.extent_w;
}

}  // namespace

template <typename T>
Window<T>::Window(const Work& work, const Patch& patch, size_t channels, T fill, T zero)
    : work_(work),
      channels_(static_cast<int64_t>(channels)),
      fill_(fill),
      zero_(zero),
      first_column_(int64_t{patch.columns.begin} * work.op->kernel.stride_x - work.op->padding.left),
      columns_(window_columns(*work.op, patch.columns.count())),
      row_elems_(columns_ * channels_) {
  load(patch);
}

template <typename T>
int64_t Window<T>::tap_offset(int32_t ky, int32_t kx) const {
  const Kernel& k = work_.op->kernel;
  return int64_t{ky} * k.dilation_y * row_elems_ + int64_t{kx} * k.dilation_x * channels_;
}

template <typename T>
void Window<T>::load(const Patch& patch) {
  const Operation& op = *work_.op;
  const int64_t first = int64_t{patch.rows.begin} * op.kernel.stride_y - op.padding.top;
  const int64_t count = int64_t{patch.rows.count() - 1} * op.kernel.stride_y + op.kernel.extent_h;
  WindowScratch<T>& scratch = window_scratch<T>();
  // The last group of channels may be read past the end of the window.
  T* data = scratch.window.get(static_cast<size_t>(count * row_elems_) + 64).data();
  for (int64_t r = 0; r < count; ++r) load_row(first + r, data + r * row_elems_);
  const std::span<const T*> pixels = scratch.pixels.get(patch.positions());
  size_t p = 0;
  for (int32_t y = 0; y < patch.rows.count(); ++y) {
    const T* row = data + int64_t{y} * op.kernel.stride_y * row_elems_;
    for (int32_t x = 0; x < patch.columns.count(); ++x) pixels[p++] = row + int64_t{x} * op.kernel.stride_x * channels_;
  }
  pixels_ = pixels;
}

template <typename T>
void Window<T>::load_row(int64_t iy, T* out) {
  const Operation& op = *work_.op;
  const Upscale upscale = op.upscale;
  if (iy < 0 || iy >= work_.ifm_extent.height || (upscale == Upscale::kZeros && iy % 2 != 0)) {
    const T value = iy < 0 || iy >= work_.ifm_extent.height ? fill_ : zero_;
    std::fill_n(out, row_elems_, value);
    return;
  }
  // Window columns [left, right) have an input, from `begin` on.
  const int64_t left = std::clamp<int64_t>(-first_column_, 0, columns_);
  const int64_t right = std::clamp<int64_t>(work_.ifm_extent.width - first_column_, left, columns_);
  std::fill_n(out, left * channels_, fill_);
  std::fill_n(out + right * channels_, (columns_ - right) * channels_, fill_);
  if (left == right) return;
  const auto begin = static_cast<int32_t>(first_column_ + left), end = static_cast<int32_t>(first_column_ + right);
  const int32_t depth = work_.ifm.box().depth;
  const int32_t zero_point = op.ifm.zero_point;
  if (upscale == Upscale::kNone) {
    read_row(work_.ifm, static_cast<int32_t>(iy), begin, end, depth, zero_point, out + left * channels_, channels_);
    return;
  }
  const int32_t half_begin = begin / 2, half_end = (end + 1) / 2;
  T* row = window_scratch<T>().row.get(static_cast<size_t>((half_end - half_begin) * channels_)).data();
  read_row(work_.ifm, static_cast<int32_t>(iy / 2), half_begin, half_end, depth, zero_point, row, channels_);
  T* to = out + left * channels_;
  for (int32_t x = begin; x < end; ++x, to += channels_) {
    if (upscale == Upscale::kZeros && x % 2 != 0) {
      std::fill_n(to, channels_, zero_);
    } else {
      std::copy_n(row + (x / 2 - half_begin) * channels_, channels_, to);
    }
  }
}

template class Window<int16_t>;
template class Window<uint8_t>;

PatchSize patch_of(const Extent& ofm, int64_t positions) {
  if (positions >= ofm.width)
    return {.rows = static_cast<int32_t>(std::clamp<int64_t>(positions / std::max(1, ofm.width), 1, ofm.height)),
            .columns = ofm.width};
  const int64_t columns = std::max(kMinColumns, positions) / kTileColumns * kTileColumns;
  return {.rows = 1, .columns = static_cast<int32_t>(std::min<int64_t>(columns, ofm.width))};
}

PatchSize patch_for_cache(const Work& work, size_t channels_in, size_t channels_out) {
  const Operation& op = *work.op;
  const auto in = std::max<int64_t>(1, static_cast<int64_t>(channels_in));
  const auto out = std::max<int64_t>(1, static_cast<int64_t>(channels_out));
  const Extent& ofm = op.ofm_extent;
  const int64_t window_row = window_columns(op, ofm.width) * in;
  const int64_t rows = (kWindowElems / window_row - op.kernel.extent_h) / op.kernel.stride_y + 1;
  const int64_t columns = (kWindowElems / (in * op.kernel.extent_h) - op.kernel.extent_w) / op.kernel.stride_x + 1;
  return patch_of(ofm, std::min(kAccElems / out, rows >= 1 ? rows * ofm.width : columns));
}

}  // namespace carina::simulate
