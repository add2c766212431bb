#include "npu/cost/cost.h"
#include "npu/cost/channel.h"

#include <gtest/gtest.h>

#include <array>

#include "npu/weights/weight_order.h"

namespace carina::npu {
namespace {

// A convolution with 1x1 ublocks. Its area of 100 ublocks makes weight decoding faster than the multiplications.
MacWork convolution(std::string_view target, MacKind kind, int64_t ifm_depth, int64_t kernel, int ublock_depth = 8) {
  const AcceleratorConfig& npu = *find_accelerator(target);
  return {.npu = npu,
          .kind = kind,
          .kernel_height = kernel,
          .kernel_width = kernel,
          .ublocks_xy = 100,
          .ublock_depth = ublock_depth,
          .ifm_block_depth = std::min<int64_t>(ifm_depth, kind == MacKind::kPartKernel ? 16 : 64),
          .ifm_depth = ifm_depth,
          .weight_streams = npu.weight_decoders};
}
double cycles(const MacWork& work) {
  return mac_cycles(work, kTimeLineCost);
}

TEST(MacCycles, u85_depth_first_multiplies_padding_zeros) {
  const auto of = [](int64_t depth) { return cycles(convolution("ethos-u85-256", MacKind::kDepthFirst, depth, 1)); };
  EXPECT_EQ(of(64), 800);
  EXPECT_EQ(of(32), of(64));
  EXPECT_EQ(of(96), of(128));
}

TEST(MacCycles, small_parts_of_deep_ublocks_pad_to_half) {
  const auto of = [](std::string_view target, int64_t depth) {
    return cycles(convolution(target, MacKind::kDepthFirst, depth, 1, 16));
  };
  EXPECT_EQ(of("ethos-u85-256", 96), 1200);
  EXPECT_EQ(of("ethos-u85-512", 96), 1600);
}

TEST(MacCycles, u85_part_kernel_takes_5_taps_then_2) {
  const auto of = [](int64_t kernel) { return cycles(convolution("ethos-u85-256", MacKind::kPartKernel, 16, kernel)); };
  EXPECT_EQ(of(1), 2 * 2 * 100);  // two steps of eight channels
  EXPECT_EQ(of(2), 4 * 2 * 100);
  EXPECT_EQ(of(3), 9 * 2 * 100);
  EXPECT_EQ(of(4), 17 * 2 * 100);  // 15 taps, and two cycles for the last one
  EXPECT_EQ(of(5), 25 * 2 * 100);
}

TEST(MacCycles, u85_small_block_waits_for_weights) {
  MacWork work = convolution("ethos-u85-256", MacKind::kPartKernel, 16, 3, 16);
  work.ublocks_xy = 2;
  EXPECT_EQ(mac_cycles(work, kSearchCost), 10 * 16 * 2);  // ten taps of 16 channels for 16 outputs, eight per cycle
  EXPECT_EQ(cycles(work), 9 * 2 * 2);                     // nine taps, two steps of eight channels, two ublocks
}

// The perceptron of ExecuTorch's pruning notebook on U85-128: 784-512-256-10. Its FVP counted MAC_ACTIVE 8 k, WD_ACTIVE
// 74 k and NPU_ACTIVE 97 k.
TEST(DecodeCycles, u85_perceptron_matches_fvp) {
  const AcceleratorConfig& npu = *find_accelerator("ethos-u85-128");
  const MemoryPort port{.kind = MemoryKind::kSram,
                        .clock_scale = 1,
                        .ports_used = 2,
                        .burst_bytes = 64,
                        .read_latency_cycles = 0,
                        .write_latency_cycles = 0,
                        .max_reads = 8,
                        .max_writes = 8};
  double macs = 0, decoding = 0, npu_cycles = 0;
  for (const auto& [inputs, outputs] : {std::pair<int64_t, int64_t>{784, 512}, {512, 256}, {256, 10}}) {
    const double weights = decoded_weights({.npu = npu, .ifm_depth = inputs, .ofm_depth = outputs});
    decoding += weights / weights_per_cycle({.npu = npu});
    npu_cycles += decode_cycles({.npu = npu, .port = port, .weights = weights, .encoded_bytes = weights});
    MacWork work = convolution("ethos-u85-128", MacKind::kDepthFirst, inputs, 1);
    work.ublocks_xy = 1;
    work.ublocks_z = (outputs + 7) / 8;
    CostDetail detail = kTimeLineCost;
    detail.accumulator_delay = false;
    macs += mac_cycles(work, detail);
  }
  EXPECT_NEAR(macs, 8e3, 0.1 * 8e3);
  EXPECT_NEAR(decoding, 74e3, 0.06 * 74e3);
  EXPECT_NEAR(npu_cycles, 97e3, 0.07 * 97e3);
}

TEST(ElementwiseDepth, depth_steps_are_8_channels_or_a_brick) {
  const auto of = [](int64_t depth, int64_t ublock_depth, bool bricks = true) {
    return elementwise_depth({.bricks = bricks, .depth = depth, .ublock_depth = ublock_depth}, kTimeLineCost);
  };
  EXPECT_EQ(of(4, 8), 8);
  EXPECT_EQ(of(8, 8), 8);
  EXPECT_EQ(of(9, 8), 16);
  EXPECT_EQ(of(4, 4), 8);
  EXPECT_EQ(of(8, 32), 16);
  EXPECT_EQ(of(3, 8, false), 3);
  CostDetail bricks = kTimeLineCost;
  bricks.elementwise_channels = 16;
  EXPECT_EQ(elementwise_depth({.bricks = true, .depth = 4, .ublock_depth = 8}, bricks), 16);
}

TEST(MacCycles, u55_depth_advances_by_32_channels) {
  const auto of = [](int64_t depth) {
    MacWork work = convolution("ethos-u55-128", MacKind::kDepthFirst, depth, 1);
    work.ifm_block_depth = std::min<int64_t>(depth, 32);
    return cycles(work);
  };
  EXPECT_EQ(of(8), of(32));
  EXPECT_EQ(of(33), 2 * of(32));
}

// The model counts as many multiplications as the weight order has weights, including zeros for padding.
TEST(MacCycles, u85_depth_first_decodes_whole_stream) {
  for (const int depth : {3, 32, 60, 64, 100, 192}) {
    const MacWork work = convolution("ethos-u85-256", MacKind::kDepthFirst, depth, 3);
    const WeightTraversal order{.accelerator = &work.npu,
                                .order = WeightOrder::DEPTH_FIRST,
                                .ofm_depth = 8,
                                .ifm_depth = depth,
                                .kernel_height = 3,
                                .kernel_width = 3,
                                .ofm_block_depth = 16,
                                .microblock = work.npu.ofm_ublocks[1].code};
    const double weights_per_ublock_and_cycle = 8.0 * 8;
    const int64_t ublocks = 100;
    EXPECT_EQ(cycles(work), static_cast<double>(sequence_length(order, 0) * ublocks) / weights_per_ublock_and_cycle)
        << depth;
  }
}

// Cycles per element on 1024 MACs. Outputs of 8, 16, 32 and 64 bits take 0.0625, 0.125, 0.25 and 0.5. 32-bit operands
// take 0.125 with a narrow output and 0.25 with a wide one.
TEST(OutputCycles, u85_rate_follows_width_and_32_bit_operands) {
  using Kind = OutputWork::Kind;
  const auto of = [](Kind kind, int ifm_bits, int ofm_bits, bool chained = false) {
    return output_cycles_per_element({.npu = *find_accelerator("ethos-u85-1024"),
                                      .kind = kind,
                                      .ifm_bits = ifm_bits,
                                      .ofm_bits = ofm_bits,
                                      .is_chained = chained});
  };
  EXPECT_EQ(of(Kind::kOther, 8, 8), 0.0625);
  EXPECT_EQ(of(Kind::kOther, 8, 16), 0.125);
  EXPECT_EQ(of(Kind::kOther, 32, 32), 0.25);
  EXPECT_EQ(of(Kind::kUnary, 32, 64), 0.5);
  EXPECT_EQ(of(Kind::kAddSub, 8, 8), 0.0625);
  for (const Kind binary : {Kind::kMul, Kind::kAddSub, Kind::kBinary}) {
    EXPECT_EQ(of(binary, 32, 8), 0.125);
    EXPECT_EQ(of(binary, 32, 32), 0.25);
    EXPECT_EQ(of(binary, 32, 32, true), 0.125);
  }
  EXPECT_EQ(of(Kind::kDiv, 32, 32), 33);
}

TEST(OutputCycles, u85_rearranged_output_costs_at_least_twice) {
  const auto of = [](bool rearranged) {
    return output_cycles_per_element({.npu = *find_accelerator("ethos-u85-1024"), .is_rearranged = rearranged});
  };
  EXPECT_EQ(of(true), 2 * of(false));
}

TEST(OutputCycles, u55_cores_share_one_rate) {
  using Kind = OutputWork::Kind;
  const auto of = [](std::string_view target, Kind kind, int ifm_bits, int ofm_bits, int cores = 1) {
    return output_cycles_per_element({.npu = *find_accelerator(target),
                                      .kind = kind,
                                      .ifm_bits = ifm_bits,
                                      .ofm_bits = ofm_bits,
                                      .activation = ActivationKind::kNone,
                                      .cores = cores});
  };
  EXPECT_EQ(of("ethos-u55-32", Kind::kMaxPool, 8, 8), of("ethos-u55-32", Kind::kMaxPool, 32, 8));
  EXPECT_NE(of("ethos-u55-128", Kind::kUnary, 32, 32), of("ethos-u55-128", Kind::kBinary, 32, 32));
  EXPECT_NE(of("ethos-u55-256", Kind::kMul, 8, 32), of("ethos-u55-256", Kind::kMul, 8, 8));
  EXPECT_NE(of("ethos-u55-128", Kind::kAddSub, 8, 8), of("ethos-u55-128", Kind::kOther, 8, 8));
  EXPECT_EQ(of("ethos-u65-512", Kind::kOther, 8, 8, 2), of("ethos-u65-512", Kind::kOther, 8, 8) / 2);
}

TEST(ConcurrentProgress, unused_bandwidth_goes_to_the_other) {
  const auto concurrent = [](double kernel, double transfer) {
    return concurrent_progress(std::array{PortDemand{.kernel = kernel, .transfer = transfer}});
  };
  EXPECT_EQ(concurrent(0.5, 0.5).kernel, 1);
  EXPECT_EQ(concurrent(0.5, 0.5).transfer, 1);
  EXPECT_EQ(concurrent(1, 1).kernel, 0.5);
  EXPECT_EQ(concurrent(1, 1).transfer, 0.5);
  EXPECT_EQ(concurrent(1, 0.25).kernel, 0.75);
  EXPECT_EQ(concurrent(1, 0.25).transfer, 1);
  EXPECT_EQ(concurrent(0.25, 1).kernel, 1);
  EXPECT_EQ(concurrent(0.25, 1).transfer, 0.75);
}

TEST(ConcurrentProgress, narrowest_port_limits_progress) {
  const auto progress =
      concurrent_progress(std::array{PortDemand{.kernel = 1, .transfer = 0.5}, PortDemand{.kernel = 0, .transfer = 1},
                                     PortDemand{.kernel = 0.9, .transfer = 0.2}});
  EXPECT_EQ(progress.kernel, 0.5);
  EXPECT_EQ(progress.transfer, 1);
}

}  // namespace
}  // namespace carina::npu
