#include "runtime/kernels/reduce_internal.h"

#include <cmath>
#include <limits>

#include "runtime/kernels/complex_internal.h"
#include "runtime/kernels/float_sums_internal.h"
#include "runtime/kernels/kernels_internal.h"

namespace carina::runtime {

namespace {

// Gives a resizable output the kept sizes, and size 1 for reduced axes if it has all axes.
bool takes_kept_sizes(const Layout& in, uint32_t reduced, bool keeps_axes, const Tensor& out) {
  if (!out.resizable) return true;
  Extents sizes{};
  size_t rank = 0;
  for (size_t axis = 0; axis < in.rank; ++axis) {
    const bool is_reduced = (reduced >> axis & 1) != 0;
    if (!is_reduced || keeps_axes) sizes[rank++] = is_reduced ? 1 : in.sizes[axis];
  }
  return out.resize({sizes.data(), rank});
}

}  // namespace

bool plan_reduction(const Tensor& in, std::span<const int64_t> dims, const Tensor& out, Reduction& reduction) {
  const Layout from = layout_of(in);
  uint32_t chosen = dims.empty() ? ~0U : 0;
  for (const int64_t dim : dims) {
    size_t axis = 0;
    if (from.rank == 0 && (dim == 0 || dim == -1)) continue;
    if (!axis_of(dim, from.rank, axis) || (chosen >> axis & 1) != 0) return false;
    chosen |= 1U << axis;
  }
  const bool keeps_axes = out.rank() == from.rank;
  if (!takes_kept_sizes(from, chosen, keeps_axes, out)) return false;
  const Layout to = layout_of(out);
  size_t out_axis = 0;
  for (size_t axis = 0; axis < from.rank; ++axis) {
    const bool is_reduced = (chosen >> axis & 1) != 0;
    if (is_reduced) {
      reduction.reduced.add_axis(from.sizes[axis], {from.strides[axis]});
      if (!keeps_axes) continue;
      if (out_axis >= to.rank || to.sizes[out_axis] != 1) return false;
    } else {
      if (out_axis >= to.rank || to.sizes[out_axis] != from.sizes[axis]) return false;
      reduction.kept.add_axis(from.sizes[axis], {from.strides[axis], to.strides[out_axis]});
    }
    ++out_axis;
  }
  return out_axis == to.rank;
}

namespace {

struct Keep {
  template <typename T>
  T operator()(T value) const {
    return value;
  }
};

// A value, and whether one has been set.
template <typename T>
struct Extreme {
  T value{};
  bool any = false;
};

// Keeps the best value. NaN is better than any number.
template <typename Better>
struct KeepBest {
  Better better;

  template <typename T>
  void operator()(Extreme<T>& state, T value) const {
    if (!state.any || better(value, state.value) || value != value) state = {value, true};
  }
  void add_row(Extreme<float>& state, const float* from, ptrdiff_t step, size_t count) const {
    float best = state.any ? state.value : *from;
    repeat(count, [&] {
      const float value = *from;
      if (!Better::is_not_better(value, best) && best == best) [[unlikely]]  // NaN stays
        best = value;
      from += step;
    });
    state = {best, true};
  }
};

// The best value of each reduction.
template <typename Better>
void reduce_to_best(const Tensor& in, const Tensor& out, Reduction& reduction, const Better& better) {
  reduce(
      in, out, reduction, [](auto zero) { return Extreme<decltype(zero)>{}; }, KeepBest<Better>{better},
      [](const auto& state) { return state.value; });
}

template <typename Better>
Error extreme_over(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out,
                   const Better& better) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction) && (reduction.reduced.count() > 0 || out.elements() == 0));
  CARINA_RT_TRY(call.error());
  reduce_to_best(in, out, reduction, better);
  return Error::kOk;
}

template <typename Better>
Error extreme(Arguments arguments, const Better& better) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  return extreme_over(call, in, dims, out, better);
}

