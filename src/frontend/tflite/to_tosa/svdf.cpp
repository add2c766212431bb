#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "frontend/tflite/kernels/svdf_internal.h"
#include "frontend/tflite/to_tosa/ops_internal.h"

// SVDF of int8 with an int16 state. kernels/svdf.cpp has the equations. The features are a matrix product; those of the
// steps before are moved by one. The sums over time are of int16 times int16, which are elementwise products.
namespace carina::tflite {

namespace {

using ir::ValueId;

// In float, as LiteRT computes it.
Multiplier feature_multiplier(const Call& call) {
  return multiplier_of(Call::scale(call.in(0)) * Call::scale(call.in(kSvdfFeatures)) /
                       Call::scale(call.in(kSvdfState)));
}

// The largest magnitude of each feature, for any int8 input.
std::vector<int64_t> largest_features(const Call& call) {
  const auto weights = values_of<int8_t>(call.in(kSvdfFeatures).data.bytes());
  const auto inputs = static_cast<size_t>(call.in(0).shape[1]);
  const Multiplier multiplier = feature_multiplier(call);
  const double factor = std::ldexp(multiplier.multiplier, multiplier.exponent - 31);
  const int64_t zero = Call::zero_point(call.in(0));
  std::vector<int64_t> out;
  for (size_t begin = 0; begin < weights.size(); begin += inputs) {
    int64_t least = 0, most = 0;
    for (const int64_t weight : weights.subspan(begin, inputs)) {
      const int64_t low = weight * (-128 - zero), high = weight * (127 - zero);
      least += std::min(low, high);
      most += std::max(low, high);
    }
    constexpr double kMargin = 2;  // of roundings
    const double largest = static_cast<double>(std::max(most, -least)) * factor + kMargin;
    out.push_back(static_cast<int64_t>(std::min(largest, 32768.0)));
  }
  return out;
}

// LiteRT's sum of 32 bits may wrap, TOSA's must not. Returns whether no state makes it wrap: what a run adds to the
// state is bounded by the weights, and the state begins with zeros.
bool is_within_32_bits(const Call& call, std::span<const int32_t> bias) {
  const auto time = values_of<int16_t>(call.in(kSvdfTime).data.bytes());
  const std::vector<int64_t> largest = largest_features(call);
  const size_t memory = time.size() / largest.size(), rank = static_cast<size_t>(call.options().rank);
  for (size_t first = 0; first < largest.size(); first += rank) {
    int64_t most = bias.empty() ? 0 : std::abs(int64_t{bias[first / rank]});
    for (size_t i = first * memory; i < (first + rank) * memory; ++i)
      most += std::abs(int64_t{time[i]}) * largest[i / memory];
    if (most > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

ValueId new_features(Call& call, int64_t filters) {
  const std::vector<int64_t> no_bias(static_cast<size_t>(filters), 0);
  const ValueId total = row_products(
      call, {.rows = call.value(0),
             .matrix = call.out.reshape(call.value(kSvdfFeatures), Shape{filters, 1, 1, call.in(0).shape[1]}),
             .bias = no_bias,
             .rows_zp = Call::zero_point(call.in(0))});
  return call.rescale(total, {.multipliers = {feature_multiplier(call)}, .to = DType::kInt16});
}

}  // namespace

Result<void> singular_value_filter(Call& call) {
  const KernelCall known = call.kernel_call();
  CARINA_CHECKED(check_svdf(known, call.where()));
  for (const size_t i : {kSvdfFeatures, kSvdfTime}) {
    if (!call.in(i).is_constant) return call.reject("the weights are not constant", {}, call.in(i).name);
  }
  const bool has_bias = call.has(kSvdfBias);
  if (has_bias && !call.in(kSvdfBias).is_constant)
    return call.reject("the bias is not constant", {}, call.in(kSvdfBias).name);
  const int64_t batches = call.in(0).shape[0], filters = call.in(kSvdfFeatures).shape[0],
                memory = call.in(kSvdfTime).shape[1], rank = call.options().rank, units = filters / rank;
  const auto bias = has_bias ? values_of<int32_t>(call.in(kSvdfBias).data.bytes()) : std::span<const int32_t>();
  if (!is_within_32_bits(call, bias)) return call.reject("the sums over time do not fit 32 bits");
  ir::Emitter& out = call.out;
  ValueId state = out.reshape(new_features(call, filters), Shape{batches, filters, 1});
  if (memory > 1) {
    const ValueId before = out.reshape(call.value(kSvdfState), Shape{batches, filters, memory});
    state = out.concat({out.slice(before, {0, 0, 1}, Shape{batches, filters, memory - 1}), state}, 2);
  }
  call.set_variable(kSvdfState, out.reshape(state, Shape{batches, filters * memory}));
  const auto stored = values_of<int16_t>(call.in(kSvdfTime).data.bytes());
  const std::vector<int64_t> weights(stored.begin(), stored.end());
  const ValueId time = out.reshape(out.integers(DType::kInt32, weights), Shape{1, filters, memory});
  const ValueId products = out.binary(TosaOp::MUL, out.cast(state, DType::kInt32), time);
  ValueId sums = out.reduce(TosaOp::REDUCE_SUM, products, 2);
  sums = out.reduce(TosaOp::REDUCE_SUM, out.reshape(sums, Shape{batches, units, rank}), 2);
  sums = out.reshape(sums, Shape{batches, units});
  if (has_bias) sums = out.binary(TosaOp::ADD, sums, out.reshape(call.value(kSvdfBias), Shape{1, units}));
  const Multiplier multiplier =
      multiplier_of(Call::scale(call.in(kSvdfState)) * Call::scale(call.in(kSvdfTime)) / Call::scale(call.result()));
  return call.set(call.rescale(
      sums, {.multipliers = {multiplier}, .output_zp = Call::zero_point(call.result()), .to = DType::kInt8}));
}

}  // namespace carina::tflite
