// The figures that are read from the console of a board.
#include "boards/device_profile_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carina::boards {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kConsole{
    "I [carina] NPU Inferences : 2",
    "I [carina] Profiler report, CPU cycles per operator:",
    "I [carina] quantized_decomposed::quantize_per_tensor.out : cycle_cnt : 60000 cycles (30000.00 per inference)",
    "I [carina] aten::view_copy.out : cycle_cnt : 1200 cycles (600.00 per inference)",
    "I [carina] quantized_decomposed::dequantize_per_tensor.out : cycle_cnt : 800 cycles (400.00 per inference)",
    "I [carina] ethos-u : cycle_cnt : 50000 cycles (25000.00 per inference)",
    "I [carina] Operator(s) total : 112000 CPU cycles (56000.00 per inference)",
};

TEST(DeviceProfile, conversions_are_the_quantizing_kernels_of_one_inference) {
  const results::ConversionCycles cycles =
      conversion_cycles_of({.console = kConsole, .npu = {}, .inferences = 2, .clock_hz = 1e6});
  EXPECT_EQ(cycles.cpu, 30'400);
  EXPECT_EQ(cycles.npu, 25'000);
  EXPECT_EQ(conversion_cycles_of({.console = {}, .npu = {}}).cpu, 0);
}

TEST(ConversionNote, is_about_conversions_that_take_longer_than_the_npu) {
  const auto note = results::conversion_note("app.elf", {.cpu = 30'400, .npu = 25'000});
  ASSERT_TRUE(note);
  EXPECT_THAT(note->what, HasSubstr("30400 cycles"));
  EXPECT_THAT(note->hint, HasSubstr("--io int8"));
  EXPECT_FALSE(results::conversion_note("app.elf", {.cpu = 30'400, .npu = 30'400}));
  EXPECT_FALSE(results::conversion_note("app.elf", {.cpu = 9'000, .npu = 100}));  // few cycles
}

}  // namespace
}  // namespace carina::boards