// The index of the best value along one dimension, or in the flattened input.
template <typename Better>
Error index_of_extreme(Arguments arguments, const Better& better) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const bool flat = call.is_none(1);
  const int64_t dim = call.integer_or(1, 0);
  const Tensor& out = call.out(3);
  Reduction reduction;
  call.require(plan_reduction(in, flat ? std::span<const int64_t>() : std::span(&dim, 1), out, reduction) &&
               (reduction.reduced.count() > 0 || out.elements() == 0));
  CARINA_RT_TRY(call.error());
  const IntegerStorer store = integer_storer(out.type);
  const int64_t outputs = reduction.kept.count();
  const int64_t each = reduction.reduced.count();
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        for (int64_t i = 0; i < outputs; ++i, reduction.kept.next()) {
          Extreme<typename decltype(domain)::Value> best;
          int64_t position = 0;
          for (int64_t k = 0; k < each; ++k, reduction.reduced.next()) {
            const auto value = read(reduction.kept.at[0] + reduction.reduced.at[0]);
            if (best.any && (best.value != best.value || !(better(value, best.value) || value != value))) continue;
            best = {value, true};
            position = k;
          }
          store(out.data, static_cast<size_t>(reduction.kept.at[1]), position);
        }
      },
      in);
  return Error::kOk;
}

struct Larger {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
  static bool is_not_better(float a, float b) { return a <= b; }
};
struct Smaller {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
  static bool is_not_better(float a, float b) { return a >= b; }
};

// Welford's running mean and sum of squared deviations.
struct Spread {
  double count = 0, mean = 0, squares = 0;
};

void add_to(Spread& state, double value) {
  state.count += 1;
  const double before = value - state.mean;
  state.mean += before / state.count;
  state.squares += before * (value - state.mean);
}

Error variance_over(Call& call, const Tensor& in, std::span<const int64_t> dims, double correction, const Tensor& out) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction));
  call.support(is_floating(in.type) && is_floating(out.type));
  CARINA_RT_TRY(call.error());
  reduce(
      in, out, reduction, [](auto /*zero*/) { return Spread{}; },
      [](Spread& state, auto value) { add_to(state, static_cast<double>(value)); },
      [correction](const Spread& state) {
        const double divisor = std::fmax(state.count - correction, 0);
        return state.count == 0 ? std::numeric_limits<double>::quiet_NaN() : state.squares / divisor;
      });
  return Error::kOk;
}

// Sums floats in double.
struct Sum {
  template <typename T>
  auto operator()(T zero) const {
    if constexpr (std::is_same_v<T, int64_t>)
      return zero;
    else
      return 0.0;
  }
};
struct AddTo {
  template <typename S, typename T>
  void operator()(S& state, T value) const {
    state = plus(state, static_cast<S>(value));
  }
  static void add_row(double& state, const float* from, ptrdiff_t step, size_t count) {
    state = add_floats(state, from, step, count);
  }
};

Error sum_over(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction));
  CARINA_RT_TRY(call.error());
  reduce(in, out, reduction, Sum{}, AddTo{}, Keep{});
  return Error::kOk;
}

Error mean_over(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction));
  call.support(is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const auto count = static_cast<double>(reduction.reduced.count());
  reduce(in, out, reduction, Sum{}, AddTo{}, [count](auto state) { return static_cast<double>(state) / count; });
  return Error::kOk;
}

Error product_over(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction));
  CARINA_RT_TRY(call.error());
  reduce(
      in, out, reduction, [](auto zero) { return decltype(zero)(1); },
      [](auto& state, auto value) { state = times(state, value); }, Keep{});
  return Error::kOk;
}

Error any_over(Call& call, const Tensor& in, std::span<const int64_t> dims, const Tensor& out) {
  Reduction reduction;
  call.require(plan_reduction(in, dims, out, reduction));
  CARINA_RT_TRY(call.error());
  reduce(
      in, out, reduction, [](auto /*zero*/) { return false; }, [](bool& state, auto value) { state |= value != 0; },
      [](bool state) { return state ? 1 : 0; });
  return Error::kOk;
}

}  // namespace

