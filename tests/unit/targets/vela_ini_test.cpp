#include "targets/vela_ini_internal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <span>
#include <string>

#include "base/io/file.h"

namespace carina::targets {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kFile = R"(; a comment
[System_Config.Board]
Core_Clock = 250e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
Sram_burst_length=32
Sram_read_latency=16
Sram_write_latency=17
Sram_max_reads=4
Sram_max_writes=5
OffChipFlash_clock_scale=0.25
OffChipFlash_burst_length=128
OffChipFlash_read_latency=64
OffChipFlash_write_latency=0

[System_Config.Fast_Board]
inherit=System_Config.Board
core_clock=500e6

[Memory_Mode.Split]
const_mem_area=Axi1
arena_mem_area=Axi0
cache_mem_area=Axi0

[Memory_Mode.Split_Small]
inherit=Memory_Mode.Split
arena_cache_size=65536
)";

Result<VelaIni> parse(std::string_view text) {
  return VelaIni::parse(Buffer::copy_of(std::as_bytes(std::span(text))), "board.ini");
}

// The values of a system, for tests that ignore the notes.
Result<npu::SystemConfig> system_of(const VelaIni& ini, std::string_view name, npu::Product product) {
  Diagnostics notes;
  return ini.system_config(name, product, notes);
}

std::string replaced(std::string_view what, std::string_view by) {
  std::string text(kFile);
  return text.replace(text.find(what), what.size(), by);
}

// The message about the Board system. If the system is valid, the message about the Split_Small mode.
std::string message(const std::string& text, npu::Product product = npu::Product::kU55) {
  const auto ini = parse(text);
  if (!ini) return to_string(ini.error());
  const auto system = system_of(*ini, "Board", product);
  if (!system) return to_string(system.error());
  const auto mode = ini->memory_mode("Split_Small");
  return mode ? "fine" : to_string(mode.error());
}

TEST(VelaIni, values_of_a_system_are_read) {
  const auto ini = parse(kFile);
  ASSERT_TRUE(ini.has_value()) << to_string(ini.error());
  EXPECT_THAT(ini->system_configs(), ElementsAre("Board", "Fast_Board"));
  EXPECT_THAT(ini->memory_modes(), ElementsAre("Split", "Split_Small"));
  const auto config = system_of(*ini, "Board", npu::Product::kU55);
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  EXPECT_EQ(config->name, "Board");
  EXPECT_EQ(config->core_clock_hz, 250e6);
  const npu::MemoryPort& sram = config->ports[0];
  EXPECT_EQ(sram.kind, npu::MemoryKind::kSram);
  EXPECT_EQ(sram.read_latency_cycles, 16);
  EXPECT_EQ(sram.write_latency_cycles, 17);
  EXPECT_EQ(sram.max_reads, 4);
  EXPECT_EQ(sram.max_writes, 5);
  const npu::MemoryPort& flash = config->ports[1];
  EXPECT_EQ(flash.kind, npu::MemoryKind::kOffChipFlash);
  EXPECT_EQ(flash.clock_scale, 0.25);
  EXPECT_EQ(flash.ports_used, 1);
  EXPECT_EQ(flash.burst_bytes, 128);
}

TEST(VelaIni, missing_keys_are_inherited) {
  const auto ini = parse(kFile);
  const auto fast = system_of(*ini, "Fast_Board", npu::Product::kU55);
  ASSERT_TRUE(fast.has_value());
  EXPECT_EQ(fast->core_clock_hz, 500e6);
  EXPECT_EQ(fast->ports[0].read_latency_cycles, 16);
  const auto small = ini->memory_mode("Split_Small");
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->constants_port, 1);
  EXPECT_EQ(small->arena_port, 0);
  EXPECT_EQ(small->cache_bytes, 65536);
  EXPECT_EQ(ini->memory_mode("Split")->cache_bytes, 0);
}

TEST(VelaIni, unknown_sections_list_known_ones) {
  const auto ini = parse(kFile);
  const auto system = system_of(*ini, "Bord", npu::Product::kU55);
  ASSERT_FALSE(system.has_value());
  EXPECT_EQ(system.error()[0].fault, Fault::kUsage);
  EXPECT_THAT(to_string(system.error()), HasSubstr("Board, Fast_Board"));
  EXPECT_THAT(to_string(ini->memory_mode("Board").error()), HasSubstr("Split, Split_Small"));
}

TEST(VelaIni, missing_and_wrong_keys_are_all_named) {
  std::string text = replaced("axi0_port=Sram\n", "");
  text.replace(text.find("OffChipFlash_burst_length=128"), 29, "OffChipFlash_burst_length=3x");
  EXPECT_THAT(message(text),
              testing::AllOf(HasSubstr("board.ini: [System_Config.Board]"), HasSubstr("axi0_port is missing"),
                             HasSubstr("OffChipFlash_burst_length"), HasSubstr("3x")));
}

