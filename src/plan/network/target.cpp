#include "plan/network/target.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/text/nearest.h"
#include "npu/table_names.h"

namespace carina::plan {
namespace {

template <typename Rows>
std::unexpected<Diagnostics> unknown(std::string_view kind, std::string_view name, const Rows& rows) {
  std::vector<std::string> known;
  for (const auto& row : rows) known.emplace_back(row.name);
  return fail({.where = "target",
               .what = fmt::format("unknown {}", kind),
               .expected = npu::names_of(rows),
               .got = std::string(name),
               .hint = nearest_hint(name, known),
               .fault = Fault::kUsage});
}

}  // namespace

Result<Target> find_target(std::string_view accelerator, std::string_view system_config, std::string_view memory_mode) {
  const npu::AcceleratorConfig* npu = npu::find_accelerator(accelerator);
  if (npu == nullptr) return unknown("NPU", accelerator, npu::kAccelerators);
  const npu::FamilyDefaults& defaults = npu::defaults_of(npu->product);
  if (system_config.empty()) system_config = defaults.system_config;
  if (memory_mode.empty()) memory_mode = defaults.memory_mode;
  const npu::SystemConfig* system = npu::find_system_config(system_config);
  if (system == nullptr) return unknown("system configuration", system_config, npu::kSystemConfigs);
  if (system->product != npu->product) {
    return fail({.where = "target",
                 .what = fmt::format("system configuration {} is not for {}", system_config, accelerator),
                 .hint = fmt::format("the default is {}", defaults.system_config),
                 .fault = Fault::kUsage});
  }
  const npu::MemoryMode* memory = npu::find_memory_mode(memory_mode);
  if (memory == nullptr) return unknown("memory mode", memory_mode, npu::kMemoryModes);
  return Target{.accelerator = *npu, .system = *system, .memory = *memory};
}

}  // namespace carina::plan
