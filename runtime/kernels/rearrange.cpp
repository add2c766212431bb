#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// Converts a shift of any sign to [0, size).
int64_t forward_shift(int64_t shift, int64_t size) {
  if (size == 0) return 0;
  const int64_t rest = shift % size;
  return rest < 0 ? rest + size : rest;
}

void copy_element(const Tensor& in, int64_t from, const Tensor& out, int64_t to) {
  const size_t bytes = element_bytes(in.type);
  std::copy_n(in.as<const std::byte>() + static_cast<size_t>(from) * bytes, bytes,
              out.as<std::byte>() + static_cast<size_t>(to) * bytes);
}

// Shifts all elements in logical order, as one row.
void roll_flat(const Tensor& in, int64_t shift, const Tensor& out) {
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<1> source, target;
  for (size_t axis = 0; axis < from.rank; ++axis) {
    source.add_axis(from.sizes[axis], {from.strides[axis]});
    target.add_axis(to.sizes[axis], {to.strides[axis]});
  }
  const int64_t count = source.count();
  if (count == 0) return;
  for (int64_t skip = count - forward_shift(shift, count); skip > 0; --skip) source.next();
  for (int64_t i = 0; i < count; ++i, source.next(), target.next()) copy_element(in, source.at[0], out, target.at[0]);
}

}  // namespace

// (input, shifts, dims, out). Empty `dims` shift the flattened tensor.
Error roll(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> shifts = call.integers(1);
  const std::span<const int64_t> dims = call.integers(2);
  const Tensor& out = call.out(3);
  call.require(in.type == out.type && takes_sizes_of(out, in) && shifts.size() == std::max<size_t>(dims.size(), 1));
  CARINA_RT_TRY(call.error());
  if (dims.empty()) {
    roll_flat(in, shifts[0], out);
    return Error::kOk;
  }
  const Layout from = layout_of(in), to = layout_of(out);
  Extents shift{};
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t axis = 0;
    call.require(axis_of(dims[i], from.rank, axis));
    CARINA_RT_TRY(call.error());
    // Both terms are below the size of the axis, so the sum cannot overflow.
    shift[axis] = forward_shift(shift[axis] + forward_shift(shifts[i], from.sizes[axis]), from.sizes[axis]);
  }
  Walk<1> walk;
  for (size_t axis = 0; axis < to.rank; ++axis) walk.add_axis(to.sizes[axis], {to.strides[axis]});
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    int64_t source = 0;
    for (size_t axis = 0; axis < from.rank; ++axis)
      source += from.strides[axis] * forward_shift(walk.index[axis] - shift[axis], from.sizes[axis]);
    copy_element(in, source, out, walk.at[0]);
  }
  return Error::kOk;
}

// (input [..., rows, columns], diagonal, out): elements above the diagonal become zero
Error tril(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t diagonal = call.integer(1);
  const Tensor& out = call.out(2);
  call.require(in.type == out.type && in.rank() >= 2 && takes_sizes_of(out, in));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in), to = layout_of(out);
  Walk<2> walk;
  for (size_t axis = 0; axis < to.rank; ++axis) walk.add_axis(to.sizes[axis], {from.strides[axis], to.strides[axis]});
  constexpr int64_t kMaxDiagonal = std::numeric_limits<int32_t>::max();
  const int64_t kept = std::clamp(diagonal, -kMaxDiagonal, kMaxDiagonal);
  const int64_t count = walk.count();
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < count; ++i, walk.next()) {
          const bool below = walk.index[to.rank - 1] - walk.index[to.rank - 2] <= kept;
          write(walk.at[1], below ? read(walk.at[0]) : typename decltype(domain)::Value{0});
        }
      },
      in, out);
  return Error::kOk;
}

