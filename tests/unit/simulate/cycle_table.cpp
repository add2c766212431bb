// Writes docs/cycle-model.md: our estimates beside Vela's own for every stream of the shared test data, and beside
// published figures.
//
//   cycle_table SHARED > docs/cycle-model.md
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "stream_case.h"

namespace carina::simulate {
namespace {

namespace fs = std::filesystem;

using Summary = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    std::erase(cell, '\r');
    parts.push_back(cell);
  }
  return parts;
}

std::optional<Summary> read_summary(const fs::path& path) {
  std::ifstream file(path);
  std::string names;
  std::string values;
  if (!std::getline(file, names) || !std::getline(file, values)) return std::nullopt;
  const auto keys = cells(names);
  const auto data = cells(values);
  Summary summary;
  for (size_t i = 0; i < std::min(keys.size(), data.size()); ++i) summary[keys[i]] = data[i];
  return summary;
}

double number(const Summary& summary, const std::string& key) {
  const auto it = summary.find(key);
  return it == summary.end() ? 0 : std::strtod(it->second.c_str(), nullptr);
}

double megabytes(double bytes) {
  return bytes / 1e6;
}

struct Row {
  std::string name;
  double ours = 0;
  double vela = 0;
};

std::optional<Report> timed_run(const fs::path& npz, const std::vector<std::string>& inputs, const std::string& system,
                                const std::string& mode) {
  auto stream = StreamCase::load(npz.string());
  if (!stream) return std::nullopt;
  Simulator simulator(Options{.timing = Timing::kOn, .system_config = system, .memory_mode = mode});
  auto report = stream->run(simulator, inputs);
  if (!report) {
    fmt::print(stderr, "{}: {}\n", npz.string(), to_string(report.error()));
    return std::nullopt;
  }
  return std::move(*report);
}

uint64_t off_sram(const Report& report) {
  uint64_t bytes = 0;
  for (const MemoryKind memory : {MemoryKind::kDram, MemoryKind::kOnChipFlash, MemoryKind::kOffChipFlash})
    bytes += report.traffic[static_cast<size_t>(memory)].bytes();
  return bytes;
}

void print_row(const std::string& name, const Report& report, const Summary& summary, std::vector<Row>& rows) {
  const double vela = number(summary, "cycles_total");
  const auto ours = static_cast<double>(report.cycles.total);
  const double vela_off = number(summary, "dram_total_bytes") + number(summary, "on_chip_flash_total_bytes") +
                          number(summary, "off_chip_flash_total_bytes");
  fmt::print("| {} | {} | {:.0f} | {:+.1f} % | {} | {} | {} | {:.2f} / {:.2f} | {:.2f} / {:.2f} |\n", name,
             report.cycles.total, vela, 100 * (ours / vela - 1), report.cycles.mac, report.cycles.output,
             report.cycles.exposed_dma,
             megabytes(static_cast<double>(report.traffic[static_cast<size_t>(MemoryKind::kSram)].bytes())),
             megabytes(number(summary, "sram_total_bytes")), megabytes(static_cast<double>(off_sram(report))),
             megabytes(vela_off));
  rows.push_back({.name = name, .ours = ours, .vela = vela});
}

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

std::vector<std::string> inputs_of(const fs::path& target, const std::string& prefix) {
  for (const fs::path& folder : {target, target.parent_path()}) {
    std::vector<std::string> files;
    for (const fs::path& path : sorted(folder)) {
      if (path.filename().string().starts_with(prefix) && path.extension() == ".npy") files.push_back(path.string());
    }
    if (!files.empty()) return files;
  }
  return {};
}

void table(const fs::path& group, const std::string& prefix, std::vector<Row>& rows) {
  for (const fs::path& model : sorted(group)) {
    if (!fs::is_directory(model)) continue;
    for (const fs::path& target : sorted(model)) {
      const auto summary = read_summary(target / "out_summary.csv");
      if (!fs::exists(target / "out_vela.npz") || !summary) continue;
      const auto report = timed_run(target / "out_vela.npz", inputs_of(target, prefix), summary->at("system_config"),
                                    summary->at("memory_mode"));
      if (report)
        print_row(fmt::format("{} {}", model.filename().string(), target.filename().string()), *report, *summary, rows);
    }
  }
}

