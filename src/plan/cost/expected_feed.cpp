#include <algorithm>
#include <cmath>

#include "base/checked_math.h"
#include "npu/weights/scales.h"
#include "npu/weights/weight_order.h"
#include "plan/cost/kernel_cost.h"

namespace carina::plan {
namespace {

// The entropy of a choice between two, in bits.
double bits_of_choice(double rate) {
  return rate <= 0 || rate >= 1 ? 0 : -rate * std::log2(rate) - (1 - rate) * std::log2(1 - rate);
}

// The weights of a block's order, with its padding.
double padded_weights(const Step& subop, const BlockConfig& block, const Family& family, const Target& target) {
  const bool depthwise = subop.kind == StepKind::kDepthwise;
  const Weights shape{
      .height = subop.kernel.height, .width = subop.kernel.width, .in_channels = depthwise ? 1 : subop.ifm.depth};
  const npu::WeightTraversal order = family.traversal(subop, block, shape, target);
  double all = 0;
  for (int stream = 0; stream < npu::stream_count(order); ++stream)
    all += static_cast<double>(npu::sequence_length(order, stream));
  return all;
}

// The bits of `given` weights and the padding zeros with which they are `all` weights. The zeros are coded either like
// other weights, or as a run before each nonzero weight. A run takes at least one bit.
//   Example: 36864 weights of 8 bits with a third of padding. As weights they take 49152 bytes; as runs, 41700.
double bits_of_weights(double given, double all, const WeightFacts& facts) {
  const double zeros = all - given + facts.zero_rate * given;
  const double of_nonzeros = given * (facts.bits_per_weight - bits_of_choice(facts.zero_rate));
  const double of_runs = std::max(all * bits_of_choice(zeros / all), all - zeros);
  return std::min(all * facts.bits_per_weight, of_nonzeros + of_runs);
}

// The bytes of the fast format. Sparse weights are not indices.
double fast_bytes(double all, const BlockConfig& block, const WeightFacts& facts) {
  constexpr double kHeaderBytes = 32;
  const int bits = block.sparsity == npu::WeightSparsity::SPARSE_2_4 ? 8 : facts.fast_bits;
  return std::ceil(all * bits / 8) + kHeaderBytes;
}

double scale_bytes_of(const Step& subop) {
  return static_cast<double>(round_up<int64_t>(npu::kScaleEntryBytes * subop.ofm.depth, 16));
}

}  // namespace

Feed expected_feed(const Step& subop, const BlockConfig& block, const Family& family, const Target& target,
                   const WeightFacts& facts) {
  Feed feed;
  feed.scale_bytes = scale_bytes_of(subop);
  const int64_t each = subop.kernel.taps() * (subop.kind == StepKind::kDepthwise ? 1 : subop.ifm.depth);
  const auto given = static_cast<double>(each * subop.ofm.depth);
  constexpr double kHeaderBytes = 16;
  const double all = padded_weights(subop, block, family, target);
  feed.weight_bytes = block.format == npu::WeightFormat::FWD
                          ? fast_bytes(all, block, facts)
                          : std::ceil(bits_of_weights(given, all, facts) / 8) + kHeaderBytes;
  // Padding zeros are decoded as fast as other zeros.
  if (all > 0) feed.zero_rate = std::clamp((all - given + facts.zero_rate * given) / all, 0.0, 1.0);
  return feed;
}

Feed expected_feed(const Step& subop, const BlockConfig& block, const Context& context) {
  if (!subop.weights.valid()) return {};
  if (!subop.is_convolution() || subop.weights.index() >= context.weights.size())
    return {.scale_bytes = scale_bytes_of(subop)};
  return expected_feed(subop, block, context.family, context.target, context.weights[subop.weights.index()]);
}

}  // namespace carina::plan
