#include <algorithm>
#include <cmath>
#include <type_traits>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/elementwise_internal.h"
#include "runtime/kernels/float_sums_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/norm_internal.h"

namespace carina::runtime {

namespace {

// A run of elements with its own mean and variance. Element k is scaled by weight[k / per_weight].
struct Group {
  int64_t begin, count;
  int64_t first_weight, per_weight;
};

struct Statistics {
  double mean;
  double inverse_deviation;
};

// Reads elements of an optional weight or bias as doubles, one after the other.
template <typename Domain>
struct Entries {
  typename Domain::Reader read;
  bool is_given;
  double otherwise;

  Entries(const Tensor* tensor, const Tensor& in, double otherwise)
      : read(Domain::reader(tensor == nullptr ? in : *tensor)), is_given(tensor != nullptr), otherwise(otherwise) {}
  [[nodiscard]] double operator()(ptrdiff_t at) const { return is_given ? static_cast<double>(read(at)) : otherwise; }
};

// The sum of `count` elements.
template <typename Reader>
double sum_of(const Reader& read, ptrdiff_t at, size_t count) {
  double sum = 0;
  repeat(count, [&] { sum += static_cast<double>(read(at++)); });
  return sum;
}
double sum_of(const Floats::Reader& read, ptrdiff_t at, size_t count) {
  return add_floats(0, read.data + at, 1, count);
}

// The sum of the squares of the differences from `mean`.
template <typename Reader>
double squares_of(const Reader& read, ptrdiff_t at, size_t count, double mean) {
  double squares = 0;
  const auto add = [&](auto value) __attribute__((always_inline)) {
    const double difference = static_cast<double>(value) - mean;
    squares += difference * difference;
  };
  if constexpr (std::is_same_v<Reader, Floats::Reader>)
    for_floats(read.data + at, 1, count, add);
  else
    repeat(count, [&] { add(read(at++)); });
  return squares;
}

// Sums are doubles, also those of floats.
template <typename Domain>
Statistics normalize_in(Domain domain, const Tensor& in, const Tensor* weight, const Tensor* bias, double eps,
                        const Tensor& out, const Group& group) {
  using Value = typename Domain::Value;
  if (group.count == 0) return {.mean = 0, .inverse_deviation = 0};
  const auto read = domain.reader(in);
  const auto write = domain.writer(out);
  const auto begin = static_cast<ptrdiff_t>(group.begin);
  const auto count = static_cast<size_t>(group.count);
  const auto divisor = static_cast<double>(count);
  const double mean = sum_of(read, begin, count) / divisor;
  const double squares = squares_of(read, begin, count, mean);
  const double inverse = 1 / std::sqrt(squares / divisor + eps);
  const auto normalized = [&](ptrdiff_t k) { return (static_cast<double>(read(k)) - mean) * inverse; };
  const Entries<Domain> scale(weight, in, 1), shift(bias, in, 0);
  auto entry = static_cast<ptrdiff_t>(group.first_weight), at = begin;
  const auto per_weight = static_cast<size_t>(group.per_weight);
  if (per_weight == 1 && scale.is_given && shift.is_given) {
    const auto read_scale = scale.read, read_shift = shift.read;
    repeat(count, [&] {
      write(at, static_cast<Value>(normalized(at) * static_cast<double>(read_scale(entry)) +
                                   static_cast<double>(read_shift(entry))));
      ++at;
      ++entry;
    });
    return {.mean = mean, .inverse_deviation = inverse};
  }
  for (size_t left = count; left > 0; left -= per_weight, ++entry) {
    const double factor = scale(entry), summand = shift(entry);
    repeat(per_weight, [&] {
      write(at, static_cast<Value>(normalized(at) * factor + summand));
      ++at;
    });
  }
  return {.mean = mean, .inverse_deviation = inverse};
}

Statistics normalize(const Tensor& in, const Tensor* weight, const Tensor* bias, double eps, const Tensor& out,
                     const Group& group) {
  Statistics statistics{};
  in_domain(
      [&](auto domain) {
        if constexpr (!std::is_same_v<decltype(domain), Integers>)
          statistics = normalize_in(domain, in, weight, bias, eps, out, group);
      },
      in, out, weight == nullptr ? in : *weight, bias == nullptr ? in : *bias);
  return statistics;
}

}  // namespace

// (input, normalized_shape, weight or None, bias or None, eps, out, mean, inverse deviation)
Error native_layer_norm(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> shape = call.integers(1);
  const Tensor* weight = call.optional_tensor(2);
  const Tensor* bias = call.optional_tensor(3);
  const double eps = call.number(4);
  const Tensor& out = call.out(5);
  const Tensor& mean = call.out(6);
  const Tensor& deviation = call.out(7);
  call.require(shape.size() >= 1 && shape.size() <= in.rank() && takes_sizes_of(out, in));
  call.support(is_floating(in.type) && is_floating(out.type) && in.contiguous() && out.contiguous());
  CARINA_RT_TRY(call.error());
  for (const Tensor* figure : {&mean, &deviation}) {  // one element per normalized row
    if (!figure->resizable) continue;
    Extents sizes = layout_of(in).sizes;
    std::fill(sizes.begin() + static_cast<std::ptrdiff_t>(in.rank() - shape.size()), sizes.end(), 1);
    call.fit(*figure, {sizes.data(), in.rank()});
  }
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    call.require(shape[i] == in.sizes()[in.rank() - shape.size() + i]);
    count *= in.sizes()[in.rank() - shape.size() + i];
  }
  const int64_t rows = count == 0 ? 0 : static_cast<int64_t>(in.elements()) / count;
  call.require(has_elements(weight, count) && has_elements(bias, count) &&
               static_cast<int64_t>(mean.elements()) >= rows && static_cast<int64_t>(deviation.elements()) >= rows);
  CARINA_RT_TRY(call.error());
  const auto write_mean = Numbers::writer(mean), write_deviation = Numbers::writer(deviation);
  for (int64_t row = 0; row < rows; ++row) {
    const Statistics statistics = normalize(in, weight, bias, eps, out,
                                            {.begin = row * count, .count = count, .first_weight = 0, .per_weight = 1});
    write_mean(row, statistics.mean);
    write_deviation(row, statistics.inverse_deviation);
  }
  return Error::kOk;
}

