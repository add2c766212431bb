#include "targets/target_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "facts/npu_boards.h"
#include "targets/vela_ini_internal.h"

namespace carina::targets {

namespace {

constexpr std::string_view kBuiltIn = "built in";

// Returns the product line of a configuration, its name without the size. Systems and modes fit all sizes of a line or
// none.
std::string line_of(const npu::AcceleratorConfig& accelerator) {
  return std::string(accelerator.name.substr(0, accelerator.name.rfind('-')));
}

// Returns one configuration of each line.
std::vector<const npu::AcceleratorConfig*> lines() {
  std::vector<const npu::AcceleratorConfig*> firsts;
  for (const npu::AcceleratorConfig& accelerator : npu::kAccelerators) {
    const auto is_known = [&](const auto* first) { return first->product == accelerator.product; };
    if (std::ranges::none_of(firsts, is_known)) firsts.push_back(&accelerator);
  }
  return firsts;
}

// Collects the entries of the files and of the built-in tables by name. Entries of files come first.
class Lister {
 public:
  explicit Lister(const std::vector<ConfigFile>& files) : files_(files) {}

  Result<results::TargetList> take() && {
    CARINA_CHECKED(read_files());
    for (const npu::MemoryMode& mode : npu::kMemoryModes) add(mode, kBuiltIn);
    for (const npu::SystemConfig& system : npu::kSystemConfigs) add_system(system.name, kBuiltIn);
    for (const npu::Board& board : npu::kBoards) add_system(board.system.name, "board");
    for (results::SystemRow& row : list_.systems) {
      CARINA_CHECKED(fill(row));
    }
    for (const npu::AcceleratorConfig& accelerator : npu::kAccelerators) add(accelerator);
    return std::move(list_);
  }

 private:
  // Reads the files. A later file replaces entries of earlier ones.
  Result<void> read_files() {
    for (size_t i = files_.size(); i-- > 0;) {
      CARINA_TRY(const VelaIni one, VelaIni::parse(files_[i].text, files_[i].name));
      for (const std::string& name : one.system_configs()) add_system(name, files_[i].name);
      for (const std::string& name : one.memory_modes()) mode_names_.emplace_back(name, files_[i].name);
    }
    if (files_.empty()) return {};
    CARINA_TRY(VelaIni ini, VelaIni::parse(files_.front().text, files_.front().name));
    for (size_t i = 1; i < files_.size(); ++i) {
      CARINA_TRY(const VelaIni later, VelaIni::parse(files_[i].text, files_[i].name));
      ini.merge(later);
    }
    for (const auto& [name, file] : mode_names_) {
      CARINA_TRY(const npu::MemoryMode mode, ini.memory_mode(name));
      add(mode, file);
    }
    return {};
  }

  void add(const npu::AcceleratorConfig& accelerator) {
    const npu::FamilyDefaults& defaults = npu::defaults_of(accelerator.product);
    list_.targets.push_back({.name = std::string(accelerator.name),
                             .macs_per_cycle = accelerator.macs_per_cycle,
                             .system_config = std::string(defaults.system_config),
                             .memory_mode = std::string(defaults.memory_mode)});
  }

  void add(const npu::MemoryMode& mode, std::string_view from) {
    if (std::ranges::find(list_.modes, mode.name, &results::ModeRow::name) != list_.modes.end()) return;
    list_.modes.push_back({.name = std::string(mode.name),
                           .from = std::string(from),
                           .constants_port = mode.constants_port,
                           .arena_port = mode.arena_port,
                           .cache_port = mode.cache_port,
                           .cache_bytes = mode.cache_bytes});
  }

  void add_system(std::string_view name, std::string_view from) {
    if (std::ranges::find(list_.systems, name, &results::SystemRow::name) != list_.systems.end()) return;
    list_.systems.push_back(
        {.name = std::string(name), .from = std::string(from), .targets = {}, .memories = {}, .memory_modes = {}});
  }

  [[nodiscard]] TargetNames names_of(const npu::AcceleratorConfig& line, const std::string& system,
                                     const std::string& mode) const {
    return {.accelerator = std::string(line.name), .system_config = system, .memory_mode = mode, .ini = files_};
  }

  // Returns whether a system is for a product line. A file does not contain this, so its systems are for all lines,
  // unless they have the name of a known system.
  static bool is_for(const results::SystemRow& row, const npu::AcceleratorConfig& line) {
    const npu::Board* board = npu::find_board(row.name);
    if (board != nullptr && row.from == "board") return board->system.product == line.product;
    const npu::SystemConfig* known = npu::find_system_config(row.name);
    return known == nullptr || known->product == line.product;
  }

  Result<void> fill(results::SystemRow& row) const {
    for (const npu::AcceleratorConfig* line : lines()) {
      if (!is_for(row, *line)) continue;
      row.targets.push_back(line_of(*line));
      // Constants at port 1 and the arena at port 0: every system supports this mode.
      CARINA_TRY(const plan::Target target, find_target(names_of(*line, row.name, "Shared_Sram")));
      row.clock_hz = static_cast<int64_t>(target.system.core_clock_hz);
      row.memories.clear();
      for (const npu::MemoryPort& port : target.system.ports) row.memories.emplace_back(npu::name_of(port.kind));
      for (const results::ModeRow& mode : list_.modes) {
        const bool known = std::ranges::find(row.memory_modes, mode.name) != row.memory_modes.end();
        if (!known && find_target(names_of(*line, row.name, mode.name))) row.memory_modes.push_back(mode.name);
      }
    }
    return {};
  }

  const std::vector<ConfigFile>& files_;
  std::vector<std::pair<std::string, std::string>> mode_names_;  // with the file of each
  results::TargetList list_;
};

}  // namespace

Result<results::TargetList> list_targets(const std::vector<ConfigFile>& files) {
  return Lister(files).take();
}

Result<results::TargetList> list_targets(const std::vector<std::string>& config_files) {
  CARINA_TRY(const TargetNames names,
             read_names({.accelerator = {}, .system_config = {}, .memory_mode = {}, .config_files = config_files}));
  return list_targets(names.ini);
}

}  // namespace carina::targets
