#include "targets/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/io/file.h"

namespace carina::targets {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kTargetFile = R"(
[System_Config.Board]
core_clock=100e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=16
Sram_write_latency=16
OffChipFlash_clock_scale=0.25
OffChipFlash_burst_length=128
OffChipFlash_read_latency=64
OffChipFlash_write_latency=0
[System_Config.Ethos_U55_High_End_Embedded]
inherit=System_Config.Board
core_clock=400e6
[Memory_Mode.In_Flash]
const_mem_area=Axi1
arena_mem_area=Axi1
cache_mem_area=Axi0
)";

class Target : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_file(path_, kTargetFile).has_value()); }
  void TearDown() override { std::filesystem::remove(path_); }
  [[nodiscard]] TargetRequest request(std::string system, std::string mode = {}) const {
    return {.accelerator = "ethos-u55-128",
            .system_config = std::move(system),
            .memory_mode = std::move(mode),
            .config_files = {path_}};
  }

  std::string path_ =
      testing::TempDir() + "target_" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".ini";
};

TEST_F(Target, system_of_file_and_builtin_mode_combine) {
  const auto target = find_target(request("Board"));
  ASSERT_TRUE(target.has_value()) << to_string(target.error());
  EXPECT_EQ(target->system.name, "Board");
  EXPECT_EQ(target->system.core_clock_hz, 100e6);
  EXPECT_EQ(target->memory.name, "Shared_Sram");
}

TEST_F(Target, file_overrides_builtin_tables) {
  EXPECT_EQ(find_target(request({}))->system.core_clock_hz, 400e6);
  EXPECT_EQ(find_target(request("Ethos_U55_Deep_Embedded"))->system.core_clock_hz, 200e6);
  EXPECT_EQ(find_target({.accelerator = "ethos-u55-128", .system_config = {}, .memory_mode = {}, .config_files = {}})
                ->system.core_clock_hz,
            500e6);
}

TEST_F(Target, unknown_names_list_known_ones) {
  const auto system = find_target(request("Bord"));
  ASSERT_FALSE(system.has_value());
  EXPECT_EQ(system.error()[0].fault, Fault::kUsage);
  EXPECT_THAT(to_string(system.error()),
              AllOf(HasSubstr("Bord"), HasSubstr("Board"), HasSubstr("Ethos_U55_Deep_Embedded")));
  EXPECT_THAT(to_string(find_target(request("Board", "Fast")).error()),
              AllOf(HasSubstr("In_Flash"), HasSubstr("Sram_Only")));
  EXPECT_THAT(
      to_string(
          find_target({.accelerator = "ethos-u56", .system_config = {}, .memory_mode = {}, .config_files = {path_}})
              .error()),
      HasSubstr("ethos-u55-64"));
}

TEST_F(Target, arena_in_flash_is_an_error) {
  TargetRequest wanted = request("Board", "In_Flash");
  wanted.accelerator = "ethos-u85-256";
  EXPECT_THAT(to_string(find_target(wanted).error()),
              AllOf(HasSubstr("In_Flash puts the arena in OffChipFlash, which is read-only")));
  EXPECT_FALSE(
      find_target(
          {.accelerator = "ethos-u55-128", .system_config = {}, .memory_mode = "Dedicated_Sram", .config_files = {}})
          .has_value());
}

TEST_F(Target, vela_ini_is_built_in) {
  const auto target = find_target({.accelerator = "ethos-u65-256",
                                   .system_config = "Ethos_U65_Mid_End",
                                   .memory_mode = {},
                                   .config_files = {"Arm/vela.ini"}});
  ASSERT_TRUE(target.has_value()) << to_string(target.error());
  EXPECT_EQ(target->system.core_clock_hz, 500e6);
}

TEST_F(Target, command_line_cache_size_overrides_mode) {
  TargetRequest wanted{.accelerator = "ethos-u65-256",
                       .system_config = {},
                       .memory_mode = "Dedicated_Sram_512KB",
                       .config_files = {},
                       .arena_cache_bytes = 100000};
  EXPECT_EQ(find_target(wanted)->memory.cache_bytes, 100000);
  wanted.arena_cache_bytes = 0;
  EXPECT_THAT(to_string(find_target(wanted).error()), HasSubstr("--arena-cache-size"));
}

// The notes of a target as diagnostics.
Diagnostics notes_of(const TargetRequest& request) {
  Diagnostics notes;
  Log log;
  log.note = [&](const Diagnostic& note) { notes.push_back(note); };
  EXPECT_TRUE(find_target(request, log).has_value());
  return notes;
}

TEST_F(Target, system_of_other_product_is_an_error) {
  TargetRequest other = request("Ethos_U55_High_End_Embedded", "Shared_Sram");
  EXPECT_THAT(notes_of(other), testing::IsEmpty());
  other.accelerator = "ethos-u65-256";
  EXPECT_THAT(to_string(notes_of(other)), HasSubstr("is for another product than ethos-u65-256"));
}

TEST_F(Target, later_file_takes_precedence) {
  const std::string later = path_ + ".later.ini";
  ASSERT_TRUE(write_file(later, "[System_Config.Board]\ncore_clock=50e6\n").has_value());
  TargetRequest both = request("Board");
  both.config_files.push_back(later);
  const auto target = find_target(both);
  std::filesystem::remove(later);
  ASSERT_TRUE(target.has_value()) << to_string(target.error());
  EXPECT_EQ(target->system.core_clock_hz, 50e6);
  EXPECT_EQ(target->system.ports[0].read_latency_cycles, 16);
}

TEST_F(Target, missing_file_is_named) {
  TargetRequest missing = request("Board");
  missing.config_files = {"no/such/vela.ini"};
  EXPECT_THAT(to_string(find_target(missing).error()), HasSubstr("no/such/vela.ini"));
}

}  // namespace
}  // namespace carina::targets
