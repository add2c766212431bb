// A board as a struct is the target of its vela.ini.
#include "carina/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "carina/session.h"
#include "tests/unit/api/small_programs.h"

namespace carina::api {
namespace {

using targets::Board;
using targets::BoardPort;
using targets::target_on;

TEST(Board, program_of_a_board_runs_timed_on_its_memories) {
  const TargetNames target = target_on({.name = "Mine", .core_clock_hz = 250e6}, "ethos-u55-64");
  const auto program = compile(quantized_model(), target);
  ASSERT_TRUE(program.has_value()) << to_string(program.error());
  EXPECT_EQ(program->report.system_config, "Mine");
  auto session = Session::load(Buffer::copy_of(program->pte), {.timed = true, .memories = target});
  ASSERT_TRUE(session.has_value()) << to_string(session.error());
  ASSERT_TRUE(session->run(sample(1, 2)).has_value());
  EXPECT_GT(session->report()->npu.cycles, 0);
}

TEST(Board, slower_memory_costs_cycles) {
  Board fast;
  Board slow;
  slow.second.clock_scale = fast.second.clock_scale / 8;
  slow.second.read_latency_cycles = 1000;
  const auto cycles = [](const Board& board) {
    const auto program = compile(quantized_model(), target_on(board, "ethos-u55-128"));
    EXPECT_TRUE(program.has_value()) << to_string(program.error());
    return program->report.cycles.value_or(0);
  };
  EXPECT_GT(cycles(slow), cycles(fast));
}

TEST(Board, arena_in_flash_is_rejected) {
  for (const auto kind : {targets::SecondMemory::kDram, targets::SecondMemory::kOnChipFlash}) {
    for (const BoardPort arena : {BoardPort::kSram, BoardPort::kSecond}) {
      const Board board{.second_kind = kind, .arena = arena, .fast_memory_bytes = 65536};
      const auto program = compile(quantized_model(), target_on(board, "ethos-u65-256"));
      const bool writable = arena == BoardPort::kSram || kind == targets::SecondMemory::kDram;
      EXPECT_EQ(program.has_value(), writable);
    }
  }
}

TEST(Board, wrong_values_are_usage_errors_with_their_keys) {
  Board board{.core_clock_hz = -1};
  board.sram.burst_bytes = 0;
  const auto program = compile(quantized_model(), target_on(board, "ethos-u55-128"));
  ASSERT_FALSE(program.has_value());
  const std::string message = to_string(program.error());
  EXPECT_THAT(message, testing::AllOf(testing::HasSubstr("core_clock"), testing::HasSubstr("Sram_burst_length")));
  EXPECT_FALSE(compile(quantized_model(), target_on({.name = "a]\n[b"}, "ethos-u55-128")).has_value());
}

}  // namespace
}  // namespace carina::api
