#include <cmath>
#include <numbers>
#include <utility>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// std::complex is not used, because its product checks for infinities, which takes longer than the product.
struct Complex {
  double re = 0, im = 0;
};
Complex operator+(Complex a, Complex b) {
  return {a.re + b.re, a.im + b.im};
}
Complex operator-(Complex a, Complex b) {
  return {a.re - b.re, a.im - b.im};
}
Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

enum class Direction : int8_t { kForward = -1, kBackward = 1 };

Complex root(Direction direction, int64_t k, int64_t n) {
  const double angle =
      static_cast<double>(direction) * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Transforms a row in place; `n` is a power of two.
void transform_by_halves(Complex* row, int64_t n, Direction direction) {
  for (int64_t i = 1, j = 0; i < n; ++i) {  // bit-reversal permutation
    int64_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(row[i], row[j]);
  }
  for (int64_t size = 2; size <= n; size *= 2) {
    for (int64_t k = 0; k < size / 2; ++k) {
      const Complex factor = root(direction, k, size);
      for (int64_t at = k; at < n; at += size) {
        const Complex other = row[at + size / 2] * factor;
        row[at + size / 2] = row[at] - other;
        row[at] = row[at] + other;
      }
    }
  }
}

// Transforms a row of any size. Other sizes than powers of two use the definition, with n elements of `spare` for the
// result.
void transform(Complex* row, Complex* spare, int64_t n, Direction direction) {
  if ((n & (n - 1)) == 0) return transform_by_halves(row, n, direction);
  for (int64_t k = 0; k < n; ++k) {
    Complex sum;
    for (int64_t i = 0; i < n; ++i) sum = sum + row[i] * root(direction, i * k % n, n);
    spare[k] = sum;
  }
  for (int64_t k = 0; k < n; ++k) row[k] = spare[k];
}

struct Axes {
  size_t list[kMaxRank] = {};
  size_t count = 0;
};

Axes axes_of(Call& call, std::span<const int64_t> dims, size_t rank) {
  Axes axes;
  uint32_t seen = 0;
  call.require(!dims.empty() && dims.size() <= rank);
  for (size_t i = 0; i < dims.size() && call.error() == Error::kOk; ++i) {
    call.require(axis_of(dims[i], rank, axes.list[i]) && (seen >> axes.list[i] & 1) == 0);
    seen |= 1U << axes.list[i];
  }
  axes.count = dims.size();
  return axes;
}

// The factor for PyTorch's normalization modes: 0 is none, 1 is 1 / sqrt(elements), 2 is 1 / elements.
double factor_of(int64_t normalization, double elements) {
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(elements) : 1 / elements;
}

// The start positions of all rows along one axis.
Walk<2> rows_of(const Layout& a, const Layout& b, size_t axis) {
  Walk<2> walk;
  for (size_t i = 0; i < a.rank; ++i) {
    if (i != axis) walk.add_axis(a.sizes[i], {a.strides[i], b.strides[i]});
  }
  return walk;
}

Complex load(const Tensor& tensor, int64_t at) {
  const NumberLoader part = number_loader(part_of(tensor.type));
  return {part(tensor.data, static_cast<size_t>(2 * at)), part(tensor.data, static_cast<size_t>(2 * at + 1))};
}

void store(const Tensor& tensor, int64_t at, Complex value) {
  const NumberStorer part = number_storer(part_of(tensor.type));
  part(tensor.data, static_cast<size_t>(2 * at), value.re);
  part(tensor.data, static_cast<size_t>(2 * at + 1), value.im);
}

// Transforms complex numbers along an axis, from `from` to `to`, which have the same layout.
void transform_axis(const Tensor& from, const Tensor& to, size_t axis, Direction direction, Complex* row) {
  const Layout layout = layout_of(to);
  const int64_t n = layout.sizes[axis];
  Walk<2> walk = rows_of(layout, layout, axis);
  const int64_t rows = walk.count();
  for (int64_t r = 0; r < rows; ++r, walk.next()) {
    for (int64_t i = 0; i < n; ++i) row[i] = load(from, walk.at[0] + i * layout.strides[axis]);
    transform(row, row + n, n, direction);
    for (int64_t i = 0; i < n; ++i) store(to, walk.at[0] + i * layout.strides[axis], row[i]);
  }
}

void scale_all(const Tensor& tensor, double factor) {
  for (int64_t i = 0; i < static_cast<int64_t>(tensor.elements()); ++i) {
    const Complex value = load(tensor, i);
    store(tensor, i, {value.re * factor, value.im * factor});
  }
}

Complex* make_row(const Layout& layout, Arena& scratch) {
  int64_t longest = 1;
  for (size_t axis = 0; axis < layout.rank; ++axis) longest = std::max(longest, layout.sizes[axis]);
  return scratch.make_array<Complex>(2 * static_cast<size_t>(longest));
}

}  // namespace

