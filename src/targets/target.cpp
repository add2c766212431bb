#include "targets/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "base/text/nearest.h"
#include "facts/npu_accelerators.h"
#include "facts/npu_boards.h"
#include "facts/npu_memories.h"
#include "npu/table_names.h"
#include "plan/family/family.h"
#include "targets/vela_ini_internal.h"

namespace carina::targets {

namespace {

template <typename Rows>
std::vector<std::string> with_built_in(std::vector<std::string> names, const Rows& rows) {
  for (const auto& row : rows) {
    if (std::ranges::find(names, row.name) == names.end()) names.emplace_back(row.name);
  }
  return names;
}

std::unexpected<Diagnostics> unknown(std::string_view kind, const std::string& name,
                                     const std::vector<std::string>& known) {
  return fail({.where = "target",
               .what = fmt::format("unknown {}", kind),
               .expected = fmt::format("{}", fmt::join(known, ", ")),
               .got = name,
               .hint = nearest_hint(name, known),
               .fault = Fault::kUsage});
}

Result<VelaIni> read_ini(const std::vector<ConfigFile>& files) {
  CARINA_TRY(VelaIni ini, VelaIni::parse(files.front().text, files.front().name));
  for (const ConfigFile& file : std::span(files).subspan(1)) {
    CARINA_TRY(const VelaIni later, VelaIni::parse(file.text, file.name));
    ini.merge(later);
  }
  return ini;
}

// Warns if the system configuration has the name of another product's configuration. A file may redefine Vela's
// systems, but such a name is more likely a mistake.
void warn_of_product(const plan::Target& target, const Log& log) {
  const npu::SystemConfig* known = npu::find_system_config(target.system.name);
  if (known == nullptr || known->product == target.accelerator.product) return;
  log.note({.where = "target",
            .what = fmt::format("system configuration {} is for another product than {}", target.system.name,
                                target.accelerator.name),
            .severity = Severity::kWarning});
}

// Adds the names of the built-in systems: Vela's and those of boards.
std::vector<std::string> system_names(std::vector<std::string> names) {
  names = with_built_in(std::move(names), npu::kSystemConfigs);
  for (const npu::Board& board : npu::kBoards) {
    if (std::ranges::find(names, board.system.name) == names.end()) names.emplace_back(board.system.name);
  }
  return names;
}

const npu::Board* board_of(const std::string& name) {
  const auto same = [&](const npu::Board& board) { return npu::same_name(board.system.name, name); };
  const auto row = std::ranges::find_if(npu::kBoards, same);
  return row == npu::kBoards.end() ? nullptr : &*row;
}

Result<plan::Target> find_board_target(const std::string& accelerator, const npu::Board& board,
                                       std::string_view memory) {
  CARINA_TRY(plan::Target target, plan::find_target(accelerator, {}, memory));
  if (target.accelerator.product != board.system.product)
    return fail({.where = "target",
                 .what = fmt::format("{} has another NPU than {}", board.system.name, accelerator),
                 .expected = std::string(board.board),
                 .got = accelerator,
                 .fault = Fault::kUsage});
  target.system = board.system;
  return target;
}

// Finds a target in configuration files. Names that the files do not have are looked up in the built-in tables.
Result<plan::Target> find_in_ini(const TargetNames& names, const Log& log) {
  CARINA_TRY(plan::Target target, plan::find_target(names.accelerator, {}, {}));
  CARINA_TRY(const VelaIni ini, read_ini(names.ini));
  const std::string system(names.system_config.empty() ? target.system.name : std::string_view(names.system_config));
  const std::string memory(names.memory_mode.empty() ? target.memory.name : std::string_view(names.memory_mode));
  const bool own_system = ini.has_system_config(system);
  const bool own_memory = ini.has_memory_mode(memory);
  const std::string_view known_system = npu::row_name(npu::kSystemConfigs, system);
  const std::string_view known_memory = npu::row_name(npu::kMemoryModes, memory);
  const npu::Board* board = own_system ? nullptr : board_of(system);
  if (!own_system && board == nullptr && npu::find_system_config(known_system) == nullptr)
    return unknown("system configuration", system, system_names(ini.system_configs()));
  if (!own_memory && npu::find_memory_mode(known_memory) == nullptr)
    return unknown("memory mode", memory, with_built_in(ini.memory_modes(), npu::kMemoryModes));
  const std::string_view built_in_memory = own_memory ? "" : known_memory;
  CARINA_TRY(target, board != nullptr
                         ? find_board_target(names.accelerator, *board, built_in_memory)
                         : plan::find_target(names.accelerator, own_system ? "" : known_system, built_in_memory));
  Diagnostics notes;
  if (own_system) {
    CARINA_TRY(target.system, ini.system_config(system, target.accelerator.product, notes));
    warn_of_product(target, log);
  }
  if (own_memory) {
    CARINA_TRY(target.memory, ini.memory_mode(memory));
  }
  std::ranges::for_each(notes, log.note);
  return target;
}

Result<plan::Target> find_built_in(const TargetNames& names) {
  const std::string_view memory = npu::row_name(npu::kMemoryModes, names.memory_mode);
  if (const npu::Board* board = board_of(names.system_config))
    return find_board_target(names.accelerator, *board, memory);
  const std::string_view system = npu::row_name(npu::kSystemConfigs, names.system_config);
  if (!system.empty() && npu::find_system_config(system) == nullptr)
    return unknown("system configuration", names.system_config, system_names({}));
  return plan::find_target(names.accelerator, system, memory);
}

// Applies the option --arena-cache-size, which overrides the mode's arena_cache_size as in Vela.
Result<void> set_arena_cache(plan::Target& target, const TargetNames& names) {
  if (!names.arena_cache_bytes) return {};
  if (*names.arena_cache_bytes <= 0)
    return fail({.where = "--arena-cache-size",
                 .what = "the size of the fast memory must not be 0",
                 .expected = "at least 1 byte",
                 .got = std::to_string(*names.arena_cache_bytes),
                 .fault = Fault::kUsage});
  target.memory.cache_bytes = *names.arena_cache_bytes;
  return {};
}

// Checks the arena. Limits of the product are checked before the memories of the system.
Result<void> check_arena(const plan::Target& target) {
  CARINA_CHECKED(plan::find_family(target));
  const npu::MemoryKind arena = target.arena_port().kind;
  if (arena == npu::MemoryKind::kSram || arena == npu::MemoryKind::kDram) return {};
  return fail({.where = "target",
               .what = fmt::format("memory mode {} puts the arena in {}, which is read-only", target.memory.name,
                                   npu::name_of(arena)),
               .hint = fmt::format("choose another memory mode (Shared_Sram, Sram_Only), or a system configuration "
                                   "with DRAM; {} has {} behind AXI port {}",
                                   target.system.name, npu::name_of(arena), target.memory.arena_port),
               .fault = Fault::kUsage});
}

}  // namespace

bool is_built_in(const std::string& path) {
  return path == "Arm/vela.ini" && !file_id(path);
}

Result<plan::Target> find_target(const TargetNames& given, const Log& log) {
  TargetNames names = given;
  names.accelerator = npu::row_name(npu::kAccelerators, given.accelerator);
  CARINA_TRY(plan::Target target, names.ini.empty() ? find_built_in(names) : find_in_ini(names, log));
  CARINA_CHECKED(check_arena(target));
  CARINA_CHECKED(set_arena_cache(target, names));
  return target;
}

Result<TargetNames> read_names(const TargetRequest& request) {
  TargetNames names{.accelerator = request.accelerator,
                    .system_config = request.system_config,
                    .memory_mode = request.memory_mode,
                    .ini = {},
                    .arena_cache_bytes = request.arena_cache_bytes};
  for (const std::string& path : request.config_files) {
    if (path.empty() || is_built_in(path)) continue;
    CARINA_TRY(Buffer text, map_file(path));
    names.ini.push_back({.name = path, .text = std::move(text)});
  }
  return names;
}

Result<plan::Target> find_target(const TargetRequest& request, const Log& log) {
  CARINA_TRY(const TargetNames names, read_names(request));
  return find_target(names, log);
}

void add_vela_defaults(TargetRequest& request) {
  const npu::AcceleratorConfig* accelerator = npu::find_accelerator(request.accelerator);
  if (accelerator == nullptr) return;  // an error of find_target()
  const npu::FamilyDefaults& defaults = npu::defaults_of(accelerator->product);
  if (request.system_config.empty()) request.system_config = defaults.vela_system_config;
  if (request.memory_mode.empty()) request.memory_mode = defaults.vela_memory_mode;
}

}  // namespace carina::targets
