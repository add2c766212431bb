#include <algorithm>
#include <cmath>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/window_internal.h"

namespace carina::runtime {

namespace {

// The numbers of PyTorch's modes.
enum Interpolation : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampler {
  Image in;
  int64_t interpolation, padding;
  bool align_corners;
};

// Reflects a coordinate between `low` and `high`, which are given in halves.
template <typename T>
T reflected(T position, int64_t twice_low, int64_t twice_high) {
  if (twice_low == twice_high) return 0;
  const T low = static_cast<T>(twice_low) / 2, span = static_cast<T>(twice_high - twice_low) / 2;
  position = std::fabs(position - low);
  const T rest = std::fmod(position, span), flips = std::floor(position / span);
  return std::fmod(flips, T{2}) == 0 ? rest + low : span - rest + low;
}

// Applies the padding mode to a coordinate.
template <typename T>
T padded_position(const Sampler& sampler, T position, int64_t size) {
  const auto max = static_cast<T>(size - 1);
  if (sampler.padding == kReflection)
    position = sampler.align_corners ? reflected(position, 0, 2 * (size - 1)) : reflected(position, -1, 2 * size - 1);
  return sampler.padding == kZeros ? position : std::min(std::max(position, T{0}), max);
}

// Converts a coordinate in [-1, 1] to elements.
template <typename T>
T unscaled(const Sampler& sampler, T position, int64_t size) {
  if (sampler.align_corners) return (position + 1) / 2 * static_cast<T>(size - 1);
  return ((position + 1) * static_cast<T>(size) - 1) / 2;
}

// The element at (y, x), or zero outside of the image. NaN, and coordinates beyond the integer range, are outside.
template <typename Reader, typename T>
T element_at(const Sampler& sampler, const Reader& read, int64_t base, T y, T x) {
  const Image& in = sampler.in;
  if (!(y >= 0 && y < static_cast<T>(in.height) && x >= 0 && x < static_cast<T>(in.width))) return 0;
  return read(base + static_cast<int64_t>(y) * in.row_step + static_cast<int64_t>(x) * in.column_step);
}

template <typename Reader, typename T>
T bilinear(const Sampler& sampler, const Reader& read, int64_t base, T y, T x) {
  const T top = std::floor(y), left = std::floor(x), down = y - top, right = x - left;
  const T bottom = top + 1, after = left + 1;
  T sum = 0;
  sum += element_at(sampler, read, base, top, left) * (1 - down) * (1 - right);
  sum += element_at(sampler, read, base, top, after) * (1 - down) * right;
  sum += element_at(sampler, read, base, bottom, left) * down * (1 - right);
  sum += element_at(sampler, read, base, bottom, after) * down * right;
  return sum;
}

// Keys' cubic kernel with a = -0.75, as in PyTorch.
template <typename T>
void cubic_weights(T t, T (&weights)[4]) {
  constexpr T a = -0.75;
  const auto near = [](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  weights[0] = far(t + 1);
  weights[1] = near(t);
  weights[2] = near(1 - t);
  weights[3] = far(2 - t);
}

template <typename Reader, typename T>
T bicubic(const Sampler& sampler, const Reader& read, int64_t base, T y, T x) {
  const T top = std::floor(y), left = std::floor(x);
  T rows[4], columns[4];
  cubic_weights(y - top, rows);
  cubic_weights(x - left, columns);
  T sum = 0;
  for (int i = 0; i < 4; ++i) {
    const T at_y = padded_position(sampler, top - 1 + static_cast<T>(i), sampler.in.height);
    T row = 0;
    for (int j = 0; j < 4; ++j) {
      const T at_x = padded_position(sampler, left - 1 + static_cast<T>(j), sampler.in.width);
      row += element_at(sampler, read, base, at_y, at_x) * columns[j];
    }
    sum += row * rows[i];
  }
  return sum;
}

template <typename Reader, typename T>
T sample(const Sampler& sampler, const Reader& read, int64_t base, T grid_y, T grid_x) {
  const T y = unscaled(sampler, grid_y, sampler.in.height), x = unscaled(sampler, grid_x, sampler.in.width);
  if (sampler.interpolation == kBicubic) return bicubic(sampler, read, base, y, x);
  const T at_y = padded_position(sampler, y, sampler.in.height), at_x = padded_position(sampler, x, sampler.in.width);
  if (sampler.interpolation == kBilinear) return bilinear(sampler, read, base, at_y, at_x);
  return element_at(sampler, read, base, T(std::nearbyint(at_y)), T(std::nearbyint(at_x)));
}

// Samples integer tensors as ExecuTorch does; eager PyTorch does not support them. The whole computation is in the
// tensors' type. Coordinates are integers, so all interpolation modes return the element at the coordinate.
class WholeSampler {
 public:
  WholeSampler(const Sampler& sampler, PteScalarType type) : sampler_(sampler), type_(type) {}

  template <typename Reader>
  int64_t sample(const Reader& read, int64_t base, int64_t grid_y, int64_t grid_x) const {
    const Image& in = sampler_.in;
    const int64_t y = position(grid_y, in.height), x = position(grid_x, in.width);
    if (y < 0 || y >= in.height || x < 0 || x >= in.width) return 0;
    return read(base + y * in.row_step + x * in.column_step);
  }

 private:
  [[nodiscard]] int64_t own(int64_t value) const { return wrapped_to(type_, value); }
  [[nodiscard]] int64_t reflected(int64_t position, int64_t twice_low, int64_t twice_high) const {
    const int64_t low = own(twice_low) / 2, span = own(twice_high - twice_low) / 2;
    if (span == 0) return 0;
    const int64_t from_low = minus(position, low), way = own(from_low < 0 ? minus<int64_t>(0, from_low) : from_low);
    const int64_t rest = remainder_of(way, span), flips = quotient_of(way, span);
    return own(flips % 2 == 0 ? rest + low : span - rest + low);
  }
  // The quotient of the smallest int64 and -1 overflows.
  static int64_t quotient_of(int64_t a, int64_t b) { return b == -1 ? minus<int64_t>(0, a) : a / b; }
  static int64_t remainder_of(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
  [[nodiscard]] int64_t position(int64_t grid, int64_t size) const {
    const int64_t next = plus<int64_t>(grid, 1);
    int64_t at =
        sampler_.align_corners ? own(times(next / 2, size - 1)) : own(minus<int64_t>(times(next, size), 1) / 2);
    if (sampler_.padding == kZeros) return at;
    if (sampler_.padding == kReflection)
      at = sampler_.align_corners ? reflected(at, 0, 2 * (size - 1)) : reflected(at, -1, 2 * size - 1);
    return std::clamp<int64_t>(std::min(at, own(size - 1)), 0, size - 1);
  }

  const Sampler& sampler_;
  PteScalarType type_;
};

}  // namespace

// (input [N, C, H, W], grid [N, OH, OW, 2], interpolation, padding, align_corners, out [N, C, OH, OW])
Error grid_sampler_2d(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &in = call.tensor(0), &grid = call.tensor(1);
  Sampler sampler{
      .in = {}, .interpolation = call.integer(2), .padding = call.integer(3), .align_corners = call.flag(4)};
  const Tensor& out = call.out(5);
  call.require(in.rank() == 4 && grid.rank() == 4 && out.rank() == 4 && sampler.interpolation >= kBilinear &&
               sampler.interpolation <= kBicubic && sampler.padding >= kZeros && sampler.padding <= kReflection);
  call.support((is_floating(in.type) || is_integer(in.type)) && in.type == grid.type && in.type == out.type);
  CARINA_RT_TRY(call.error());
  const Layout positions = layout_of(grid);
  call.fit(out, {in.sizes()[0], in.sizes()[1], positions.sizes[1], positions.sizes[2]});
  call.require(positions.sizes[0] == in.sizes()[0] && positions.sizes[3] == 2 &&
               (out.elements() == 0 || (in.sizes()[2] > 0 && in.sizes()[3] > 0)));
  CARINA_RT_TRY(call.error());
  Image to;
  static_cast<void>(image_of(in, Missing::kBatch, sampler.in));
  static_cast<void>(image_of(out, Missing::kBatch, to));
  in_domain(
      [&](auto domain) {
        using Value = typename decltype(domain)::Value;
        const auto read = domain.reader(in), read_grid = domain.reader(grid);
        const auto write = domain.writer(out);
        for_each(to, [&](int64_t n, int64_t c, int64_t y, int64_t x) {
          const int64_t at = n * positions.strides[0] + y * positions.strides[1] + x * positions.strides[2];
          const int64_t base = n * sampler.in.batch_step + c * sampler.in.channel_step;
          const Value grid_y = read_grid(at + positions.strides[3]), grid_x = read_grid(at);
          if constexpr (std::is_same_v<Value, int64_t>) {
            write(index_in(to, n, c, y, x), WholeSampler(sampler, in.type).sample(read, base, grid_y, grid_x));
          } else {
            write(index_in(to, n, c, y, x), sample<decltype(read), Value>(sampler, read, base, grid_y, grid_x));
          }
        });
      },
      in, grid, out);
  return Error::kOk;
}

}  // namespace carina::runtime
