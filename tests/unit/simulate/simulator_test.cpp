#include "simulate/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tiny_stream.h"

namespace carina::simulate {
namespace {

using npu::Op;
using npu::Reg;
using testing::HasSubstr;

struct Machine {
  std::vector<std::byte> constants = std::vector<std::byte>(1024);
  std::vector<std::byte> arena = std::vector<std::byte>(4096);
  Memory memory;
  Machine() {
    for (size_t i = 0; i < arena.size(); ++i) arena[i] = static_cast<std::byte>(i * 7);
    memory.regions[0] = constants;
    memory.regions[1] = arena;
  }
  [[nodiscard]] int at(size_t i) const { return static_cast<int8_t>(arena[i]); }
};

const Options kChecked{.checking = Checking::kOn};

std::string findings_of(const Result<Report>& result) {
  return result ? to_string(result->findings) : error_of(result);
}

TEST(Simulator, pool_of_one_element_copies) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 2, .width = 3, .base = 0}).ofm({.height = 2, .width = 3, .base = 0x400}).copy_pool();
  const auto report = run(s.payload(), m.memory, {});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_TRUE(std::equal(m.arena.begin(), m.arena.begin() + 96, m.arena.begin() + 0x400));
  ASSERT_EQ(report->operations.size(), 1u);
  EXPECT_EQ(report->operations[0].name, "POOL AVERAGE");
  EXPECT_EQ(report->operations[0].ofm, (Extent{2, 3, 16}));
  EXPECT_EQ(report->irq_history, 0xFFFF);
  EXPECT_EQ(report->npu, "ethos-u55-128");
}

TEST(Simulator, transfers_report_bytes_read) {
  Machine m;
  TinyStream s;
  s.dma(0, 32, 1, 0x400, 64).op(Op::DMA_WAIT, 0);
  std::vector<std::span<const std::byte>> read;
  const auto report = run(s.payload(), m.memory, {.has_read = [&](auto bytes) { read.push_back(bytes); }});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.front().data(), m.constants.data() + 32);
  EXPECT_EQ(read.front().size(), 64U);
}

TEST(Simulator, addition_saturates_and_rounds) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ifm2({.base = 16}).ofm({.base = 0x400});
  s.writer().set(Reg::OPA_SCALE, 0, 1);
  s.set(Reg::OPB_SCALE, 1);
  s.op(Op::ELEMENTWISE, 1);
  ASSERT_TRUE(run(s.payload(), m.memory, {}).has_value());
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(m.at(0x400 + i), std::clamp(m.at(i) + m.at(16 + i), -128, 127));
}

TEST(Simulator, negative_strides_reverse) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 4, .base = 0}).ofm({.height = 4, .base = 0x400 + 48}).set(Reg::OFM_STRIDE_Y, -16).copy_pool();
  ASSERT_TRUE(run(s.payload(), m.memory, {}).has_value());
  for (size_t y = 0; y < 4; ++y) EXPECT_EQ(m.at(0x400 + 16 * y), m.at(16 * (3 - y)));
}

TEST(Simulator, tiles_wrap_in_height) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 4, .base = 32})
      .set(Reg::IFM_HEIGHT0_M1, 1)
      .set(Reg::IFM_HEIGHT1_M1, 1)
      .set(Reg::IFM_BASE2, 0)
      .ofm({.height = 4, .base = 0x400})
      .copy_pool();
  ASSERT_TRUE(run(s.payload(), m.memory, {}).has_value());
  for (size_t y = 0; y < 4; ++y) EXPECT_EQ(m.at(0x400 + 16 * y), m.at(y < 2 ? 32 + 16 * y : 16 * (y - 2)));
}

TEST(Simulator, access_outside_is_an_error_with_address) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 300, .base = 0}).ofm({.height = 300, .base = 0}).copy_pool();
  const std::string error = error_of(run(s.payload(), m.memory, {}));
  EXPECT_THAT(error, HasSubstr("NPU_OP_POOL"));
  EXPECT_THAT(error, HasSubstr("IFM reaches outside region 1"));
  EXPECT_THAT(error, HasSubstr("0x12c0"));
}

TEST(Simulator, dma_outside_is_an_error) {
  Machine m;
  TinyStream s;
  s.dma(0, 1000, 1, 0, 64);
  EXPECT_THAT(error_of(run(s.payload(), m.memory, {})), HasSubstr("DMA source reaches outside region 0"));
}

TEST(Simulator, unknown_npu_and_mismatch_are_errors) {
  Machine m;
  EXPECT_THAT(error_of(run(TinyStream().payload(), m.memory, {.config_word = 0x00003008})),
              HasSubstr("driver payload"));
  EXPECT_THAT(error_of(run(TinyStream().payload(), m.memory, {.config_word = 0xF0000000})), HasSubstr("CONFIG"));
}