// (input, weight or None, bias or None, N, C, HxW, groups, eps, out, mean, inverse deviation)
Error native_group_norm(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor* weight = call.optional_tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const int64_t groups = call.integer(6);
  const double eps = call.number(7);
  const Tensor& out = call.out(8);
  const Tensor& mean = call.out(9);
  const Tensor& deviation = call.out(10);
  call.require(in.rank() >= 2 && takes_sizes_of(out, in) && groups >= 1);
  call.support(is_floating(in.type) && is_floating(out.type) && in.contiguous() && out.contiguous());
  CARINA_RT_TRY(call.error());
  const int64_t batches = in.sizes()[0];
  const int64_t channels = in.sizes()[1];
  call.require(channels % groups == 0 && has_elements(weight, channels) && has_elements(bias, channels));
  if (mean.resizable) call.fit(mean, {batches, groups});
  if (deviation.resizable) call.fit(deviation, {batches, groups});
  CARINA_RT_TRY(call.error());
  if (in.elements() == 0) return Error::kOk;
  const int64_t per_channel = static_cast<int64_t>(in.elements()) / (batches * channels);
  const int64_t count = channels / groups * per_channel;
  call.require(static_cast<int64_t>(mean.elements()) >= batches * groups &&
               static_cast<int64_t>(deviation.elements()) >= batches * groups);
  CARINA_RT_TRY(call.error());
  const auto write_mean = Numbers::writer(mean), write_deviation = Numbers::writer(deviation);
  for (int64_t i = 0; i < batches * groups; ++i) {
    const Group group{.begin = i * count,
                      .count = count,
                      .first_weight = i % groups * (channels / groups),
                      .per_weight = per_channel};
    const Statistics statistics = normalize(in, weight, bias, eps, out, group);
    write_mean(i, statistics.mean);
    write_deviation(i, statistics.inverse_deviation);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
