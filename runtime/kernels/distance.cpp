#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// Two rows of `count` elements.
struct Rows {
  int64_t a, a_step, b, b_step, count;
};

// The p-norm of the difference of the rows. NaN propagates.
double distance(const Numbers::Reader& read_a, const Numbers::Reader& read_b, const Rows& rows, double p) {
  double sum = 0;
  for (int64_t k = 0; k < rows.count; ++k) {
    const double gap = std::fabs(read_a(rows.a + k * rows.a_step) - read_b(rows.b + k * rows.b_step));
    if (p == 0) {
      sum += gap != 0 ? 1 : 0;
    } else if (std::isinf(p)) {
      sum = gap > sum || std::isnan(gap) ? gap : sum;
    } else {
      sum += p == 1 ? gap : p == 2 ? gap * gap : std::pow(gap, p);
    }
  }
  if (p == 0 || p == 1 || std::isinf(p)) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

}  // namespace

// (a [..., P, M], b [..., R, M], p, compute_mode, out [..., P, R]), the leading axes broadcast
Error cdist(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const double p = call.number(2);
  static_cast<void>(call.integer_or(3, 0));
  const Tensor& out = call.out(4);
  call.require(a.rank() >= 2 && b.rank() >= 2 && out.rank() == std::max(a.rank(), b.rank()) && p >= 0);
  call.support(is_floating(a.type) && a.type == b.type && a.type == out.type);
  CARINA_RT_TRY(call.error());
  const Layout la = layout_of(a), lb = layout_of(b);
  const size_t rank = out.rank();
  Extents sizes{};
  Walk<3> walk;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    const bool in_a = axis + la.rank >= rank, in_b = axis + lb.rank >= rank;
    const int64_t size_a = in_a ? la.sizes[axis + la.rank - rank] : 1;
    const int64_t size_b = in_b ? lb.sizes[axis + lb.rank - rank] : 1;
    call.require(size_a == size_b || size_a == 1 || size_b == 1);
    sizes[axis] = size_a == 1 ? size_b : size_a;
    walk.add_axis(sizes[axis], {size_a == 1 ? 0 : la.strides[axis + la.rank - rank],
                                size_b == 1 ? 0 : lb.strides[axis + lb.rank - rank], 0});
  }
  sizes[rank - 2] = la.sizes[la.rank - 2];
  sizes[rank - 1] = lb.sizes[lb.rank - 2];
  call.require(la.sizes[la.rank - 1] == lb.sizes[lb.rank - 1]);
  CARINA_RT_TRY(call.error());
  walk.add_axis(sizes[rank - 2], {la.strides[la.rank - 2], 0, 0});
  walk.add_axis(sizes[rank - 1], {0, lb.strides[lb.rank - 2], 0});
  call.fit(out, std::span(sizes.data(), rank));
  CARINA_RT_TRY(call.error());
  walk.strides[2] = layout_of(out).strides;
  const auto write = Numbers::writer(out);
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    const Rows rows{walk.at[0], la.strides[la.rank - 1], walk.at[1], lb.strides[lb.rank - 1], la.sizes[la.rank - 1]};
    write(walk.at[2], distance(Numbers::reader(a), Numbers::reader(b), rows, p));
  }
  return Error::kOk;
}

// (input [N, M], p, out [N (N - 1) / 2]): the distances of all pairs of rows
Error pdist(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const double p = call.number(1);
  const Tensor& out = call.out(2);
  call.require(in.rank() == 2 && out.rank() == 1 && p >= 0);
  call.support(is_floating(in.type) && in.type == out.type);
  CARINA_RT_TRY(call.error());
  const Layout layout = layout_of(in);
  const int64_t rows = layout.sizes[0];
  call.fit(out, {rows * (rows - 1) / 2});
  CARINA_RT_TRY(call.error());
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  int64_t next = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      write(next++, distance(read, read,
                             {i * layout.strides[0], layout.strides[1], j * layout.strides[0], layout.strides[1],
                              layout.sizes[1]},
                             p));
    }
  }
  return Error::kOk;
}

// (a, b, rtol, atol, equal_nan, -, out: one bool): |a - b| <= atol + rtol |b| everywhere
Error allclose(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const double relative = call.number(2), absolute = call.number(3);
  const bool equal_nan = call.flag(4);
  const Tensor& out = call.out(6);
  call.require(same_layout(a, b) && a.type == b.type && out.elements() == 1);
  call.support(out.type == PteScalarType::kBool);
  CARINA_RT_TRY(call.error());
  const auto read_a = Numbers::reader(a), read_b = Numbers::reader(b);
  bool close = true;
  for (int64_t i = 0; i < static_cast<int64_t>(a.elements()); ++i) {
    const double x = read_a(i), y = read_b(i);
    const bool both_nan = std::isnan(x) && std::isnan(y);
    const bool finite = std::isfinite(x) && std::isfinite(y);
    close &= x == y || (equal_nan && both_nan) || (finite && std::fabs(x - y) <= absolute + relative * std::fabs(y));
  }
  *out.as<uint8_t>() = close ? 1 : 0;
  return Error::kOk;
}

}  // namespace carina::runtime