TEST(Simulator, branch_loop_ends_at_limit) {
  Machine m;
  TinyStream s(npu::Product::kU85);
  s.writer().branch(npu::BranchCond::ALWAYS, 0);
  EXPECT_THAT(error_of(run(s.payload("ethos-u85-256"), m.memory, {.max_commands = 1000})),
              HasSubstr("limit of commands"));
}

TEST(Simulator, work_ends_at_limit) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 8, .base = 0}).ofm({.height = 8, .base = 0x400}).copy_pool();
  EXPECT_THAT(error_of(run(s.payload(), m.memory, {.max_work = 10})), HasSubstr("limit of work"));
}

TEST(Simulator, threads_and_kernels_give_same_bytes) {
  TinyStream s;
  s.ifm({.height = 30, .base = 0}).ofm({.height = 30, .base = 0x400}).copy_pool();
  const auto payload = s.payload();
  Machine one;
  Machine other;
  ASSERT_TRUE(run(payload, one.memory, {}).has_value());
  ASSERT_TRUE(run(payload, other.memory, {.kernels = Kernels::kScalar, .threads = 3}).has_value());
  EXPECT_EQ(one.arena, other.arena);
}

TEST(Simulator, second_run_equals_first) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  const auto payload = s.payload();
  Simulator simulator({});
  EXPECT_TRUE(simulator.run(payload, m.memory).has_value());
  EXPECT_TRUE(simulator.run(payload, m.memory).has_value());
}

TEST(Check, valid_stream_has_no_findings) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  s.ifm({.base = 0x400}).ofm({.base = 0x800}).copy_pool();
  EXPECT_EQ(findings_of(run(s.payload(), m.memory, kChecked)), "");
}

TEST(Check, missing_dma_wait_is_found) {
  Machine m;
  TinyStream s;
  s.dma(0, 0, 1, 0, 64).ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("NPU_OP_DMA_WAIT is missing"));
  TinyStream waits;
  waits.dma(0, 0, 1, 0, 64).op(Op::DMA_WAIT, 0).ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  EXPECT_EQ(findings_of(run(waits.payload(), m.memory, kChecked)), "");
}

TEST(Check, missing_kernel_wait_is_found) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool().dma(0, 0, 1, 0, 64);
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("NPU_OP_KERNEL_WAIT is missing"));
  TinyStream waits;
  waits.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool().op(Op::KERNEL_WAIT, 0).dma(0, 0, 1, 0, 64);
  EXPECT_EQ(findings_of(run(waits.payload(), m.memory, kChecked)), "");
}

TEST(Check, too_large_blockdep_is_found) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  s.ifm({.base = 0x400}).ofm({.base = 0x800}).set(Reg::BLOCKDEP, 3).copy_pool();
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("BLOCKDEP 3"));
}

TEST(Check, too_large_blockdep_is_found_for_the_second_operand) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  s.ifm({.base = 0}).ifm2({.base = 0x400}).ofm({.base = 0x800}).set(Reg::BLOCKDEP, 3).op(Op::ELEMENTWISE, 1);
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("BLOCKDEP 3"));
}

// A sum reads 32 channels at a time; with sparse weights, a convolution would read 128.
TEST(Check, weight_format_of_a_convolution_before_is_not_that_of_a_sum) {
  Machine m;
  TinyStream s(npu::Product::kU85);
  s.set(Reg::WEIGHT_FORMAT, int64_t{1} << 4);
  s.ifm({.depth = 256, .base = 0}).ofm({.depth = 256, .base = 0x400}).copy_pool();
  s.ifm({.depth = 256, .base = 0x400}).ofm({.depth = 1, .base = 0x800}).set(Reg::BLOCKDEP, 3);
  s.op(Op::POOL, static_cast<uint16_t>(npu::PoolingMode::REDUCE_SUM));
  EXPECT_THAT(findings_of(run(s.payload("ethos-u85-256"), m.memory, kChecked)), Not(HasSubstr("BLOCKDEP")));
}

TEST(Check, read_of_undefined_memory_is_found_with_address) {
  Machine m;
  m.memory.defined = {{.region = 1, .offset = 0, .bytes = 8}};
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("0x8 of region 1"));
}

TEST(Check, shared_memory_conflict_is_found) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).set(Reg::AB_START, 8).copy_pool();
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("overlaps the accumulators"));
}

TEST(Check, forbidden_block_is_found) {
  Machine m;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).set(Reg::OFM_BLK_WIDTH_M1, 2).copy_pool();
  EXPECT_THAT(findings_of(run(s.payload(), m.memory, kChecked)), HasSubstr("whole microblocks"));
}

