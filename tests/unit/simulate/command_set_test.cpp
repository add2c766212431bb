// Hand-made streams for cases that neither Carina nor Vela emits: the points of docs/npu-open-points.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "simulate/simulator.h"
#include "tiny_stream.h"

namespace carina::simulate {
namespace {

using npu::BranchCond;
using npu::Op;
using npu::Product;
using npu::Reg;
using testing::HasSubstr;

constexpr const char* kU65 = "ethos-u65-256";
constexpr const char* kU85 = "ethos-u85-256";

constexpr int kAdd = 1;
constexpr int kSub = 2;
constexpr int kAbs = 6;
constexpr int kDiv = 11;
constexpr int kCmpNe = 17;
constexpr int kPoolAverage = 1;
constexpr int kPoolSum = 3;
constexpr int kPoolNone = 4;

struct Memories {
  std::vector<std::byte> constants = std::vector<std::byte>(1024);
  std::vector<std::byte> arena = std::vector<std::byte>(4096);
  Memory memory;
  Memories() {
    memory.regions[0] = constants;
    memory.regions[1] = arena;
  }
  template <typename T>
  void put(size_t at, std::initializer_list<T> values) {
    std::memcpy(arena.data() + at, values.begin(), values.size() * sizeof(T));
  }
  template <typename T>
  [[nodiscard]] std::vector<T> get(size_t at, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), arena.data() + at, count * sizeof(T));
    return values;
  }
  Result<Report> run(TinyStream& s, const char* npu, const Options& options = {}) {
    return simulate::run(s.payload(npu), memory, options);
  }
};

using Bytes = std::vector<int8_t>;

// Sets the second operand to the scalar OP_SCALAR.
TinyStream& scalar(TinyStream& s, int32_t value) {
  constexpr int kNoStorage = 3 << 14;
  s.set(Reg::IFM2_PRECISION, 1 | kNoStorage).set(Reg::IFM2_BROADCAST, 8).set(Reg::IFM2_ZERO_POINT, 0);
  s.writer().set(Reg::OP_SCALAR, 0, static_cast<uint32_t>(value));
  return s;
}

// ---- STOP and IRQ ----

TEST(CommandSet, interrupt_masks_accumulate_and_stop_ends_stream) {
  Memories m;
  TinyStream s;
  s.op(Op::IRQ, 0x0001).op(Op::PMU_MASK, 1).op(Op::IRQ, 0x0100).op(Op::STOP, 0x4000);
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  const auto report = simulate::run(s.payload("ethos-u55-128", 0x0008), m.memory, {});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(report->irq_history, 0x4101);
  EXPECT_TRUE(report->operations.empty());
}

// ---- Branches ----

// Copies a flag, then branches on it over a copy of 16 elements to 0x400.
TinyStream conditional_copy() {
  TinyStream s(Product::kU85);
  s.ifm({.depth = 1, .base = 0}).ofm({.depth = 1, .base = 0x100}).copy_pool();
  const size_t branch = s.writer().word_count();
  s.writer().branch(BranchCond::RF_TRUE, 0);
  s.ifm({.base = 0x20}).ofm({.base = 0x400}).copy_pool();
  s.writer().patch_branch(branch, s.here());
  s.ifm({.base = 0x20}).ofm({.base = 0x500}).copy_pool();
  return s;
}

TEST(CommandSet, branch_tests_low_bit_of_last_scalar) {
  for (const int8_t flag : {int8_t{0}, int8_t{1}, int8_t{2}, int8_t{-1}}) {
    Memories m;
    m.put<int8_t>(0, {flag});
    m.put<int8_t>(0x20, {7, 8});
    TinyStream s = conditional_copy();
    const auto report = m.run(s, kU85);
    ASSERT_TRUE(report.has_value()) << error_of(report);
    EXPECT_EQ(m.get<int8_t>(0x400, 2), (flag & 1) != 0 ? (Bytes{0, 0}) : (Bytes{7, 8}));
    EXPECT_EQ(m.get<int8_t>(0x500, 2), (Bytes{7, 8}));
    EXPECT_EQ(report->operations.size(), (flag & 1) != 0 ? 2u : 3u);
  }
}