// (input, dim, size, step, out): out[.., i, .., j] = input[.., i * step + j, ..]. `dim` counts the windows, and a new
// last axis has their elements.
Error unfold_copy(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  size_t axis = 0;
  call.require(in.rank() >= 1 && axis_of(call.integer(1), in.rank(), axis));
  const int64_t size = call.integer(2);
  const int64_t step = call.integer(3);
  const Tensor& out = call.out(4);
  call.require(in.type == out.type && out.rank() == in.rank() + 1 && size >= 1 && step >= 1);
  CARINA_RT_TRY(call.error());
  if (out.resizable && size <= in.sizes()[axis]) {
    Extents sizes = layout_of(in).sizes;
    sizes[axis] = (sizes[axis] - size) / step + 1;
    sizes[in.rank()] = size;
    call.fit(out, {sizes.data(), in.rank() + 1});
  }
  const Layout from = layout_of(in), to = layout_of(out);
  if (size > from.sizes[axis] || to.sizes[axis] != (from.sizes[axis] - size) / step + 1 || to.sizes[from.rank] != size)
    return Error::kInvalidArgument;
  Walk<2> walk;
  for (size_t i = 0; i < from.rank; ++i) {
    call.require(i == axis || from.sizes[i] == to.sizes[i]);
    // A single window does not use the step, which may be larger than the axis.
    const int64_t stride = i == axis && to.sizes[i] > 1 ? from.strides[i] * step : from.strides[i];
    walk.add_axis(to.sizes[i], {stride, to.strides[i]});
  }
  CARINA_RT_TRY(call.error());
  walk.add_axis(size, {from.strides[axis], to.strides[from.rank]});
  copy_elements(in, out, walk);
  return Error::kOk;
}

namespace {

// PyTorch's order, in which NaN is greater than every number.
template <typename Value>
bool greater(Value a, Value b) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a > b;
}

// An element of a row in topk's order: by value; equal ones by index.
template <typename Value>
struct Ranked {
  Value value;
  int64_t position;
};

template <typename Value>
bool before(const Ranked<Value>& a, const Ranked<Value>& b, bool largest) {
  if (greater(a.value, b.value)) return largest;
  if (greater(b.value, a.value)) return !largest;
  return a.position < b.position;
}

// Visits the elements of a row in order, with k passes over the row. It stores the last visited element only.
template <typename Read, typename Write>
void take_in_order(int64_t size, int64_t k, bool largest, const Read& read, const Write& write) {
  using Value = decltype(read(int64_t{0}));
  Ranked<Value> last{};
  for (int64_t taken = 0; taken < k; ++taken) {
    Ranked<Value> best{.value = {}, .position = -1};
    for (int64_t position = 0; position < size; ++position) {
      const Ranked<Value> candidate{.value = read(position), .position = position};
      if (taken > 0 && !before(last, candidate, largest)) continue;
      if (best.position < 0 || before(candidate, best, largest)) best = candidate;
    }
    write(taken, best.value, best.position);
    last = best;
  }
}

}  // namespace

// (input, k, dim, largest, sorted, values, indices). The result is always sorted; equal elements keep their order.
Error topk(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t k = call.integer(1);
  size_t axis = 0;
  call.require(in.rank() >= 1 && axis_of(call.integer(2), in.rank(), axis));
  const bool largest = call.flag(3);
  static_cast<void>(call.flag(4));
  const Tensor& values = call.out(5);
  const Tensor& indices = call.out(6);
  CARINA_RT_TRY(call.error());
  call.fit_along(values, in, axis, k);
  call.require(values.type == in.type && values.rank() == in.rank() && indices.type == PteScalarType::kLong &&
               takes_sizes_of(indices, values));
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in), to = layout_of(values), positions = layout_of(indices);
  Walk<3> rows;
  for (size_t i = 0; i < from.rank; ++i) {
    call.require(i == axis ? k >= 0 && k <= from.sizes[i] && to.sizes[i] == k : to.sizes[i] == from.sizes[i]);
    if (i != axis) rows.add_axis(from.sizes[i], {from.strides[i], to.strides[i], positions.strides[i]});
  }
  CARINA_RT_TRY(call.error());
  const int64_t count = rows.count();
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(values);
        for (int64_t row = 0; row < count; ++row, rows.next()) {
          take_in_order(
              from.sizes[axis], k, largest,
              [&](int64_t position) { return read(rows.at[0] + position * from.strides[axis]); },
              [&](int64_t at, auto value, int64_t position) {
                write(rows.at[1] + at * to.strides[axis], value);
                indices.as<int64_t>()[rows.at[2] + at * positions.strides[axis]] = position;
              });
        }
      },
      in, values);
  return Error::kOk;
}

}  // namespace carina::runtime
