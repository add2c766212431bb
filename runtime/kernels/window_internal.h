#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// One spatial axis of a convolution or a pool.
struct Window {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
};

// The list's entry for spatial axis `axis` of `axes`. A list of one entry applies to all axes.
inline int64_t entry_of(Call& call, std::span<const int64_t> list, size_t axis, size_t axes, int64_t otherwise) {
  if (list.empty()) return otherwise;
  call.require(list.size() == 1 || list.size() == axes);
  if (list.size() == 1) return list[0];
  return axis < list.size() ? list[axis] : otherwise;
}

// Returns whether the numbers are so small that positions cannot overflow.
inline bool is_sane(const Window& window) {
  constexpr int64_t kMaxSize = int64_t{1} << 31;
  return window.kernel >= 1 && window.kernel < kMaxSize && window.stride >= 1 && window.stride < kMaxSize &&
         window.padding >= 0 && window.padding < kMaxSize && window.dilation >= 1 && window.dilation < kMaxSize;
}

// The taps [first, end) of a window at output position `at` that are inside of an input axis with `size` elements.
struct Taps {
  int64_t first = 0;
  int64_t end = 0;
};

inline Taps taps_inside(const Window& window, int64_t at, int64_t size) {
  const int64_t start = at * window.stride - window.padding;
  if (start >= size) return {};
  const auto divided = [&](int64_t value) {  // small cores have no 64-bit division
    return window.dilation == 1 ? value : value / window.dilation;
  };
  const int64_t first = start < 0 ? divided(-start + window.dilation - 1) : 0;
  const int64_t end = divided(size - 1 - start) + 1;
  return {.first = first, .end = end < window.kernel ? end : window.kernel};
}

// The output size of a convolution along one axis. `more` is the output padding of a transposed convolution.
inline int64_t convolved_size(const Window& window, int64_t size, int64_t more, bool transposed) {
  const int64_t reach = window.dilation * (window.kernel - 1);
  if (transposed) return (size - 1) * window.stride - 2 * window.padding + reach + more + 1;
  const int64_t span = size + 2 * window.padding - reach - 1;
  return span < 0 ? 0 : span / window.stride + 1;
}

// An image [N, C, H, W]. [C, H, W] becomes a batch of one, and [N, C, W] an image of height one.
struct Image {
  int64_t batches = 1, channels = 1, height = 1, width = 1;
  int64_t batch_step = 0, channel_step = 0, row_step = 0, column_step = 0;
};

enum class Missing : uint8_t { kBatch, kHeight };

inline bool image_of(const Tensor& tensor, Missing missing, Image& image) {
  const Layout layout = layout_of(tensor);
  if (layout.rank != 3 && layout.rank != 4) return false;
  const bool full = layout.rank == 4;
  const bool has_batch = full || missing == Missing::kHeight;
  const bool has_height = full || missing == Missing::kBatch;
  size_t axis = 0;
  const auto take = [&](bool present, int64_t& size, int64_t& step) {
    if (!present) return;
    size = layout.sizes[axis];
    step = layout.strides[axis];
    ++axis;
  };
  take(has_batch, image.batches, image.batch_step);
  take(true, image.channels, image.channel_step);
  take(has_height, image.height, image.row_step);
  take(true, image.width, image.column_step);
  return true;
}

// Gives a resizable output the sizes of an image. The kernel checks other outputs.
inline void fit_to_image(Call& call, const Tensor& out, Missing missing, const Image& sizes) {
  if (!out.resizable) return;
  if (out.rank() == 4) return call.fit(out, {sizes.batches, sizes.channels, sizes.height, sizes.width});
  if (missing == Missing::kBatch) return call.fit(out, {sizes.channels, sizes.height, sizes.width});
  call.fit(out, {sizes.batches, sizes.channels, sizes.width});
}

// The offset of an element. Factors and products are as wide as an address.
inline ptrdiff_t index_in(const Image& image, int64_t n, int64_t c, int64_t y, int64_t x) {
  const auto narrow = [](int64_t value) { return static_cast<ptrdiff_t>(value); };
  return narrow(n) * narrow(image.batch_step) + narrow(c) * narrow(image.channel_step) +
         narrow(y) * narrow(image.row_step) + narrow(x) * narrow(image.column_step);
}

// Calls function(n, c, y, x) for each output element.
template <typename Function>
void for_each(const Image& out, const Function& function) {
  for (int64_t n = 0; n < out.batches; ++n) {
    for (int64_t c = 0; c < out.channels; ++c) {
      for (int64_t y = 0; y < out.height; ++y) {
        for (int64_t x = 0; x < out.width; ++x) function(n, c, y, x);
      }
    }
  }
}

}  // namespace carina::runtime