// Files of older Vela versions and of vendors do not give burst lengths.
TEST(VelaIni, missing_memory_values_come_from_default_with_note) {
  const std::string text = replaced("Sram_burst_length=32\nSram_read_latency=16\n", "");
  const auto ini = parse(text);
  ASSERT_TRUE(ini.has_value());
  Diagnostics notes;
  const auto config = ini->system_config("Board", npu::Product::kU55, notes);
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  EXPECT_EQ(config->ports[0].burst_bytes, 32);
  EXPECT_EQ(config->ports[0].read_latency_cycles, 32);
  EXPECT_EQ(config->ports[0].write_latency_cycles, 17);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].severity, Severity::kWarning);
  EXPECT_THAT(to_string(notes), testing::AllOf(HasSubstr("Sram_burst_length=32, Sram_read_latency=32"),
                                               HasSubstr("Ethos_U55_High_End_Embedded")));
}

TEST(VelaIni, unambiguous_names_in_any_case_are_accepted) {
  const auto ini = parse(replaced("axi0_port=Sram", "AXI0_PORT=SRAM"));
  ASSERT_TRUE(ini.has_value());
  const auto config = system_of(*ini, "fast_board", npu::Product::kU55);
  ASSERT_TRUE(config.has_value()) << to_string(config.error());
  EXPECT_EQ(config->name, "Fast_Board");
  EXPECT_EQ(config->ports[0].read_latency_cycles, 16);
  EXPECT_EQ(ini->memory_mode("SPLIT")->name, "Split");
  const auto two = parse(std::string(kFile) + "[System_Config.board]\nInherit=System_Config.Board\n");
  ASSERT_TRUE(two.has_value());
  EXPECT_TRUE(system_of(*two, "board", npu::Product::kU55).has_value());
  EXPECT_FALSE(two->has_system_config("BOARD"));
}

TEST(VelaIni, unrelated_sections_are_ignored_and_defaults_apply) {
  const auto ini =
      parse("[DEFAULT]\nSram_burst_length=64\n[Board.Notes]\nwho=me\n" + replaced("Sram_burst_length=32\n", ""));
  ASSERT_TRUE(ini.has_value()) << to_string(ini.error());
  EXPECT_EQ(system_of(*ini, "Fast_Board", npu::Product::kU55)->ports[0].burst_bytes, 64);
  EXPECT_THAT(ini->system_configs(), ElementsAre("Board", "Fast_Board"));
}

TEST(VelaIni, later_file_takes_precedence) {
  auto ini = parse(kFile);
  const auto later =
      parse("[System_Config.Board]\ncore_clock=1e6\n[System_Config.Third]\ninherit=System_Config.Board\n");
  ini->merge(*later);
  EXPECT_THAT(ini->system_configs(), ElementsAre("Board", "Fast_Board", "Third"));
  EXPECT_EQ(system_of(*ini, "Third", npu::Product::kU55)->core_clock_hz, 1e6);
  EXPECT_EQ(system_of(*ini, "Third", npu::Product::kU55)->ports[0].write_latency_cycles, 17);
}

TEST(VelaIni, meaningless_numbers_are_errors) {
  for (const char* clock : {"", "nan", "inf", "-500e6", "0", "1e400", "500e6Hz", "0x10"}) {
    EXPECT_THAT(message(replaced("250e6", clock)), HasSubstr("core_clock")) << clock;
  }
  for (const char* latency : {"-1", "1.5", "99999999999999999999", " "}) {
    EXPECT_THAT(message(replaced("Sram_read_latency=16", std::string("Sram_read_latency=") + latency)),
                HasSubstr("Sram_read_latency"))
        << latency;
  }
  EXPECT_THAT(message(replaced("65536", "-65536")), HasSubstr("arena_cache_size"));
}

TEST(VelaIni, impossible_ports_are_errors) {
  EXPECT_THAT(message(replaced("axi0_port=Sram", "axi0_port=Dram")), HasSubstr("axi0_port"));
  EXPECT_THAT(message(replaced("axi1_port=OffChipFlash", "axi1_port=Tape")), HasSubstr("OnChipFlash"));
  EXPECT_THAT(message(replaced("cache_mem_area=Axi0", "cache_mem_area=Axi1")), HasSubstr("cache_mem_area"));
  EXPECT_THAT(message(replaced("const_mem_area=Axi1", "const_mem_area=Axi2")), HasSubstr("Axi0 or Axi1"));
}

TEST(VelaIni, only_u85_needs_outstanding_reads) {
  EXPECT_EQ(message(std::string(kFile)), "fine");
  Diagnostics notes;
  const auto config = parse(kFile)->system_config("Board", npu::Product::kU85, notes);
  EXPECT_EQ(config->ports[1].max_reads, 64);
  EXPECT_THAT(to_string(notes), HasSubstr("OffChipFlash_max_reads=64"));
}

