#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "report/tables/csv.h"

namespace carina::report {

namespace {

constexpr double kKibi = 1024;

struct Memory {
  std::string_view name;    // name in Carina's reports
  std::string_view column;  // name in Vela's column titles
  std::string_view shown;   // name in Vela's cells
};
// The memories in the order of Vela's columns. Source: MemArea of ethos-u-vela 5.2.0.
constexpr auto kMemories = std::to_array<Memory>({{"Sram", "sram", "SRAM"},
                                                  {"Dram", "dram", "DRAM"},
                                                  {"OnChipFlash", "on_chip_flash", "On-chip Flash"},
                                                  {"OffChipFlash", "off_chip_flash", "Off-chip Flash"}});

// The figures of all delegates. Cycles, traffic and constants are summed; of the arenas the largest counts.
struct Whole {
  results::NpuReport npu = {};
  int64_t npu_cycles = 0;
  int64_t operations = 0;
  int64_t tosa_operators = 0;
  int64_t constant_bytes = 0;
  std::array<int64_t, kMemories.size()> access_cycles = {};
};

void add(results::MemoryUse& sum, const results::MemoryUse& more) {
  sum.held_bytes = std::max(sum.held_bytes, more.held_bytes);
  sum.feature_map_read_bytes += more.feature_map_read_bytes;
  sum.feature_map_write_bytes += more.feature_map_write_bytes;
  sum.weight_read_bytes += more.weight_read_bytes;
  sum.weight_write_bytes += more.weight_write_bytes;
}

// The memory use of one delegate without its constants, which are summed separately.
results::NpuReport with_working_memory(results::NpuReport npu, int64_t constant_bytes) {
  for (results::MemoryUse& use : npu.memories) {
    if (use.memory == npu.constants_memory) use.held_bytes -= constant_bytes;
  }
  return npu;
}

void add_layers(Whole& whole, const results::NpuReport& npu) {
  for (const results::LayerReport& layer : npu.layers) {
    whole.npu_cycles += layer.npu_cycles;
    for (const auto& [memory, cycles] : layer.access_cycles) {
      const auto memory_index = std::ranges::find(kMemories, memory, &Memory::name) - kMemories.begin();
      if (std::cmp_less(memory_index, kMemories.size()))
        whole.access_cycles[static_cast<size_t>(memory_index)] += cycles;
    }
  }
}

Whole whole_of(const results::CompileReport& report) {
  Whole whole;
  for (const results::DelegateReport& delegate : report.delegates) {
    whole.tosa_operators += delegate.tosa_operators;
    if (!delegate.layers) continue;
    const results::NpuReport part = with_working_memory(*delegate.layers, delegate.weight_bytes);
    add_layers(whole, part);
    whole.operations += static_cast<int64_t>(part.layers.size());
    whole.constant_bytes += delegate.weight_bytes;
    if (whole.npu.memories.empty()) {
      whole.npu = part;
      continue;
    }
    whole.npu.cycles += part.cycles;
    whole.npu.macs += part.macs;
    for (size_t i = 0; i < part.memories.size(); ++i) add(whole.npu.memories[i], part.memories[i]);
  }
  for (results::MemoryUse& use : whole.npu.memories) {
    if (use.memory == whole.npu.constants_memory) use.held_bytes += whole.constant_bytes;
  }
  return whole;
}

// A name like "npu-x1-128" as Vela writes it: "Npu_X1_128".
std::string accelerator_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || name[i - 1] == '_') name[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[i])));
  }
  return name;
}

std::string_view shown(std::string_view memory) {
  const auto* const found = std::ranges::find(kMemories, memory, &Memory::name);
  return found == kMemories.end() ? memory : found->shown;
}