TEST(CommandSet, loop_runs_while_condition_holds) {
  Memories m;
  m.put<int8_t>(0, {5});
  TinyStream s(Product::kU85);
  const uint32_t top = s.here();
  scalar(s.ifm({.depth = 1, .base = 0}).ofm({.depth = 1, .base = 0}), 1).op(Op::ELEMENTWISE, kSub);
  scalar(s.ifm({.depth = 1, .base = 16}).ofm({.depth = 1, .base = 16}), 3).op(Op::ELEMENTWISE, kAdd);
  scalar(s.ifm({.depth = 1, .base = 0}).ofm({.depth = 1, .base = 32}), 0).op(Op::ELEMENTWISE, kCmpNe);
  s.op(Op::KERNEL_WAIT, 0).op(Op::DMA_WAIT, 0);
  s.writer().branch(BranchCond::RF_TRUE, top);
  const auto report = m.run(s, kU85, {.timing = Timing::kOn, .checking = Checking::kOn});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(16, 1), Bytes{15});
  EXPECT_EQ(report->operations.size(), 15u);
  EXPECT_TRUE(report->findings.empty()) << to_string(report->findings);
  EXPECT_GT(report->operations.back().start_cycle, report->operations.front().start_cycle);
}

TEST(CommandSet, branch_outside_stream_is_an_error) {
  for (const uint32_t target : {uint32_t{2}, uint32_t{4096}, ~uint32_t{3}}) {
    Memories m;
    TinyStream s(Product::kU85);
    s.writer().branch(BranchCond::ALWAYS, target);
    EXPECT_THAT(error_of(m.run(s, kU85)), HasSubstr("a branch leads out of the command stream"));
  }
}

// ---- Accumulators ----

TEST(CommandSet, kept_accumulators_start_next_operation) {
  constexpr int kKeepOutput = 1 << 6;
  constexpr int kKeepInput = 1 << 4;
  Memories m;
  m.put<int8_t>(0, {1, 2, 3, 100});
  m.put<int8_t>(0x20, {10, 20, 30, 100});
  TinyStream s(Product::kU85);
  s.ifm({.depth = 4, .base = 0}).ofm({.depth = 4, .base = 0x400});
  s.set(Reg::ACC_FORMAT, TinyStream::kMicroblock1x2 | kKeepOutput).op(Op::POOL, kPoolSum);
  s.ifm({.depth = 4, .base = 0x20}).ofm({.depth = 4, .base = 0x500});
  s.set(Reg::ACC_FORMAT, TinyStream::kMicroblock1x2 | kKeepInput).op(Op::POOL, kPoolSum);
  const auto report = m.run(s, kU85, {.checking = Checking::kOn});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(0x400, 4), (Bytes{0, 0, 0, 0}));  // not written by the operation
  EXPECT_EQ(m.get<int8_t>(0x500, 4), (Bytes{11, 22, 33, 127}));
  EXPECT_TRUE(report->findings.empty()) << to_string(report->findings);
}

TEST(CommandSet, 32_bit_sums_stay_wide_until_stored) {
  constexpr int32_t kLargest = 0x7FFFFFFF;
  for (const bool shifted : {false, true}) {
    Memories m;
    m.put<int32_t>(0, {kLargest, -kLargest - 1});
    m.put<int32_t>(0x20, {1, -1});
    TinyStream s;
    s.ifm({.depth = 2, .base = 0}).ifm2({.depth = 2, .base = 0x20}).ofm({.depth = 2, .base = 0x400});
    for (const Reg reg : {Reg::IFM_PRECISION, Reg::IFM2_PRECISION}) s.set(reg, 1 | 2 << 2);
    s.set(Reg::OFM_PRECISION, 0x8101 | 2 << 1);
    s.scale(0x12345, shifted ? 1 : 0).op(Op::ELEMENTWISE, kAdd);  // the multiplier has no effect
    const auto report = m.run(s, "ethos-u55-128");
    ASSERT_TRUE(report.has_value()) << error_of(report);
    const std::vector<int32_t> low_bits = {-kLargest - 1, kLargest};
    const std::vector<int32_t> halves = {0x40000000, -0x40000000};  // (2^31 + 1) / 2 and (-2^31 - 1 + 1) / 2, half up
    EXPECT_EQ(m.get<int32_t>(0x400, 2), shifted ? halves : low_bits);
  }
}

