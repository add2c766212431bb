// Tests what Vela's flags set, and how they combine with a command's own options. tests/integration/cli/test_usage.py
// compares the list of flags with the installed Vela.
#include "vela/vela_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "carina/api.h"

namespace carina::vela {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<VelaFlags> read(std::string text, Diagnostics* notes = nullptr) {
  Log log;
  if (notes != nullptr) log.note = [notes](const Diagnostic& note) { notes->push_back(note); };
  const std::vector<std::string> flags{std::move(text)};
  return read_vela_flags(flags, log);
}

TEST(VelaFlags, flags_of_arm_backend_are_accepted) {
  const auto flags = read(
      "--verbose-operators --verbose-cycle-estimate --optimise=Size --accelerator-config=ethos-u65-512 "
      "--config=Arm/vela.ini --output-format=raw --system-config=Ethos_U65_Mid_End --memory-mode=Dedicated_Sram");
  ASSERT_TRUE(flags.has_value()) << to_string(flags.error());
  EXPECT_EQ(flags->target.accelerator, "ethos-u65-512");
  EXPECT_EQ(flags->target.system_config, "Ethos_U65_Mid_End");
  EXPECT_EQ(flags->target.memory_mode, "Dedicated_Sram");
  EXPECT_THAT(flags->target.config_files, ElementsAre("Arm/vela.ini"));
  EXPECT_EQ(flags->optimize, backends::Optimize::kSize);
  EXPECT_THAT(flags->shown, ElementsAre(backends::Show::kPerformance));
}

TEST(VelaFlags, duplicates_are_shown_once) {
  EXPECT_THAT(read("--verbose-weights --verbose-performance --verbose_cycle_estimate --verbose-config")->shown,
              ElementsAre(backends::Show::kConfig, backends::Show::kWeights, backends::Show::kPerformance));
  EXPECT_EQ(read("--verbose-all --verbose-graph")->shown.size(), backends::kShowNames.size());
}

TEST(VelaFlags, flags_without_effect_are_noted) {
  Diagnostics notes;
  EXPECT_TRUE(read("--recursion-limit 1000 --force-symmetric-int-weights", &notes).has_value());
  EXPECT_THAT(to_string(notes), AllOf(HasSubstr("--recursion-limit"), HasSubstr("symmetric")));
  EXPECT_TRUE(read("--optimise Performance --cop-format COP1", &(notes = {})).has_value());
  EXPECT_THAT(notes, IsEmpty());
}

TEST(VelaFlags, all_errors_are_reported_at_once) {
  const auto flags = read("--optimize Size --arena-cache-size=0 --separate-io-regions --config");
  ASSERT_FALSE(flags.has_value());
  EXPECT_EQ(flags.error().size(), 4U);
  EXPECT_THAT(to_string(flags.error()), AllOf(HasSubstr("did you mean --optimise?"), HasSubstr("a number of bytes"),
                                              HasSubstr("--separate-io-regions"), HasSubstr("its value is missing")));
  for (const Diagnostic& error : flags.error()) EXPECT_EQ(error.fault, Fault::kUsage);
}

TEST(VelaFlags, conflicts_with_command_options_are_errors) {
  targets::TargetRequest target{
      .accelerator = "Ethos-U85-256", .system_config = {}, .memory_mode = {}, .config_files = {"board.ini"}};
  backends::Optimize optimize = backends::Optimize::kSearch;
  const auto flags = read(
      "--accelerator-config ethos-u85-256 --memory-mode Shared_Sram --optimise Performance "
      "--config more.ini --arena-cache-size 1000");
  ASSERT_TRUE(add_vela_flags(*flags, target, optimize).has_value());
  EXPECT_EQ(optimize, backends::Optimize::kSearch) << "-O3 is for performance too";
  EXPECT_EQ(target.memory_mode, "Shared_Sram");
  EXPECT_EQ(target.arena_cache_bytes, 1000);
  EXPECT_THAT(target.config_files, ElementsAre("board.ini", "more.ini"));
  EXPECT_THAT(to_string(add_vela_flags(*read("--memory-mode Sram_Only"), target, optimize).error()),
              HasSubstr("the memory mode contradicts"));
  EXPECT_THAT(to_string(add_vela_flags(*read("--optimise Size"), target, optimize).error()), HasSubstr("-O3"));
}

TEST(VelaFlags, flags_parse_in_memory) {
  const auto flags = api::read_flags("--optimise=Size --accelerator-config=ethos-u55-64 --config=Arm/vela.ini");
  ASSERT_TRUE(flags.has_value()) << to_string(flags.error());
  EXPECT_EQ(flags->target.accelerator, "ethos-u55-64");
  EXPECT_THAT(flags->target.ini, IsEmpty());
  EXPECT_EQ(flags->delegate.optimize, backends::Optimize::kSize);
  EXPECT_FALSE(api::read_flags("--config=none.ini").has_value());
}

}  // namespace
}  // namespace carina::vela
