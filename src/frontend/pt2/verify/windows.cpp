#include "frontend/pt2/verify/windows.h"

#include "base/checked_math.h"

namespace carina::aten {

namespace {

// Larger arguments would let the sums below overflow. No size is larger either, because readers bound the bytes.
constexpr int64_t kMax = int64_t{1} << 40;

std::expected<int64_t, std::string> extent_of(const Window& window) {
  const auto& [kernel, stride, padding, dilation, ceil_mode] = window;
  if (kernel < 1 || stride < 1 || dilation < 1 || padding < 0)
    return broken("kernel {}, stride {}, padding {}, dilation {} are not possible", kernel, stride, padding, dilation);
  const auto extent = checked_mul(kernel - 1, dilation);
  if (!extent || *extent > kMax || padding > kMax || stride > kMax)
    return broken("kernel {}, stride {}, padding {}, dilation {} are too large", kernel, stride, padding, dilation);
  return *extent + 1;
}

}  // namespace

std::expected<int64_t, std::string> windows_in(int64_t size, const Window& window) {
  CARINA_TRY(const int64_t extent, extent_of(window));
  const int64_t room = size + 2 * window.padding - extent;
  if (room < 0) return broken("its window of {} elements does not fit into {}", extent, size + 2 * window.padding);
  if (!window.ceil_mode) return room / window.stride + 1;
  const int64_t count = ceil_div(room, window.stride) + 1;
  // The last window starts inside of the operand or of the padding before it.
  return (count - 1) * window.stride >= size + window.padding ? count - 1 : count;
}

std::expected<int64_t, std::string> transposed_size(int64_t size, const Window& window, int64_t output_padding) {
  CARINA_TRY(const int64_t extent, extent_of(window));
  if (output_padding < 0 || output_padding >= std::max(window.stride, window.dilation))
    return broken("output padding {} with stride {} and dilation {}", output_padding, window.stride, window.dilation);
  const auto reach = size < 1 ? std::nullopt : checked_mul(size - 1, window.stride);
  const int64_t result = reach && *reach < kMax ? *reach - 2 * window.padding + extent + output_padding : 0;
  if (result < 1) return broken("its result has no elements");
  return result;
}

}  // namespace carina::aten