void print_errors(const std::vector<Row>& rows) {
  std::vector<double> errors;
  for (const Row& row : rows) errors.push_back(std::abs(row.ours / row.vela - 1));
  if (errors.empty()) return;
  std::ranges::sort(errors);
  fmt::print("\n{} streams: median difference {:.1f} %, largest {:.1f} %.\n", errors.size(),
             100 * errors[errors.size() / 2], 100 * errors.back());
}

struct Published {
  const char* stream;  // below SHARED
  const char* what;
  double fvp_cycles;
  double axi0_read_beats;
  double axi0_write_beats;
  double axi1_read_beats;
};
constexpr Published kPublished[] = {
    {"golden/ethos-u55-128/keyword_spotting_ds_cnn_large_clustered_int8",
     "DS-CNN large clustered, U55-128 (stream of another Vela)", 681172, 217385, 82607, 59608},
    {"cases/mobilenet_v2/ethos-u55-128",
     "MobileNetV2 1.0 224, U55-128 (another front end: ours begins with two transpositions)", 7345741, 2468259, 1151319,
     432351},
};

uint64_t event(const Report& report, std::string_view name) {
  for (const PmuCounter& counter : report.pmu) {
    if (counter.name == name) return counter.count;
  }
  return 0;
}

void print_published(const fs::path& shared) {
  fmt::print(
      "| network | ours | published | | AXI0 read beats | AXI0 write beats | AXI1 read beats "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const Published& row : kPublished) {
    const fs::path folder = shared / row.stream;
    const fs::path npz = fs::exists(folder / "stream.npz") ? folder / "stream.npz" : folder / "out_vela.npz";
    const auto inputs = fs::exists(folder / "input.npy") ? std::vector<std::string>{(folder / "input.npy").string()}
                                                         : inputs_of(folder, "tosa_in_");
    const auto report = timed_run(npz, inputs, "Ethos_U55_High_End_Embedded", "Shared_Sram");
    if (!report) continue;
    fmt::print(
        "| {} | {} | {:.0f} | {:+.1f} % | {} / {:.0f} | {} / {:.0f} | {} / {:.0f} |\n", row.what, report->cycles.total,
        row.fvp_cycles, 100 * (static_cast<double>(report->cycles.total) / row.fvp_cycles - 1),
        event(*report, "AXI0_RD_DATA_BEAT_RECEIVED"), row.axi0_read_beats, event(*report, "AXI0_WR_DATA_BEAT_WRITTEN"),
        row.axi0_write_beats, event(*report, "AXI1_RD_DATA_BEAT_RECEIVED"), row.axi1_read_beats);
  }
}

}  // namespace

void print_document(const fs::path& shared);
void print_document(const fs::path& shared) {
  std::ifstream head(fs::path(CARINA_SOURCE_DIR) / "docs" / "cycle-model.head.md");
  fmt::print("{}", std::string(std::istreambuf_iterator<char>(head), {}));
  fmt::print(
      "\n## Against Vela's own estimates\n\nCycles and bytes of one inference; `a / b` is ours / Vela's. MAC, output: "
      "how long those units are busy. DMA: cycles that no "
      "computation hides.\n\n");
  fmt::print(
      "| stream | ours | Vela | | MAC | output | DMA | SRAM MB | other memory MB "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Row> rows;
  table(shared / "cases", "tosa_in_", rows);
  table(shared / "tflite", "input", rows);
  print_errors(rows);
  fmt::print("\n## Against published figures of the FVP\n\n");
  print_published(shared);
}

}  // namespace carina::simulate

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  carina::simulate::print_document(argv[1]);
  return 0;
}