// (real input, dims, normalization, onesided, complex out). If one-sided, the last of `dims` has n / 2 + 1 elements.
Error fft_r2c(Arguments arguments, Arena& scratch) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const Axes axes = axes_of(call, call.integers(1), in.rank());
  const int64_t normalization = call.integer(2);
  const bool onesided = call.flag(3);
  const Tensor& out = call.out(4);
  call.require(in.rank() == out.rank() && normalization >= 0 && normalization <= 2);
  call.support(is_complex(out.type) && in.type == part_of(out.type));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const size_t last = axes.list[axes.count - 1];
  const int64_t n = from.sizes[last];
  Extents sizes = from.sizes;
  if (onesided) sizes[last] = n / 2 + 1;
  call.fit(out, std::span(sizes.data(), from.rank));
  call.require(n > 0);
  CARINA_RT_TRY(call.error());
  Complex* row = make_row(from, scratch);
  if (row == nullptr) return Error::kOutOfMemory;
  const Layout to = layout_of(out);
  Walk<2> walk = rows_of(from, to, last);
  const int64_t rows = walk.count();
  const NumberLoader real = number_loader(in.type);
  for (int64_t r = 0; r < rows; ++r, walk.next()) {
    for (int64_t i = 0; i < n; ++i)
      row[i] = {real(in.data, static_cast<size_t>(walk.at[0] + i * from.strides[last])), 0};
    transform(row, row + n, n, Direction::kForward);
    for (int64_t i = 0; i < to.sizes[last]; ++i) store(out, walk.at[1] + i * to.strides[last], row[i]);
  }
  double elements = static_cast<double>(n);
  for (size_t i = 0; i + 1 < axes.count; ++i) {
    elements *= static_cast<double>(from.sizes[axes.list[i]]);
    transform_axis(out, out, axes.list[i], Direction::kForward, row);
  }
  if (normalization != 0) scale_all(out, factor_of(normalization, elements));
  return Error::kOk;
}

// (complex input, one-sided along the last of the dims, dims, normalization, last_dim_size, real out)
Error fft_c2r(Arguments arguments, Arena& scratch) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const Axes axes = axes_of(call, call.integers(1), in.rank());
  const int64_t normalization = call.integer(2), n = call.integer(3);
  const Tensor& out = call.out(4);
  call.require(in.rank() == out.rank() && normalization >= 0 && normalization <= 2 && n >= 1 && n <= INT32_MAX);
  call.support(is_complex(in.type) && out.type == part_of(in.type));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  const size_t last = axes.list[axes.count - 1];
  call.require(from.sizes[last] == n / 2 + 1);
  Extents sizes = from.sizes;
  sizes[last] = n;
  call.fit(out, std::span(sizes.data(), from.rank));
  CARINA_RT_TRY(call.error());
  const Layout to = layout_of(out);
  Complex* row = make_row(to, scratch);
  auto* copy = static_cast<std::byte*>(axes.count > 1 ? scratch.allocate(in.bytes()) : in.data);
  if (row == nullptr || copy == nullptr) return Error::kOutOfMemory;
  const Tensor between(in.type, in.sizes(), in.dim_order(), copy);
  double elements = static_cast<double>(n);
  for (size_t i = 0; i + 1 < axes.count; ++i) {
    elements *= static_cast<double>(from.sizes[axes.list[i]]);
    transform_axis(i == 0 ? in : between, between, axes.list[i], Direction::kBackward, row);
  }
  const double factor = factor_of(normalization, elements);
  Walk<2> walk = rows_of(from, to, last);
  const int64_t rows = walk.count();
  const NumberStorer real = number_storer(out.type);
  for (int64_t r = 0; r < rows; ++r, walk.next()) {
    // The second half is the conjugate of the first. The imaginary parts of the first and the middle element are
    // ignored.
    for (int64_t i = 0; i <= n / 2; ++i) {
      const Complex value = load(between, walk.at[0] + i * from.strides[last]);
      row[i] = {value.re, i == 0 || 2 * i == n ? 0 : value.im};
      if (i > 0 && 2 * i < n) row[n - i] = {value.re, -value.im};
    }
    transform(row, row + n, n, Direction::kBackward);
    for (int64_t i = 0; i < n; ++i)
      real(out.data, static_cast<size_t>(walk.at[1] + i * to.strides[last]), row[i].re * factor);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