TEST(CommandSet, elements_of_8_bytes_hold_48_bits) {
  constexpr int kSigned64 = 1 | 3 << 2;
  constexpr int kAcc48FromIfm2 = 1 | 2 << 4;
  Memories m;
  m.put<uint64_t>(0, {0xABCD'0000'0000'0100, 0x1234'FFFF'FFFF'FF00});
  TinyStream s(Product::kU85);
  s.ifm({.depth = 2, .base = 0}).ifm2({.depth = 2, .base = 0}).ofm({.depth = 2, .base = 0x400});
  s.set(Reg::IFM2_PRECISION, kSigned64).set(Reg::IFM2_STRIDE_X, 16).set(Reg::IFM2_STRIDE_Y, 16);
  s.set(Reg::OFM_PRECISION, 0x0101 | 2 << 1).set(Reg::ACTIVATION, 1 << 12);
  s.set(Reg::ACC_FORMAT, TinyStream::kMicroblock1x2 | kAcc48FromIfm2).op(Op::POOL, kPoolNone);
  const auto report = m.run(s, kU85);
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int32_t>(0x400, 2), (std::vector<int32_t>{256, -256}));
}

// ---- Single operations ----

TEST(CommandSet, u85_average_divides_by_valid_elements_before_scaling) {
  Memories m;
  m.put<int8_t>(0, {7, 8, 20});
  TinyStream s(Product::kU85);
  s.ifm({.width = 3, .depth = 1, .base = 0}).ofm({.width = 3, .depth = 1, .base = 0x400});
  s.set(Reg::KERNEL_WIDTH_M1, 1).set(Reg::IFM_PAD_LEFT, 1);
  s.scale(2, 0).op(Op::POOL, kPoolAverage);
  const auto report = m.run(s, kU85);
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(0x400, 3), (Bytes{14, 16, 28}));  // 2 * 7, 2 * round(7.5), 2 * 14
}

TEST(CommandSet, unary_operations_ignore_operand_order) {
  Memories m;
  m.put<int8_t>(0, {-5, 6, -128});
  TinyStream s;
  s.ifm({.depth = 3, .base = 0}).ifm2({.depth = 3, .base = 0x20}).ofm({.depth = 3, .base = 0x400});
  s.set(Reg::IFM2_BROADCAST, 1 << 6).op(Op::ELEMENTWISE, kAbs);
  ASSERT_TRUE(m.run(s, "ethos-u55-128").has_value());
  EXPECT_EQ(m.get<int8_t>(0x400, 3), (Bytes{5, 6, 127}));
}

TEST(CommandSet, division_by_zero_saturates) {
  Memories m;
  m.put<int32_t>(0, {17, -17, 0, 9});
  m.put<int32_t>(0x20, {0, 0, 0, -2});
  TinyStream s(Product::kU85);
  s.ifm({.depth = 4, .base = 0}).ifm2({.depth = 4, .base = 0x20}).ofm({.depth = 4, .base = 0x400});
  for (const Reg reg : {Reg::IFM_PRECISION, Reg::IFM2_PRECISION}) s.set(reg, 1 | 2 << 2);
  s.set(Reg::OFM_PRECISION, 0x0101 | 2 << 1).set(Reg::ACTIVATION, 1 << 12).op(Op::ELEMENTWISE, kDiv);
  const auto report = m.run(s, kU85);
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int32_t>(0x400, 4), (std::vector<int32_t>{0x7FFFFFFF, -0x7FFFFFFF - 1, 0x7FFFFFFF, -4}));
}

TEST(CommandSet, replicate_takes_element_below) {
  constexpr int kReplicate = 1;
  Memories m;
  m.put<int8_t>(0, {1, 2, 3});
  TinyStream s(Product::kU85);
  s.ifm({.width = 3, .depth = 1, .base = 0}).ofm({.width = 6, .depth = 1, .base = 0x400});
  s.set(Reg::KERNEL_WIDTH_M1, 2).set(Reg::RESIZE_X_SCALE_N_M1, 1).set(Reg::RESIZE_Y_SCALE_N_M1, 0);
  s.writer().set(Reg::RESIZE_X, 0, 1);  // half an element per output
  s.writer().set(Reg::RESIZE_Y, 1, 0);
  s.scale(1, 16).op(Op::RESIZE, kReplicate);
  const auto report = m.run(s, kU85);
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(0x400, 6), (Bytes{1, 1, 2, 2, 3, 3}));
}