// A row of cells under their titles.
class Line {
 public:
  void text(std::string_view title, std::string_view cell) {
    titles_.emplace_back(title);
    cells_.emplace_back(cell);
  }
  void number(std::string_view title, int64_t value) { text(title, std::to_string(value)); }
  // Adds a number with a decimal point, as Python writes floats.
  void number(std::string_view title, double value) {
    text(title, value == std::floor(value) ? fmt::format("{:.1f}", value) : fmt::format("{}", value));
  }
  // Adds one column per memory.
  template <typename Value>
  void each(std::string_view format, const results::NpuReport& npu, const Value& value) {
    for (const Memory& memory : kMemories) {
      const auto found = std::ranges::find(npu.memories, memory.name, &results::MemoryUse::memory);
      number(fmt::format(fmt::runtime(format), memory.column),
             value(found == npu.memories.end() ? results::MemoryUse{.memory = std::string(memory.name)} : *found));
    }
  }
  [[nodiscard]] std::string csv() const { return csv_line(titles_) + csv_line(cells_); }

 private:
  std::vector<std::string> titles_;
  std::vector<std::string> cells_;
};

void add_target(Line& line, const results::CompileReport& report, const results::NpuReport& npu) {
  // Without a limit, the size of the 32-bit address space.
  constexpr double kUnlimitedKib = 4.0 * kKibi * kKibi;
  const int64_t limit_bytes = report.cache_bytes > 0 ? report.cache_bytes : report.arena_budget_bytes;
  line.text("accelerator_configuration", accelerator_name(report.target));
  line.text("system_config", report.system_config);
  line.text("memory_mode", report.memory_mode);
  line.number("core_clock", static_cast<double>(report.clock_hz));
  line.number("arena_cache_size", limit_bytes > 0 ? static_cast<double>(limit_bytes) / kKibi : kUnlimitedKib);
  line.each("{}_bandwidth", npu,
            [](const results::MemoryUse& use) { return use.bytes_per_second / kKibi / kKibi / kKibi; });
  line.text("weights_storage_area", shown(npu.constants_memory));
  line.text("feature_map_storage_area", shown(npu.arena_memory));
}

void add_traffic(Line& line, const results::NpuReport& npu) {
  for (const Memory& memory : kMemories) {
    const auto found = std::ranges::find(npu.memories, memory.name, &results::MemoryUse::memory);
    const results::MemoryUse use = found == npu.memories.end() ? results::MemoryUse{} : *found;
    const auto column = [&](std::string_view what, int64_t bytes) {
      line.number(fmt::format("{}_{}_bytes", memory.column, what), bytes);
    };
    column("feature_map_read", use.feature_map_read_bytes);
    column("feature_map_write", use.feature_map_write_bytes);
    column("weight_read", use.weight_read_bytes);
    column("weight_write", use.weight_write_bytes);
    column("total",
           use.feature_map_read_bytes + use.feature_map_write_bytes + use.weight_read_bytes + use.weight_write_bytes);
  }
}

}  // namespace

std::string summary_table(const results::CompileReport& report) {
  const Whole whole = whole_of(report);
  const results::NpuReport& npu = whole.npu;
  const double seconds =
      report.clock_hz == 0 ? 0 : static_cast<double>(npu.cycles) / static_cast<double>(report.clock_hz);
  const double per_second = seconds == 0 ? 0 : 1 / seconds;
  Line line;
  line.text("experiment", "default");
  line.text("network", std::filesystem::path(report.model).stem().string());
  add_target(line, report, npu);
  line.number("inferences_per_second", per_second);
  line.number("batch_size", int64_t{1});
  line.number("inference_time", seconds);
  line.number("passes_before_fusing", whole.tosa_operators);
  line.number("passes_after_fusing", whole.operations);
  line.each("{}_memory_used", npu,
            [](const results::MemoryUse& use) { return static_cast<double>(use.held_bytes) / kKibi; });
  line.text("total_original_weights", "");
  line.number("total_npu_encoded_weights", whole.constant_bytes);
  add_traffic(line, npu);
  line.number("nn_macs", npu.macs);
  line.number("nn_tops", static_cast<double>(npu.macs) * 2 * per_second / 1e12);
  line.number("cycles_npu", whole.npu_cycles);
  for (size_t i = 0; i < kMemories.size(); ++i)
    line.number(fmt::format("cycles_{}_access", kMemories[i].column), whole.access_cycles[i]);
  line.number("cycles_total", npu.cycles);
  return line.csv();
}

}  // namespace carina::report
