#include <gtest/gtest.h>

#include <algorithm>

#include "networks.h"
#include "plan/cost/kernel_cost.h"
#include "plan/cost/timeline.h"
#include "plan/family/context.h"
#include "plan/family/family.h"

// Tests the division of convolutions by their depth, and the expected sizes of weights on which it depends.
namespace carina::plan {
namespace {

// A convolution with 32 output channels reads weights of 8 bits without zeros. Orders with padding take more bytes.
void expect_encoded_size(const char* npu, int64_t kernel, int64_t in_channels) {
  const Target target = *find_target(npu, "", "");
  const Family& family = **find_family(target);
  Weights weights{.out_channels = 32, .height = kernel, .width = kernel, .in_channels = in_channels};
  std::vector<int8_t> values(static_cast<size_t>(32 * kernel * kernel * in_channels));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int8_t>(i * 7919 % 254 < 127 ? i * 7919 % 127 + 1 : -(i * 7919 % 127) - 1);
  weights.values = std::vector<int16_t>(values.begin(), values.end());
  weights.biases.assign(32, 0);
  weights.factors.resize(32);
  Step subop{.kind = StepKind::kConv,
             .ofm = {.height = 16, .width = 16, .depth = 32},
             .ifm = {.height = 16, .width = 16, .depth = in_channels},
             .kernel = {.height = kernel, .width = kernel},
             .weights = WeightsId(0)};
  const std::vector<WeightFacts> facts{{.bits_per_weight = 8, .zero_rate = 0}};
  const Options options;
  const Log log;
  const Context context{.family = family, .target = target, .options = options, .log = log, .weights = facts};
  std::vector<npu::WeightOrder> seen;
  for (const BlockConfig& block : family.legal_blocks(subop, target)) {
    if (std::ranges::find(seen, block.order) != seen.end()) continue;
    seen.push_back(block.order);
    const EncodedSlice slice = family.encode(family.traversal(subop, block, weights, target), weights, 0, nullptr);
    double encoded = 0;
    for (const CoreStream& core : slice.cores) encoded += static_cast<double>(core.weight_bytes);
    EXPECT_NEAR(expected_feed(subop, block, context).weight_bytes / encoded, 1, 0.05)
        << npu << " " << kernel << "x" << kernel << " order " << static_cast<int>(block.order);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(ExpectedFeed, is_near_encoded_size_in_both_orders) {
  for (const char* npu : {"ethos-u55-128", "ethos-u55-256", "ethos-u65-512", "ethos-u85-256"})
    expect_encoded_size(npu, 3, 64);
}

// Parts of 16 channels take a fifth more cycles than whole convolutions. Two of them fit beside the tensors, so the
// weights of one are copied while the other runs.
TEST(CutDepth, parts_are_finer_where_two_coarse_ones_do_not_fit) {
  const Target target = *find_target("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram");
  GraphBuilder b;
  auto x = b.input("x", DType::kInt8, {1, 16, 16, 64});
  constexpr int kConvolutions = 8;
  for (int i = 0; i < kConvolutions; ++i) x = b.conv(x, 64, 3, 1, 40, i);
  b.graph.outputs = {x};
  Options options;
  options.arena_budget_bytes = 2 * 16 * 16 * 64 + 2 * 9'600;
  const double cycles = cost_of(schedule_of(b.graph, target, options), **find_family(target), target);
  EXPECT_LT(cycles, kConvolutions * 50'000);  // 75,000 each if the weights are read from flash in place
}

// Beside the tensors, memory holds the copies of small parts for two matrix products, not those of large ones.
TEST(CutDepth, parts_stay_apart_where_joined_ones_delay_copies) {
  const Target target = *find_target("ethos-u55-256", "Ethos_U55_High_End_Embedded", "Shared_Sram");
  GraphBuilder b;
  constexpr int64_t kRows = 100, kDepth = 784, kChannels = 512;
  const auto x = b.input("x", DType::kInt8, {1, kRows, 1, kDepth});
  b.graph.outputs = {b.conv(b.conv(x, kChannels, 1, 0), 256, 1, 0, 40, 1)};
  Options options;
  options.arena_budget_bytes = kRows * (kDepth + kChannels) + 114'000;
  const double cycles = cost_of(schedule_of(b.graph, target, options), **find_family(target), target);
  constexpr double kFlashBytes = kChannels * (kDepth + 256);  // at one byte per cycle
  EXPECT_LT(cycles, 1.15 * kFlashBytes);
}

}  // namespace
}  // namespace carina::plan
