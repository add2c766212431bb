#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

std::string targets_table(const results::TargetList& list) {
  Table table({{.title = "target"},
               {.title = "MACs per cycle", .align = Align::kRight},
               {.title = "system configuration"},
               {.title = "memory mode"}});
  for (const results::TargetRow& row : list.targets)
    table.add({row.name, std::to_string(row.macs_per_cycle), row.system_config, row.memory_mode});
  return table.text(2);
}

std::string systems_table(const results::TargetList& list) {
  Table table({{.title = "system configuration"},
               {.title = "MHz", .align = Align::kRight},
               {.title = "port 0"},
               {.title = "port 1"},
               {.title = "for"},
               {.title = "memory modes that fit"},
               {.title = "from"}});
  for (const results::SystemRow& row : list.systems)
    table.add({row.name, std::to_string(row.clock_hz / 1'000'000), row.memories.at(0), row.memories.at(1),
               fmt::format("{}", fmt::join(row.targets, ", ")), fmt::format("{}", fmt::join(row.memory_modes, ", ")),
               row.from});
  return table.text(2);
}

std::string modes_table(const results::TargetList& list) {
  Table table({{.title = "memory mode"},
               {.title = "constants"},
               {.title = "arena"},
               {.title = "fast memory"},
               {.title = "of it B", .align = Align::kRight},
               {.title = "from"}});
  const auto port = [](int64_t number) { return fmt::format("port {}", number); };
  for (const results::ModeRow& row : list.modes)
    table.add({row.name, port(row.constants_port), port(row.arena_port), port(row.cache_port),
               row.cache_bytes == 0 ? "all" : grouped(row.cache_bytes), row.from});
  return table.text(2);
}

// "6,656 KB"
std::string kilobytes(int64_t bytes) {
  constexpr int64_t kKilobyte = 1024;
  return bytes == 0 ? "-" : grouped(bytes / kKilobyte) + " KB";
}

}  // namespace

std::string to_text(const results::TargetList& list) {
  return "targets, with their defaults:\n" + targets_table(list) + "system configurations:\n" + systems_table(list) +
         "memory modes:\n" + modes_table(list);
}

std::string to_json(const results::TargetList& list) {
  Json targets = Json::array(), systems = Json::array(), modes = Json::array();
  for (const results::TargetRow& row : list.targets)
    targets.push_back({{"name", row.name},
                       {"macs_per_cycle", row.macs_per_cycle},
                       {"system_config", row.system_config},
                       {"memory_mode", row.memory_mode}});
  for (const results::SystemRow& row : list.systems)
    systems.push_back({{"name", row.name},
                       {"from", row.from},
                       {"targets", row.targets},
                       {"clock_hz", row.clock_hz},
                       {"memories", row.memories},
                       {"memory_modes", row.memory_modes}});
  for (const results::ModeRow& row : list.modes)
    modes.push_back({{"name", row.name},
                     {"from", row.from},
                     {"constants_port", row.constants_port},
                     {"arena_port", row.arena_port},
                     {"cache_port", row.cache_port},
                     {"arena_cache_bytes", row.cache_bytes}});
  return json_text({{"targets", targets}, {"system_configs", systems}, {"memory_modes", modes}});
}

std::string to_text(const results::BoardList& list) {
  Table table({{.title = "board"},
               {.title = "chip"},
               {.title = "target"},
               {.title = "MHz", .align = Align::kRight},
               {.title = "SRAM", .align = Align::kRight},
               {.title = "flash", .align = Align::kRight}});
  for (const results::BoardRow& row : list.boards)
    table.add({row.name, row.chip, row.target, std::to_string(row.clock_hz / 1'000'000), kilobytes(row.sram_bytes),
               kilobytes(row.flash_bytes)});
  return table.text(0);
}

std::string to_json(const results::BoardList& list) {
  Json boards = Json::array();
  for (const results::BoardRow& row : list.boards)
    boards.push_back({{"name", row.name},
                      {"board", row.board},
                      {"chip", row.chip},
                      {"target", row.target},
                      {"system_config", row.system_config},
                      {"memory_mode", row.memory_mode},
                      {"clock_hz", row.clock_hz},
                      {"sram_bytes", row.sram_bytes},
                      {"flash_bytes", row.flash_bytes == 0 ? Json() : Json(row.flash_bytes)},
                      {"source_of_sizes", row.sizes},
                      {"source_of_timing", row.memories},
                      {"evidence", row.evidence}});
  return json_text({{"boards", boards}});
}

}  // namespace carina::report
