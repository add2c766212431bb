#include "explore/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "backends/ethosu_backend.h"
#include "base/guarded.h"
#include "base/hash/sha256.h"
#include "base/io/file.h"
#include "base/parallel/parallel.h"
#include "driver/compile_options.h"
#include "driver/prepared_model.h"
#include "npu/table_names.h"
#include "report/tables/layers.h"
#include "targets/target_list.h"

namespace carina::explore {

namespace {

using results::SweepRow;
using results::SweepStatus;

constexpr std::string_view kAsIs = "as is";  // what rows call the quantization of a model that nobody asked to change

// A model quantized in one way, or why it cannot be.
struct Prepared {
  std::string quantization;
  Result<driver::PreparedModel> model;
  Diagnostics notes;
};

struct Combination {
  const Prepared& prepared;
  targets::TargetNames names;
};

// On one line: rows are.
std::string text_of(const Diagnostics& errors) {
  std::string text;
  for (Diagnostic error : errors) {
    const std::string hint = std::exchange(error.hint, "");
    text += (text.empty() ? "" : "; ") + to_string(error) + (hint.empty() ? "" : "; " + hint);
  }
  return text;
}

bool is_all(const std::vector<std::string>& names) {
  return std::ranges::find(names, "all") != names.end();
}

// Errors: a name that no target begins with.
Result<std::vector<std::string>> targets_of(const std::vector<std::string>& asked) {
  std::vector<std::string> found;
  Diagnostics errors;
  for (const std::string& name : asked) {
    const size_t before = found.size();
    for (const std::string_view target : backends::ethosu_targets()) {
      const std::string_view start = target.substr(0, name.size());
      if (name == "all" || npu::same_name(start, name)) found.emplace_back(target);
    }
    if (found.size() == before)
      errors.push_back({.where = "--targets",
                        .what = "unknown target",
                        .expected = fmt::format("all, or {}", fmt::join(backends::ethosu_targets(), ", ")),
                        .got = name,
                        .fault = Fault::kUsage});
  }
  if (!errors.empty()) return fail(std::move(errors));
  std::set<std::string> known;  // named twice, compiled once
  std::erase_if(found, [&](const std::string& name) { return !known.insert(name).second; });
  return found;
}

// Errors: a mode that neither the files nor the tables have.
Result<std::vector<std::string>> modes_of(const std::vector<std::string>& asked,
                                          const std::vector<targets::ConfigFile>& ini) {
  if (asked.empty()) return std::vector<std::string>{""};
  CARINA_TRY(const results::TargetList list, targets::list_targets(ini));
  std::vector<std::string> known;
  for (const results::ModeRow& mode : list.modes) known.push_back(mode.name);
  if (is_all(asked)) return known;
  std::vector<std::string> found;
  for (const std::string& name : asked) {
    const auto mode = std::ranges::find_if(known, [&](const std::string& one) { return npu::same_name(one, name); });
    if (mode == known.end())
      return fail({.where = "--memory-modes",
                   .what = "unknown memory mode",
                   .expected = fmt::format("all, or {}", fmt::join(known, ", ")),
                   .got = name,
                   .fault = Fault::kUsage});
    if (std::ranges::find(found, *mode) == found.end()) found.push_back(*mode);
  }
  return found;
}

// Collects what is said, once each.
Log collector(Diagnostics& notes) {
  Log log;
  log.note = [&notes](const Diagnostic& note) {
    if (std::ranges::none_of(notes, [&](const Diagnostic& known) { return to_string(known) == to_string(note); }))
      notes.push_back(note);
  };
  return log;
}

// As it was asked for; else what came of the calibration data.
std::string quantization_of(const std::string& scheme, const Result<driver::PreparedModel>& prepared) {
  if (!scheme.empty()) return scheme;
  if (!prepared || prepared->is_tosa || !prepared->calibrated) return std::string(kAsIs);
  const std::string& said = prepared->model.quantization;
  return said.substr(0, said.find_first_of(", ("));
}

Prepared prepared_with(driver::CompileRequest request, const std::string& scheme) {
  Diagnostics notes;
  request.quantize.scheme = scheme;
  auto model = guarded([&] { return driver::prepare(request, collector(notes)); });
  return {.quantization = quantization_of(scheme, model), .model = std::move(model), .notes = std::move(notes)};
}

void add_layers(SweepRow& row, const results::NpuReport& npu) {
  row.macs_per_cycle = npu.macs_per_cycle;
  row.bytes_per_cycle = npu.bytes_per_cycle;
  row.macs += npu.macs;
  for (const auto& [name, bytes] : npu.traffic_bytes) {
    const auto known = std::ranges::find(row.traffic_bytes, name, &std::pair<std::string, int64_t>::first);
    known == row.traffic_bytes.end() ? static_cast<void>(row.traffic_bytes.emplace_back(name, bytes))
                                     : static_cast<void>(known->second += bytes);
  }
  for (const results::LayerReport& layer : rows_of(npu, report::LayerRows::kFolded)) {
    int64_t bytes = 0;
    for (const auto& [name, count] : layer.traffic_bytes) bytes += count;
    row.layers.push_back({.name = layer.name,
                          .macs = layer.macs,
                          .cycles = layer.cycles,
                          .traffic_bytes = bytes,
                          .bottleneck = layer.bottleneck});
  }
}

void add_figures(SweepRow& row, const results::CompileReport& report) {
  using results::RunsOn;
  row.clock_hz = report.clock_hz;
  row.cycles = report.cycles.value_or(0);
  row.sram_bytes = sram_bytes_of(report);
  row.program_bytes = report.program_bytes;
  for (const results::NodeReport& node : report.nodes) {
    row.npu_nodes += node.runs_on == RunsOn::kNpu ? 1 : 0;
    row.cpu_nodes += node.runs_on == RunsOn::kCpu || node.runs_on == RunsOn::kBoth ? 1 : 0;
    row.cpu_cycles += node.cpu_cycles;
  }
  for (const results::DelegateReport& delegate : report.delegates) {
    if (delegate.layers) add_layers(row, *delegate.layers);
  }
}

std::string file_name(const SweepRow& row) {
  std::string name = fmt::format("{}_{}_{}.pte", row.target, row.memory_mode, row.quantization);
  std::ranges::replace_if(name, [](char c) { return c == ' ' || c == '/' || c == '+'; }, '-');
  return name;
}

SweepRow without_program(SweepRow row, SweepStatus status, const Diagnostics& errors) {
  row.status = status;
  row.reason = text_of(errors);
  return row;
}

// Errors: the program cannot be written.
Result<SweepRow> row_of(const Combination& combination, const SweepRequest& request) {
  SweepRow row{.quantization = combination.prepared.quantization,
               .target = combination.names.accelerator,
               .system_config = combination.names.system_config,
               .memory_mode = combination.names.memory_mode};
  Diagnostics notes = combination.prepared.notes;
  const Log log = collector(notes);
  const auto backend = backends::find_backend(combination.names, log);
  if (!backend) return without_program(std::move(row), SweepStatus::kRefused, backend.error());
  row.system_config = backend->system_config;
  row.memory_mode = backend->memory_mode;
  if (!combination.prepared.model)
    return without_program(std::move(row), SweepStatus::kFailed, combination.prepared.model.error());
  driver::CompileRequest one = request.model;
  one.threads = 1;
  one.layers = true;
  const driver::Compilation compilation = driver::compile_prepared(*combination.prepared.model, one, *backend, log);
  if (!compilation.errors.empty()) return without_program(std::move(row), SweepStatus::kFailed, compilation.errors);
  add_figures(row, driver::compile_report(compilation, *backend, driver::delegate_options_of(one)));
  const std::span<const std::byte> program(compilation.package->program);
  row.program_sha256 = sha256_hex(std::array{program});
  for (const Diagnostic& note : notes) row.notes.push_back(to_string(note));
  if (!request.program_folder.empty())
    CARINA_CHECKED(write_file(request.program_folder + "/" + file_name(row), program));
  return row;
}

std::vector<Combination> combinations_of(const std::vector<Prepared>& models, const std::vector<std::string>& targets,
                                         const std::vector<std::string>& modes, const SweepRequest& request,
                                         const targets::TargetNames& common) {
  std::vector<Combination> mine;
  size_t index = 0;
  for (const Prepared& prepared : models) {
    for (const std::string& target : targets) {
      for (const std::string& mode : modes) {
        if (index++ % request.parts != request.part) continue;
        targets::TargetNames names = common;
        names.accelerator = target;
        names.memory_mode = mode;
        mine.push_back({.prepared = prepared, .names = std::move(names)});
      }
    }
  }
  return mine;
}

Result<std::vector<SweepRow>> rows_of_all(const std::vector<Combination>& combinations, const SweepRequest& request,
                                          const Log& log) {
  std::vector<Result<SweepRow>> rows(combinations.size(), SweepRow{});
  std::mutex mutex;
  size_t done = 0;
  ThreadPool pool(request.model.threads);
  pool.parallel_for(combinations.size(), [&](size_t i) {
    rows[i] = guarded([&] { return row_of(combinations[i], request); });
    const std::scoped_lock lock(mutex);
    log.progress("sweep", done++, combinations.size());
  });
  std::vector<SweepRow> all;
  for (Result<SweepRow>& row : rows) {
    CARINA_TRY(SweepRow one, std::move(row));
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace

Result<results::SweepReport> sweep(const SweepRequest& given, const Log& log) {
  SweepRequest request = given;
  CARINA_TRY(request.model, driver::with_flags(given.model, log));
  CARINA_TRY(const targets::TargetNames common, targets::read_names(request.model.target));
  CARINA_TRY(const std::vector<std::string> targets, targets_of(request.targets));
  CARINA_TRY(const std::vector<std::string> modes, modes_of(request.memory_modes, common.ini));
  std::vector<std::string> schemes = request.quantizations;
  if (schemes.empty()) schemes.emplace_back();
  std::vector<Prepared> models;
  for (const std::string& scheme : schemes) models.push_back(prepared_with(request.model, scheme));
  // A model that fails in every way is no sweep.
  if (std::ranges::none_of(models, [](const Prepared& one) { return one.model.has_value(); }))
    return fail(std::move(models.front().model).error());
  const std::vector<Combination> combinations = combinations_of(models, targets, modes, request, common);
  CARINA_TRY(std::vector<SweepRow> rows, rows_of_all(combinations, request, log));
  return results::SweepReport{.model = request.model.model, .rows = std::move(rows)};
}

}  // namespace carina::explore