// (input, dims, keepdim, dtype, out)
Error sum(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments)) return complex_sum(arguments);
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  return sum_over(call, in, dims, out);
}

Error mean(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  return mean_over(call, in, dims, out);
}

// (input, dtype, out)
Error mean_all(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(2);
  CARINA_RT_TRY(call.error());
  return mean_over(call, in, {}, out);
}

Error prod_all(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(2);
  CARINA_RT_TRY(call.error());
  return product_over(call, in, {}, out);
}

// (input, dim: int, keepdim, dtype, out)
Error prod(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t dim = call.integer(1);
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  return product_over(call, in, std::span(&dim, 1), out);
}

// (input, dims, keepdim, out)
Error amax(Arguments arguments, Arena& /*scratch*/) {
  return extreme(arguments, Larger{});
}
Error amin(Arguments arguments, Arena& /*scratch*/) {
  return extreme(arguments, Smaller{});
}

// (input, dim or None, keepdim, out)
Error argmax(Arguments arguments, Arena& /*scratch*/) {
  return index_of_extreme(arguments, Larger{});
}
Error argmin(Arguments arguments, Arena& /*scratch*/) {
  return index_of_extreme(arguments, Smaller{});
}

namespace {

// (input, dim, keepdim, values, indices): values and indices along one dimension
template <typename Better>
Error value_and_index(Arguments arguments, const Better& better) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t dim = call.integer(1);
  const Tensor& values = call.out(3);
  static_cast<void>(call.out(4));
  Reduction reduction;
  call.require(plan_reduction(in, std::span(&dim, 1), values, reduction) &&
               (reduction.reduced.count() > 0 || values.elements() == 0));
  CARINA_RT_TRY(call.error());
  EValue* const for_positions[] = {arguments[0], arguments[1], arguments[2], arguments[4]};
  CARINA_RT_TRY(index_of_extreme(for_positions, better));
  reduce_to_best(in, values, reduction, better);
  return Error::kOk;
}

template <typename Better>
Error extreme_of_all(Arguments arguments, const Better& better) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(1);
  CARINA_RT_TRY(call.error());
  return extreme_over(call, in, {}, out, better);
}

}  // namespace

Error max_dim(Arguments arguments, Arena& /*scratch*/) {
  return value_and_index(arguments, Larger{});
}
Error min_dim(Arguments arguments, Arena& /*scratch*/) {
  return value_and_index(arguments, Smaller{});
}

// (input, out)
Error max_all(Arguments arguments, Arena& /*scratch*/) {
  return extreme_of_all(arguments, Larger{});
}
Error min_all(Arguments arguments, Arena& /*scratch*/) {
  return extreme_of_all(arguments, Smaller{});
}

// (input, out)
Error any_all(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& out = call.out(1);
  CARINA_RT_TRY(call.error());
  return any_over(call, in, {}, out);
}

// (input, dim: int, keepdim, out)
Error any_dim(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const int64_t dim = call.integer(1);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  return any_over(call, in, std::span(&dim, 1), out);
}

// (input, dims or None, keepdim, out)
Error any_dims(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(3);
  CARINA_RT_TRY(call.error());
  return any_over(call, in, dims, out);
}

// (input, dims, unbiased, keepdim, out)
Error var(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const double correction = call.flag(2) ? 1 : 0;
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  return variance_over(call, in, dims, correction, out);
}

// (input, dims, correction, keepdim, out)
Error var_correction(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const double correction = call.number_or(2, 1);
  const Tensor& out = call.out(4);
  CARINA_RT_TRY(call.error());
  return variance_over(call, in, dims, correction, out);
}

// (input, dims, correction, keepdim, variance, mean)
Error var_mean(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const double correction = call.number_or(2, 1);
  const Tensor& variance = call.out(4);
  const Tensor& mean = call.out(5);
  CARINA_RT_TRY(call.error());
  CARINA_RT_TRY(variance_over(call, in, dims, correction, variance));
  return mean_over(call, in, dims, mean);
}

}  // namespace carina::runtime
