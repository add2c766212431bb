#include "plan/select/weights_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "base/memory/prefetch.h"
#include "base/parallel/parallel.h"
#include "facts/npu_targets.h"
#include "plan/select/emit_internal.h"

namespace carina::plan {

Result<std::vector<int64_t>> biases_of(Selection& s, ir::ValueId bias, int64_t channels) {
  CARINA_TRY(std::vector<int64_t> values, s.constant(bias, "bias"));
  if (values.size() == 1) values.resize(static_cast<size_t>(channels), values.front());
  if (static_cast<int64_t>(values.size()) != channels)
    return s.reject("the bias has the wrong length", std::to_string(channels), std::to_string(values.size()));
  constexpr int64_t kLimit = int64_t{1} << 39;
  const auto too_large = std::ranges::find_if(values, [](int64_t b) { return b < -kLimit || b >= kLimit; });
  if (too_large != values.end())
    return s.reject("a bias does not fit the NPU's 40 bits", {}, std::to_string(*too_large));
  return values;
}

namespace {

// The sum of |weight|. In lanes, which compilers make vectors of; what they hold after a chunk fits them.
template <typename T>
int64_t sum_of(std::span<const T> values) {
  constexpr size_t kLanes = 16, kChunk = size_t{1} << 14;
  int64_t sum = 0;
  for (; !values.empty(); values = values.subspan(std::min(kChunk, values.size()))) {
    const auto chunk = values.first(std::min(kChunk, values.size()));
    std::array<int32_t, kLanes> sums{};
    const size_t whole = chunk.size() - chunk.size() % kLanes;
    for (size_t i = 0; i < whole; i += kLanes) {
      if (i % kLineBytes == 0) prefetch_ahead(chunk.data() + i);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        const int32_t value = chunk[i + lane];
        sums[lane] += value < 0 ? -value : value;
      }
    }
    for (const T value : chunk.subspan(whole)) sum += std::abs(int{value});
    sum = std::accumulate(sums.begin(), sums.end(), sum);
  }
  return sum;
}

// Of each channel.
template <typename T>
std::vector<int64_t> sums_of(std::span<const T> values, size_t channels) {
  constexpr size_t kPartElements = size_t{1} << 19;  // worth a thread's while
  const size_t each = values.size() / channels;
  std::vector<int64_t> sums(channels, 0);
  parallel_for_chunks(channels, std::max<size_t>(1, kPartElements / std::max<size_t>(1, each)),
                      [&](size_t begin, size_t end) {
                        for (size_t o = begin; o < end; ++o) sums[o] = sum_of(values.subspan(o * each, each));
                      });
  return sums;
}

Result<void> check_sums(Selection& s, const Weights& weights) {
  const std::vector<int64_t> sums = weights.values.visit(
      [&](const auto& values) { return sums_of(values, static_cast<size_t>(weights.out_channels)); });
  for (size_t o = 0; o < sums.size(); ++o) {
    if (const int64_t sum = sums[o]; sum > npu::kMaxWeightSum8) {
      return s.reject("the accumulators could overflow",
                      fmt::format("the sum of |weight| of a channel at most {}", npu::kMaxWeightSum8),
                      fmt::format("{} in channel {}", sum, o));
    }
  }
  return {};
}

}  // namespace

Result<WeightsId> add_weights(Selection& s, Weights weights, const Epilogue& epilogue) {
  const auto channels = static_cast<size_t>(weights.out_channels);
  if (!weights.values.empty()) CARINA_CHECKED(check_sums(s, weights));
  if (weights.biases.empty()) weights.biases.assign(channels, 0);
  for (size_t o = 0; o < channels; ++o) weights.factors.push_back(epilogue.factors[epilogue.per_channel ? o : 0]);
  if (weights.name.empty()) weights.name = s.node().name;
  s.network().material.weights.push_back(std::move(weights));
  return WeightsId(s.network().material.weights.size() - 1);
}

WeightsId scale_table(Selection& s, const Epilogue& epilogue, int64_t channels) {
  return *add_weights(s, {.name = {}, .out_channels = channels}, epilogue);
}

}  // namespace carina::plan