TEST(Poison, only_undefined_memory_changes) {
  Machine m;
  m.memory.defined = {{.region = 1, .offset = 0, .bytes = 16}};
  const std::vector<std::byte> before = m.arena;
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  ASSERT_TRUE(run(s.payload(), m.memory, {.poison = Poison::kOn}).has_value());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 16, m.arena.begin()));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 16, m.arena.begin() + 0x400));
  EXPECT_FALSE(std::equal(before.begin() + 16, before.begin() + 0x400, m.arena.begin() + 16));
}

TEST(Timing, cycles_traffic_and_counters_are_reported) {
  Machine m;
  TinyStream s;
  s.dma(0, 0, 1, 0, 256)
      .op(Op::DMA_WAIT, 0)
      .ifm({.height = 8, .width = 8, .base = 0})
      .ofm({.height = 8, .width = 8, .base = 0x400})
      .copy_pool();
  const auto report = run(s.payload(), m.memory, {.timing = Timing::kOn});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_GT(report->cycles.total, 0u);
  EXPECT_GT(report->cycles.exposed_dma, 0u);  // the pool waits for the whole transfer
  const Traffic& sram = report->traffic[static_cast<size_t>(MemoryKind::kSram)];
  EXPECT_EQ(sram.feature_map_write_bytes, 1024u);
  EXPECT_EQ(sram.weight_write_bytes, 256u);
  EXPECT_EQ(report->traffic[static_cast<size_t>(MemoryKind::kOffChipFlash)].weight_read_bytes, 256u);
  EXPECT_FALSE(report->pmu.empty());
  EXPECT_THAT(to_json(*report), HasSubstr("\"name\":\"POOL AVERAGE\""));
  EXPECT_THAT(perfetto_trace(*report, 500e6), HasSubstr("\"ph\":\"X\""));
}

TEST(Timing, without_data_timing_is_equal_and_nothing_is_written) {
  TinyStream s;
  s.dma(0, 0, 1, 0, 256)
      .op(Op::DMA_WAIT, 0)
      .ifm({.height = 8, .width = 8, .base = 0})
      .ofm({.height = 8, .width = 8, .base = 0x400})
      .copy_pool();
  const auto payload = s.payload();  // each call appends another STOP
  Machine full, timed;
  const std::vector<std::byte> before(timed.arena.begin() + 0x400, timed.arena.end());
  const auto executed = run(payload, full.memory, {.timing = Timing::kOn});
  const auto counted = run(payload, timed.memory, {.timing = Timing::kOn, .execution = Execution::kTimeOnly});
  ASSERT_TRUE(executed && counted) << error_of(executed) << error_of(counted);
  EXPECT_EQ(to_json(*counted), to_json(*executed));
  EXPECT_TRUE(std::ranges::equal(before, std::span(timed.arena).subspan(0x400)));
  EXPECT_EQ(timed.arena.front(), std::byte{0});  // the transfer is executed
}

TEST(Timing, without_data_work_is_not_limited) {
  Machine m;
  TinyStream s;
  s.ifm({.height = 8, .width = 8, .base = 0}).ofm({.height = 8, .width = 8, .base = 0x400}).copy_pool();
  EXPECT_FALSE(run(s.payload(), m.memory, {.timing = Timing::kOn, .max_work = 10}));
  EXPECT_TRUE(run(s.payload(), m.memory, {.timing = Timing::kOn, .execution = Execution::kTimeOnly, .max_work = 10}));
}

TEST(Simulator, read_only_regions_are_unchanged) {
  for (const int region : {0, 1}) {
    Machine m;
    m.memory.read_only[static_cast<size_t>(region)] = true;
    TinyStream copy, dma;
    copy.ifm({.height = 2, .width = 3, .base = 0}).ofm({.height = 2, .width = 3, .base = 0x400}).copy_pool();
    dma.dma(0, 0, 1, 0, 256).op(Op::DMA_WAIT, 0);
    for (TinyStream* stream : {&copy, &dma}) {
      const auto report = run(stream->payload(), m.memory, {});
      EXPECT_THAT(error_of(report), HasSubstr(region == 1 ? "region 1, which is read only" : "no error"));
    }
  }
}

TEST(Timing, unknown_configuration_lists_valid_ones) {
  Machine m;
  const Options options{.timing = Timing::kOn, .system_config = "Ethos_U85_SYS_DRAM_Mid"};
  EXPECT_THAT(error_of(run(TinyStream().payload(), m.memory, options)), HasSubstr("Ethos_U55_High_End_Embedded"));
  const Options mode{.timing = Timing::kOn, .memory_mode = "Nowhere"};
  EXPECT_THAT(error_of(run(TinyStream().payload(), m.memory, mode)), HasSubstr("Shared_Sram"));
}

}  // namespace
}  // namespace carina::simulate