// The kernel registers of a resize hold the size of its input, which is no window that every block reads.
TEST(CommandSet, resize_reads_an_element_for_each_result) {
  constexpr int kReplicate = 1;
  Memories m;
  TinyStream s(Product::kU85);
  s.ifm({.height = 16, .width = 16, .depth = 1, .base = 0});
  s.ofm({.height = 32, .width = 32, .depth = 1, .base = 0x400});
  s.set(Reg::KERNEL_HEIGHT_M1, 15).set(Reg::KERNEL_WIDTH_M1, 15);
  s.set(Reg::RESIZE_X_SCALE_N_M1, 1).set(Reg::RESIZE_Y_SCALE_N_M1, 1);
  s.writer().set(Reg::RESIZE_X, 0, 1);
  s.writer().set(Reg::RESIZE_Y, 0, 1);
  s.scale(1, 16).op(Op::RESIZE, kReplicate);
  const auto report = m.run(s, kU85, {.timing = Timing::kOn});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  uint64_t read = 0;
  for (const auto& traffic : report->operations.front().traffic) read += traffic.feature_map_read_bytes;
  EXPECT_EQ(read, 32U * 32U);
}

// ---- Tiles and addresses ----

TEST(CommandSet, three_tiles_are_stacked_in_height) {
  constexpr int kTile3x1 = 1 << 14;
  Memories m;
  m.put<int8_t>(0x40, {1, 2});
  m.put<int8_t>(0x00, {3, 4});
  m.put<int8_t>(0x80, {5, 6});
  TinyStream s(Product::kU85);
  s.ifm({.height = 6, .depth = 1, .base = 0x40}).set(Reg::IFM_PRECISION, 1 | kTile3x1);
  s.set(Reg::IFM_HEIGHT0_M1, 1).set(Reg::IFM_HEIGHT1_M1, 1).set(Reg::IFM_BASE1, 0).set(Reg::IFM_BASE2, 0x80);
  s.ofm({.height = 6, .depth = 1, .base = 0x400}).copy_pool();
  const auto report = m.run(s, kU85);
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(0x400, 6), (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(CommandSet, chained_operations_pass_result_without_memory) {
  constexpr int kChained = 2 << 14;
  constexpr int kSlot = 3;
  Memories m;
  m.put<int8_t>(0, {1, 2, 3, -4});
  const std::vector<std::byte> before = m.arena;
  TinyStream s(Product::kU85);
  scalar(s.ifm({.depth = 4, .base = 0}).ofm({.depth = 4, .base = 0x400}), 10);
  s.set(Reg::OFM_PRECISION, 0x0101 | kChained).set(Reg::OFM_REGION, kSlot).op(Op::ELEMENTWISE, kAdd);
  scalar(s.ifm({.depth = 4, .base = 0}).ofm({.depth = 4, .base = 0x500}), 1);
  s.set(Reg::IFM_PRECISION, 1 | kChained).set(Reg::IFM_REGION, kSlot).op(Op::ELEMENTWISE, kSub);
  const auto report = m.run(s, kU85, {.timing = Timing::kOn, .checking = Checking::kOn});
  ASSERT_TRUE(report.has_value()) << error_of(report);
  EXPECT_EQ(m.get<int8_t>(0x500, 4), (Bytes{10, 11, 12, 5}));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 0x500, m.arena.begin()));
  EXPECT_TRUE(report->findings.empty()) << to_string(report->findings);
  EXPECT_EQ(report->operations[0].traffic[0].feature_map_write_bytes, 0u);
  EXPECT_EQ(report->operations[1].traffic[0].feature_map_read_bytes, 0u);
}

