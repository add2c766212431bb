#include "simulate/timing/timeline.h"

#include <gtest/gtest.h>

#include "facts/npu_accelerators.h"

namespace carina::simulate {
namespace {

constexpr PortShares kIdle{};
PortShares of_sram(double share) {
  PortShares shares{};
  shares[static_cast<size_t>(MemoryKind::kSram)] = share;
  return shares;
}

void finish(Timeline& timeline) {
  timeline.wait_kernels(0);
  timeline.wait_dmas(0);
}

TEST(Timeline, transfers_run_beside_kernels) {
  Timeline timeline(2, 1);
  timeline.dma(300, kIdle);
  timeline.kernel(1000, kIdle);
  finish(timeline);
  EXPECT_EQ(timeline.dmas().front().end, 300u);
  EXPECT_EQ(timeline.kernels().front().end, 1000u);
}

TEST(Timeline, dependent_kernel_waits_for_transfer) {
  Timeline timeline(2, 1);
  timeline.dma(300, kIdle);
  timeline.wait_dmas(0);
  timeline.kernel(1000, kIdle);
  finish(timeline);
  EXPECT_EQ(timeline.kernels().front().start, 300u);
  EXPECT_EQ(timeline.now(), 1300u);
}

TEST(Timeline, full_queue_stops_parser) {
  Timeline timeline(2, 1);
  timeline.dma(300, kIdle);
  timeline.dma(300, kIdle);  // starts after the first has ended; so do all later ones
  timeline.kernel(100, kIdle);
  finish(timeline);
  EXPECT_EQ(timeline.dmas()[1].start, 300u);
  EXPECT_EQ(timeline.kernels().front().start, 300u);
}

TEST(Timeline, wide_port_is_not_shared) {
  Timeline timeline(2, 1);
  timeline.dma(1000, of_sram(0.25));
  timeline.kernel(1000, of_sram(0.75));
  finish(timeline);
  EXPECT_EQ(timeline.now(), 1000u);
}

TEST(Timeline, contended_port_is_shared) {
  Timeline timeline(2, 1);
  timeline.dma(1000, of_sram(1));
  timeline.kernel(1000, of_sram(1));
  finish(timeline);
  EXPECT_EQ(timeline.now(), 2000u);
}

TEST(Timeline, transfer_slows_kernel_on_same_port) {
  Timeline timeline(2, 1);
  timeline.dma(2000, of_sram(0.25));
  timeline.kernel(900, of_sram(1));
  finish(timeline);
  EXPECT_EQ(timeline.kernels().front().end, 1200u);
  EXPECT_EQ(timeline.dmas().front().end, 2000u);
}

TEST(Timeline, kernel_slows_transfer_on_same_port) {
  Timeline timeline(2, 1);
  timeline.kernel(1000, of_sram(0.4));
  timeline.dma(900, of_sram(1));
  finish(timeline);
  EXPECT_EQ(timeline.kernels().front().end, 1000u);
  EXPECT_EQ(timeline.dmas().front().end, 1300u);
}

TEST(Timeline, each_kernel_is_timed_separately) {
  Timeline timeline(2, 1);
  timeline.dma(1000, of_sram(1));
  timeline.kernel(500, kIdle);
  timeline.kernel(500, of_sram(1));
  timeline.kernel(100, kIdle);
  finish(timeline);
  EXPECT_EQ(timeline.kernels()[0].end, 500u);
  EXPECT_EQ(timeline.kernels()[1].end, 1500u);
  EXPECT_EQ(timeline.dmas()[0].end, 1500u);
  EXPECT_EQ(timeline.kernels()[2].start, 1500u);
}

// The second layer's weights are read while the first computes. The transfer takes half of the port's bandwidth.
TEST(Timeline, without_transfer_what_shared_its_port_is_faster) {
  const npu::AcceleratorConfig* accelerator = npu::find_accelerator("ethos-u55-128");
  ASSERT_NE(accelerator, nullptr);
  Report report;
  report.config_word = accelerator->config_word;
  report.operations.resize(3);
  report.timeline = {{.kind = TimelineStep::Kind::kDma, .operation = 0, .cycles = 1000, .shares = of_sram(1)},
                     {.kind = TimelineStep::Kind::kKernel, .operation = 1, .cycles = 1000, .shares = of_sram(1)},
                     {.kind = TimelineStep::Kind::kWaitDmas, .outstanding = 0},
                     {.kind = TimelineStep::Kind::kKernel, .operation = 2, .cycles = 10, .shares = kIdle}};
  EXPECT_EQ(cycles_without(report, {false, false, false}), 2010u);
  EXPECT_EQ(cycles_without(report, {true, false, true}), 1000u);
  EXPECT_EQ(cycles_without(report, {false, true, false}), 1010u);
  EXPECT_EQ(cycles_without(report, {true, true, true}), 0u);
}

}  // namespace
}  // namespace carina::simulate