TEST(VelaIni, endless_inheritance_is_an_error) {
  EXPECT_THAT(message(replaced("[Memory_Mode.Split]\n", "[Memory_Mode.Split]\ninherit=Memory_Mode.Split_Small\n")),
              HasSubstr("Memory_Mode.Split_Small -> Memory_Mode.Split -> Memory_Mode.Split_Small"));
  EXPECT_THAT(message(replaced("[System_Config.Board]\n", "[System_Config.Board]\ninherit=System_Config.Board\n")),
              HasSubstr("inherits from itself"));
  EXPECT_THAT(message(replaced("[System_Config.Board]\n", "[System_Config.Board]\ninherit=System_Config.Other\n")),
              HasSubstr("[System_Config.Other], which does not exist"));
}

TEST(VelaIni, other_text_is_an_error) {
  EXPECT_THAT(message(replaced("axi0_port=Sram\n", "axi0_port=Sram\naxi0_port=Dram\n")),
              HasSubstr("axi0_port is given twice"));
  EXPECT_THAT(message(replaced("axi0_port=Sram\n", "axi0_port\n")), HasSubstr("board.ini:4"));
  EXPECT_THAT(message(replaced("[System_Config.Board]", "[System_Config.Board")), HasSubstr("board.ini:2"));
  EXPECT_THAT(message(replaced("axi0_port", std::string_view("\0", 1))), HasSubstr("NUL"));
  EXPECT_THAT(message(replaced("[System_Config.Board]", "[System_Config." + std::string(60, 'B') + "]")),
              HasSubstr("name is too long"));
  EXPECT_THAT(message(replaced("250e6", std::string(300, '9'))), HasSubstr("board.ini:3: the line is too long"));
  EXPECT_EQ(message(replaced("; a comment", "; " + std::string(5000, 'x'))), "fine");
  EXPECT_THAT(to_string(parse(std::string(2 << 20, '\n')).error()), HasSubstr("too large"));
}

bool equal(const npu::MemoryPort& a, const npu::MemoryPort& b) {
  return a.kind == b.kind && a.clock_scale == b.clock_scale && a.ports_used == b.ports_used &&
         a.burst_bytes == b.burst_bytes && a.read_latency_cycles == b.read_latency_cycles &&
         a.write_latency_cycles == b.write_latency_cycles && a.max_reads == b.max_reads && a.max_writes == b.max_writes;
}

// Vela's own file, from the environment of the reference implementations.
std::string official_file() {
  const std::filesystem::path references = std::filesystem::path(CARINA_SOURCE_DIR) / "build/test-env/main/lib";
  std::error_code none;
  for (const auto& python : std::filesystem::directory_iterator(references, none)) {
    const auto file = python.path() / "site-packages/ethosu/config_files/Arm/vela.ini";
    if (std::filesystem::exists(file)) return file.string();
  }
  return {};
}

TEST(VelaIni, official_file_equals_builtin_tables) {
  const std::string path = official_file();
  if (path.empty()) GTEST_SKIP() << "not run: no references' environment (tests/integration/setup.sh)";
  const auto text = map_file(path);
  ASSERT_TRUE(text.has_value());
  const auto ini = VelaIni::parse(*text, path);
  ASSERT_TRUE(ini.has_value()) << to_string(ini.error());
  EXPECT_EQ(ini->system_configs().size(), npu::kSystemConfigs.size());
  EXPECT_EQ(ini->memory_modes().size(), npu::kMemoryModes.size());
  for (const npu::SystemConfig& expected : npu::kSystemConfigs) {
    const auto config = system_of(*ini, expected.name, expected.product);
    ASSERT_TRUE(config.has_value()) << to_string(config.error());
    EXPECT_EQ(config->core_clock_hz, expected.core_clock_hz) << expected.name;
    EXPECT_TRUE(equal(config->ports[0], expected.ports[0]) && equal(config->ports[1], expected.ports[1]))
        << expected.name;
  }
  for (const npu::MemoryMode& expected : npu::kMemoryModes) {
    const auto mode = ini->memory_mode(expected.name);
    ASSERT_TRUE(mode.has_value()) << to_string(mode.error());
    EXPECT_EQ(mode->constants_port, expected.constants_port) << expected.name;
    EXPECT_EQ(mode->arena_port, expected.arena_port) << expected.name;
    EXPECT_EQ(mode->cache_bytes, expected.cache_bytes) << expected.name;
  }
}

// Any damaged file gives a diagnostic or values in range.
TEST(VelaIni, damage_is_handled) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string text(kFile);
    for (unsigned hits = 1 + random() % 8; hits > 0; --hits) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % 4 == 0 ? random() % text.size() : text.size());
    const auto ini = parse(text);
    if (!ini) continue;
    for (const std::string& name : ini->system_configs()) {
      const auto config = system_of(*ini, name, npu::Product::kU85);
      if (config) {
        EXPECT_GT(config->core_clock_hz, 0);
        EXPECT_GT(config->ports[1].clock_scale, 0);
      }
    }
    for (const std::string& name : ini->memory_modes()) {
      const auto mode = ini->memory_mode(name);
      EXPECT_TRUE(!mode || mode->cache_port == 0);
    }
  }
}

}  // namespace
}  // namespace carina::targets