TEST(CommandSet, empty_chaining_buffer_is_an_error) {
  Memories m;
  TinyStream s(Product::kU85);
  scalar(s.ifm({.depth = 4, .base = 0}).ofm({.depth = 4, .base = 0x500}), 1);
  s.set(Reg::IFM_PRECISION, 1 | 2 << 14).set(Reg::IFM_REGION, 5).op(Op::ELEMENTWISE, kSub);
  EXPECT_THAT(error_of(m.run(s, kU85)), HasSubstr("chaining buffer"));
}

// ---- Transfers ----

constexpr int k2d = 1 << 9;
constexpr int k3d = 2 << 9;

TinyStream& skipping_dma(TinyStream& s, int source_mode, int destination_mode) {
  s.set(Reg::DMA0_SIZE0, 2).set(Reg::DMA0_SIZE1, 2).set(Reg::DMA0_SKIP0, 1).set(Reg::DMA0_SKIP1, 4);
  s.set(Reg::DMA0_SRC_REGION, 1 | source_mode).set(Reg::DMA0_DST_REGION, 1 | destination_mode);
  return s.set(Reg::DMA0_SRC, 0).set(Reg::DMA0_DST, 0x400).set(Reg::DMA0_LEN, 2).op(Op::DMA_START);
}

TEST(CommandSet, u65_dma_skips_only_existing_dimensions) {
  Memories m;
  m.put<int8_t>(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  TinyStream rows(Product::kU65);
  ASSERT_TRUE(m.run(skipping_dma(rows, k2d, 0), kU65).has_value());
  EXPECT_EQ(m.get<int8_t>(0x400, 5), (Bytes{1, 2, 4, 5, 0}));
  TinyStream planes(Product::kU65);
  ASSERT_TRUE(m.run(skipping_dma(planes, k3d, 0), kU65).has_value());
  EXPECT_EQ(m.get<int8_t>(0x400, 9), (Bytes{1, 2, 4, 5, 11, 12, 14, 15, 0}));
  m.put<int8_t>(0x400, {0, 0, 0, 0, 0, 0, 0, 0});
  TinyStream spread(Product::kU65);
  ASSERT_TRUE(m.run(skipping_dma(spread, 0, k2d), kU65).has_value());
  EXPECT_EQ(m.get<int8_t>(0x400, 6), (Bytes{1, 2, 0, 3, 4, 0}));
}

TinyStream& strided_dma(TinyStream& s, int source_mode, int destination_mode) {
  s.set(Reg::DMA0_SIZE0, 2).set(Reg::DMA0_SIZE1, 2);
  s.set(Reg::DMA0_SRC_STRIDE0, 3).set(Reg::DMA0_SRC_STRIDE1, 8).set(Reg::DMA0_DST_STRIDE0, 4);
  s.set(Reg::DMA0_DST_STRIDE1, 10).set(Reg::DMA0_SRC_REGION, 1 | source_mode);
  s.set(Reg::DMA0_DST_REGION, 1 | destination_mode);
  return s.set(Reg::DMA0_SRC, 0).set(Reg::DMA0_DST, 0x400).set(Reg::DMA0_LEN, 2);
}

TEST(CommandSet, u85_dma_has_strides_on_both_sides) {
  Memories m;
  m.put<int8_t>(0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  TinyStream s(Product::kU85);
  ASSERT_TRUE(m.run(strided_dma(s, k3d, 0).op(Op::DMA_START), kU85).has_value());
  EXPECT_EQ(m.get<int8_t>(0x400, 16), (Bytes{1, 2, 0, 0, 4, 5, 0, 0, 0, 0, 9, 10, 0, 0, 12, 13}));
}

TEST(CommandSet, index_beyond_limit_is_an_error_with_position) {
  constexpr int kIndexed = 1 << 11;
  Memories m;
  m.put<int32_t>(0x100, {1, 3});
  TinyStream s(Product::kU85);
  strided_dma(s, k2d | kIndexed, 0).set(Reg::DMA0_IDX_REGION, 1).set(Reg::DMA0_IDX, 0x100);
  s.writer().set(Reg::DMA0_IDX_MAX, 0, 2);
  s.op(Op::DMA_START);
  EXPECT_THAT(error_of(m.run(s, kU85)), HasSubstr("a DMA index is beyond its limit: expected 0..2, got 3 at 0x104"));
}

}  // namespace
}  // namespace carina::simulate
