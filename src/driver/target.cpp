#include "driver/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "driver/vela_ini.h"
#include "npu/table_names.h"

namespace carina::driver {

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
               .fault = Fault::kUsage});
}

// Names that the file does not have are left to the tables that are built in.
Result<plan::Target> find_in_ini(const TargetNames& names) {
  CARINA_TRY(plan::Target target, plan::find_target(names.accelerator, {}, {}));
  CARINA_TRY(const VelaIni ini, VelaIni::parse(names.ini, names.ini_name));
  const std::string system(names.system_config.empty() ? target.system.name : std::string_view(names.system_config));
  const std::string memory(names.memory_mode.empty() ? target.memory.name : std::string_view(names.memory_mode));
  const bool own_system = ini.has_system_config(system);
  const bool own_memory = ini.has_memory_mode(memory);
  const std::string_view known_system = npu::row_name(npu::kSystemConfigs, system);
  const std::string_view known_memory = npu::row_name(npu::kMemoryModes, memory);
  if (!own_system && npu::find_system_config(known_system) == nullptr)
    return unknown("system configuration", system, with_built_in(ini.system_configs(), npu::kSystemConfigs));
  if (!own_memory && npu::find_memory_mode(known_memory) == nullptr)
    return unknown("memory mode", memory, with_built_in(ini.memory_modes(), npu::kMemoryModes));
  CARINA_TRY(target,
             plan::find_target(names.accelerator, own_system ? "" : known_system, own_memory ? "" : known_memory));
  if (own_system) {
    CARINA_TRY(target.system, ini.system_config(system, target.accelerator.product));
  }
  if (own_memory) {
    CARINA_TRY(target.memory, ini.memory_mode(memory));
  }
  return target;
}

Result<plan::Target> find_built_in(const TargetNames& names) {
  return plan::find_target(names.accelerator, npu::row_name(npu::kSystemConfigs, names.system_config),
                           npu::row_name(npu::kMemoryModes, names.memory_mode));
}

}  // namespace

Result<plan::Target> find_target(const TargetNames& given) {
  TargetNames names = given;
  names.accelerator = npu::row_name(npu::kAccelerators, given.accelerator);
  CARINA_TRY(plan::Target target, names.ini.size() == 0 ? find_built_in(names) : find_in_ini(names));
  const npu::MemoryKind arena = target.system.ports[static_cast<size_t>(target.memory.arena_port)].kind;
  if (arena != npu::MemoryKind::kSram && arena != npu::MemoryKind::kDram) {
    return fail({.where = "target",
                 .what = fmt::format("memory mode {} puts the arena in {}, which cannot be written", target.memory.name,
                                     npu::name_of(arena)),
                 .hint = fmt::format("choose another memory mode (Shared_Sram, Sram_Only), or a system configuration "
                                     "with DRAM; {} has {} behind AXI port {}",
                                     target.system.name, npu::name_of(arena), target.memory.arena_port),
                 .fault = Fault::kUsage});
  }
  return target;
}

Result<TargetNames> read_names(const TargetRequest& request) {
  TargetNames names{.accelerator = request.accelerator,
                    .system_config = request.system_config,
                    .memory_mode = request.memory_mode,
                    .ini = {},
                    .ini_name = request.config_file};
  if (!request.config_file.empty()) {
    CARINA_TRY(names.ini, map_file(request.config_file));
  }
  return names;
}

Result<plan::Target> find_target(const TargetRequest& request) {
  CARINA_TRY(const TargetNames names, read_names(request));
  return find_target(names);
}

}  // namespace carina::driver
