#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/float_functions.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// A row along the dimension: its start and its stride in both tensors.
struct Row {
  int64_t count;
  int64_t from, from_step;
  int64_t to, to_step;
};

template <typename Reader, typename Writer>
void softmax_row(const Reader& read, const Writer& write, const Row& row) {
  auto max = read(row.from);
  for (int64_t i = 1; i < row.count; ++i) max = std::max(max, read(row.from + i * row.from_step));
  decltype(max) sum = 0;
  for (int64_t i = 0; i < row.count; ++i) sum += std::exp(read(row.from + i * row.from_step) - max);
  for (int64_t i = 0; i < row.count; ++i)
    write(row.to + i * row.to_step, std::exp(read(row.from + i * row.from_step) - max) / sum);
}

// The same for floats. The exponentials are kept in the output until their sum is known.
void softmax_row(const Floats::Reader& read, const Floats::Writer& write, const Row& row) {
  const auto from_step = static_cast<ptrdiff_t>(row.from_step), to_step = static_cast<ptrdiff_t>(row.to_step);
  const float* const begin = read.data + static_cast<ptrdiff_t>(row.from);
  float* const out = write.data + static_cast<ptrdiff_t>(row.to);
  const auto count = static_cast<size_t>(row.count);
  const float* from = begin;
  float max = *from;
  repeat(count, [&] {
    max = std::max(max, *from);
    from += from_step;
  });
  float* to = out;
  from = begin;
  float sum = 0;
  if (to_step == 1) {
    repeat(count, [&] {
      *to++ = *from - max;
      from += from_step;
    });
    FloatFunction<ExpFunction>::map_row(out, out, count);
    to = out;
    repeat(count, [&] { sum += *to++; });
  } else {
    repeat(count, [&] {
      *to = FloatFunction<ExpFunction>::of(*from - max);
      sum += *to;
      from += from_step;
      to += to_step;
    });
  }
  to = out;
  repeat(count, [&] {
    *to /= sum;
    to += to_step;
  });
}

template <typename Reader, typename Writer>
void log_softmax_row(const Reader& read, const Writer& write, const Row& row) {
  auto max = read(row.from);
  for (int64_t i = 1; i < row.count; ++i) max = std::max(max, read(row.from + i * row.from_step));
  decltype(max) sum = 0;
  for (int64_t i = 0; i < row.count; ++i) sum += std::exp(read(row.from + i * row.from_step) - max);
  const auto log_sum = std::log(sum);
  for (int64_t i = 0; i < row.count; ++i)
    write(row.to + i * row.to_step, read(row.from + i * row.from_step) - max - log_sum);
}

// (input, dim, half_to_float, out): calls `run` for each row along `dim`
template <typename Function>
Error for_rows(Arguments arguments, const Function& run) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t dim = call.integer(1);
  const Tensor& out = call.out(3);
  size_t axis = 0;
  call.require(takes_sizes_of(out, in) && (in.rank() == 0 || axis_of(dim, in.rank(), axis)));
  call.support(is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  if (in.elements() == 0) return Error::kOk;
  const Layout from = layout_of(in);
  const Layout to = layout_of(out);
  Walk<2> walk;
  for (size_t i = 0; i < from.rank; ++i) {
    if (i != axis) walk.add_axis(from.sizes[i], {from.strides[i], to.strides[i]});
  }
  const int64_t rows = walk.count();
  in_domain(
      [&](auto domain) {
        if constexpr (!std::is_same_v<decltype(domain), Integers>) {
          const auto read = domain.reader(in);
          const auto write = domain.writer(out);
          const int64_t count = from.rank == 0 ? 1 : from.sizes[axis];
          for (int64_t i = 0; i < rows; ++i, walk.next())
            run(read, write, Row{count, walk.at[0], from.strides[axis], walk.at[1], to.strides[axis]});
        }
      },
      in, out);
  return Error::kOk;
}

}  // namespace

Error softmax(Arguments arguments, Arena& /*scratch*/) {
  return for_rows(arguments,
                  [](const auto& read, const auto& write, const Row& row) { softmax_row(read, write, row); });
}

Error log_softmax(Arguments arguments, Arena& /*scratch*/) {
  return for_rows(arguments,
                  [](const auto& read, const auto& write, const Row& row) { log_softmax_row(read, write, row); });
}

}  // namespace carina::runtime
