#include <algorithm>
#include <limits>

#include "frontend/tflite/kernels/fixed_point_internal.h"
#include "frontend/tflite/kernels/svdf_internal.h"

// SVDF of int8 with an int16 state: a convolution over time of features, of low rank. The state holds the last
// `memory` features of each filter, the newest at the end.
//   feature[f] = features[f, :] . x         int16
//   y[u]       = bias[u] + sum of state[f, :] . time[f, :] over the `rank` filters of unit u
namespace carina::tflite {

Result<void> check_svdf(const KernelCall& call, const std::string& where) {
  for (const size_t i : {size_t{0}, kSvdfFeatures, kSvdfTime, kSvdfState}) {
    if (!call.has(i)) return call.reject(where, fmt::format("operand {} is missing", i));
    if (call.in(i).shape.rank() != 2) return call.reject(where, "a tensor has another rank", "2", call.in(i).name);
  }
  const int64_t batches = call.in(0).shape[0], inputs = call.in(0).shape[1], filters = call.in(kSvdfFeatures).shape[0],
                memory = call.in(kSvdfTime).shape[1], rank = call.op().options.rank;
  if (rank < 1 || filters % rank != 0 || memory < 1)
    return call.reject(where, "the filters are not a multiple of the rank", fmt::to_string(rank),
                       fmt::to_string(filters));
  CARINA_CHECKED(call.need(where, call.in(0), DType::kInt8, Shape{batches, inputs}));
  CARINA_CHECKED(call.need(where, call.in(kSvdfFeatures), DType::kInt8, Shape{filters, inputs}));
  CARINA_CHECKED(call.need(where, call.in(kSvdfTime), DType::kInt16, Shape{filters, memory}));
  CARINA_CHECKED(call.need(where, call.in(kSvdfState), DType::kInt16, Shape{batches, filters * memory}));
  CARINA_CHECKED(call.need(where, call.out(), DType::kInt8, Shape{batches, filters / rank}));
  if (call.has(kSvdfBias)) CARINA_CHECKED(call.need(where, call.in(kSvdfBias), DType::kInt32, Shape{filters / rank}));
  CARINA_CHECKED(call.need_memory(where, call.in(kSvdfState)));
  CARINA_CHECKED(call.need_memory(where, call.out()));
  const double state_scale = KernelCall::scale(call.in(kSvdfState));
  CARINA_CHECKED(
      call.need_ratio(where, KernelCall::scale(call.in(0)) * KernelCall::scale(call.in(kSvdfFeatures)) / state_scale));
  CARINA_CHECKED(
      call.need_ratio(where, state_scale * KernelCall::scale(call.in(kSvdfTime)) / KernelCall::scale(call.out())));
  if (!call.in(kSvdfState).is_variable) return call.reject(where, "a state that is not a variable tensor");
  return {};
}

Result<void> run_svdf(const KernelCall& call, const TensorBytes& bytes, const std::string& /*where*/) {
  const auto size = [](int64_t dim) { return static_cast<size_t>(dim); };
  const auto read = [&](size_t i) { return bytes.read(call.op().inputs[i]); };
  const size_t batches = size(call.in(0).shape[0]), inputs = size(call.in(0).shape[1]),
               filters = size(call.in(kSvdfFeatures).shape[0]), memory = size(call.in(kSvdfTime).shape[1]),
               rank = size(call.op().options.rank), units = filters / rank;
  const auto x = values_of<int8_t>(read(0)), features = values_of<int8_t>(read(kSvdfFeatures));
  const auto time = values_of<int16_t>(read(kSvdfTime));
  const auto bias = call.has(kSvdfBias) ? values_of<int32_t>(read(kSvdfBias)) : std::span<const int32_t>();
  const std::span<int16_t> state = values_of<int16_t>(bytes.write(call.op().inputs[kSvdfState]));
  const std::span<int8_t> y = values_of<int8_t>(bytes.write(call.op().outputs[0]));
  // In float, as LiteRT computes them.
  const float scale = KernelCall::scale(call.in(kSvdfState));
  const Multiplier of_feature =
      multiplier_of(KernelCall::scale(call.in(0)) * KernelCall::scale(call.in(kSvdfFeatures)) / scale);
  const Multiplier of_result =
      multiplier_of(scale * KernelCall::scale(call.in(kSvdfTime)) / KernelCall::scale(call.out()));
  const auto zero = static_cast<int32_t>(KernelCall::zero_point(call.in(0)));
  const auto result_zero = static_cast<int32_t>(KernelCall::zero_point(call.out()));
  std::ranges::copy(state.subspan(1), state.begin());
  for (size_t b = 0; b < batches; ++b) {
    for (size_t f = 0; f < filters; ++f) {
      int64_t total = 0;
      for (size_t i = 0; i < inputs; ++i) total += features[f * inputs + i] * (x[b * inputs + i] - zero);
      state[(b * filters + f) * memory + memory - 1] = static_cast<int16_t>(
          std::clamp<int32_t>(multiply(static_cast<int32_t>(total), of_feature), std::numeric_limits<int16_t>::min(),
                              std::numeric_limits<int16_t>::max()));
    }
    for (size_t u = 0; u < units; ++u) {
      uint32_t total = bias.empty() ? 0 : static_cast<uint32_t>(bias[u]);
      for (size_t i = u * rank * memory; i < (u + 1) * rank * memory; ++i)
        total += static_cast<uint32_t>(state[b * filters * memory + i] * time[i]);
      y[b * units + u] =
          static_cast<int8_t>(std::clamp(multiply(static_cast<int32_t>(total), of_result) + result_zero, -128, 127));
    }
  }
  return {};
}

}  // namespace carina::tflite
