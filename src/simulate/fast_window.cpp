#include "simulate/fast_window.h"

#include <algorithm>

#include "simulate/rows.h"

namespace carina::simulate {

namespace {

constexpr int64_t kWindowElems = 128 * 1024;  // 256 KiB
constexpr int64_t kAccElems = 64 * 1024;

template <typename T>
WindowScratch<T>& window_scratch() {
  if constexpr (sizeof(T) == 1) {
    return thread_scratch().bytes;
  } else {
    return thread_scratch().shorts;
  }
}

int64_t window_columns(const Operation& op) {
  return int64_t{op.ofm_extent.width - 1} * op.kernel.stride_x + op.kernel.extent_w;
}

}  // namespace

template <typename T>
Window<T>::Window(const Work& work, size_t channels, T fill, T zero)
    : work_(work),
      channels_(static_cast<int64_t>(channels)),
      fill_(fill),
      zero_(zero),
      columns_(window_columns(*work.op)),
      row_elems_(columns_ * channels_) {}

template <typename T>
int64_t Window<T>::tap_offset(int32_t ky, int32_t kx) const {
  const Kernel& k = work_.op->kernel;
  return int64_t{ky} * k.dilation_y * row_elems_ + int64_t{kx} * k.dilation_x * channels_;
}

template <typename T>
void Window<T>::load(Rows rows) {
  const Operation& op = *work_.op;
  const int64_t first = int64_t{rows.begin} * op.kernel.stride_y - op.padding.top;
  const int64_t count = int64_t{rows.count() - 1} * op.kernel.stride_y + op.kernel.extent_h;
  WindowScratch<T>& scratch = window_scratch<T>();
  // The last group of channels may be read past the end of the window.
  T* data = scratch.window.get(static_cast<size_t>(count * row_elems_) + 64).data();
  for (int64_t r = 0; r < count; ++r) load_row(first + r, data + r * row_elems_);
  const std::span<const T*> pixels =
      scratch.pixels.get(static_cast<size_t>(int64_t{rows.count()} * op.ofm_extent.width));
  size_t p = 0;
  for (int32_t y = 0; y < rows.count(); ++y) {
    const T* row = data + int64_t{y} * op.kernel.stride_y * row_elems_;
    for (int32_t x = 0; x < op.ofm_extent.width; ++x) pixels[p++] = row + int64_t{x} * op.kernel.stride_x * channels_;
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
  // Window columns [left, right) have an input.
  const int64_t left = std::min<int64_t>(op.padding.left, columns_);
  const int64_t right = std::clamp<int64_t>(left + work_.ifm_extent.width, left, columns_);
  std::fill_n(out, left * channels_, fill_);
  std::fill_n(out + right * channels_, (columns_ - right) * channels_, fill_);
  const auto width = static_cast<int32_t>(right - left);
  if (width == 0) return;
  const int32_t depth = work_.ifm.box().depth;
  const int32_t zero_point = op.ifm.zero_point;
  if (upscale == Upscale::kNone) {
    read_row(work_.ifm, static_cast<int32_t>(iy), 0, width, depth, zero_point, out + left * channels_, channels_);
    return;
  }
  const int32_t half = (width + 1) / 2;
  T* row = window_scratch<T>().row.get(static_cast<size_t>(half * channels_)).data();
  read_row(work_.ifm, static_cast<int32_t>(iy / 2), 0, half, depth, zero_point, row, channels_);
  for (int32_t x = 0; x < width; ++x) {
    T* to = out + (left + x) * channels_;
    if (upscale == Upscale::kZeros && x % 2 != 0) {
      std::fill_n(to, channels_, zero_);
    } else {
      std::copy_n(row + x / 2 * channels_, channels_, to);
    }
  }
}

template class Window<int16_t>;
template class Window<uint8_t>;

int32_t rows_for_cache(const Work& work, size_t channels_in, size_t channels_out) {
  const Operation& op = *work.op;
  const int64_t window_row = window_columns(op) * static_cast<int64_t>(channels_in);
  const int64_t acc_row = int64_t{op.ofm_extent.width} * static_cast<int64_t>(channels_out);
  const int64_t by_window =
      (kWindowElems / std::max<int64_t>(1, window_row) - op.kernel.extent_h) / op.kernel.stride_y + 1;
  const int64_t by_acc = kAccElems / std::max<int64_t>(1, acc_row);
  return static_cast<int32_t>(std::clamp<int64_t>(std::min(by_window, by_acc), 1, op.ofm_extent.height));
}

}  // namespace carina::simulate
