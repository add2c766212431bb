#include "explore/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "backends/ethosu_backend.h"
#include "base/guarded.h"
#include "base/hash/sha256.h"
#include "base/io/file.h"
#include "base/parallel/parallel.h"
#include "base/text/nearest.h"
#include "driver/compile_options.h"
#include "driver/prepared_model.h"
#include "explore/accuracy.h"
#include "explore/sweep_state.h"
#include "facts/npu_accuracy.h"
#include "npu/table_names.h"
#include "report/tables/layers.h"
#include "targets/target_list.h"

namespace carina::explore {

namespace {

using results::SweepLine;
using results::SweepRow;
using results::SweepStatus;

constexpr std::string_view kAsIs = "as is";  // what rows call the quantization of a model that nobody asked to change

// A model quantized in one way, or why it cannot be.
struct Prepared {
  std::string quantization;
  Result<driver::PreparedModel> model;
  Diagnostics notes;
  bool per_target = false;  // --quantize auto compares cycles: the model is prepared for each target
};

struct Combination {
  const Prepared& prepared;
  targets::TargetNames names;
};

// A sweep before its combinations are compiled.
struct Sweep {
  SweepRequest request;
  targets::TargetNames common;
  SweepAxes axes;
  SweepState state;

  [[nodiscard]] size_t size() const { return axes.schemes.size() * axes.targets.size() * axes.memory_modes.size(); }
  [[nodiscard]] size_t scheme_of(size_t number) const {
    return number / (axes.targets.size() * axes.memory_modes.size());
  }
  // The names as the user wrote them.
  [[nodiscard]] SweepState::Combination names_of(size_t number) const {
    const size_t modes = axes.memory_modes.size();
    return {axes.schemes[scheme_of(number)], axes.targets[number / modes % axes.targets.size()],
            axes.memory_modes[number % modes]};
  }
};

// The errors as one line of text, for a cell of a row.
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
                        .hint = nearest_hint(name, fmt::format("{}", fmt::join(backends::ethosu_targets(), ", "))),
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
                   .hint = nearest_hint(name, known),
                   .fault = Fault::kUsage});
    if (std::ranges::find(found, *mode) == found.end()) found.push_back(*mode);
  }
  return found;
}

// A log that collects notes, each one once.
Log collector(Diagnostics& notes) {
  Log log;
  log.note = [&notes](const Diagnostic& note) {
    if (std::ranges::none_of(notes, [&](const Diagnostic& known) { return to_string(known) == to_string(note); }))
      notes.push_back(note);
  };
  return log;
}

// The quantization for the table: the requested scheme, or the one that calibration has chosen. "int8 (random)": the
// ranges are those of random inputs.
std::string quantization_of(const std::string& scheme, const Result<driver::PreparedModel>& prepared) {
  const std::string random = prepared && prepared->model.random_ranges ? " (random)" : "";
  if (!scheme.empty()) return scheme + random;
  if (!prepared || prepared->is_tosa || !prepared->calibrated) return std::string(kAsIs);
  const std::string& said = prepared->model.quantization;
  return said.substr(0, said.find_first_of(", (")) + random;
}

bool is_auto(const std::string& scheme) {
  return scheme == "auto" || scheme.starts_with("auto+");
}

Prepared prepared_with(driver::CompileRequest request, const std::string& scheme) {
  if (is_auto(scheme))
    return {.quantization = scheme, .model = driver::PreparedModel{}, .notes = {}, .per_target = true};
  Diagnostics notes;
  request.quantize.scheme = scheme;
  auto model = guarded([&] { return driver::prepare(request, collector(notes)); });
  return {.quantization = quantization_of(scheme, model), .model = std::move(model), .notes = std::move(notes)};
}

// The model with the scheme that is best for one target.
Prepared prepared_for(driver::CompileRequest request, const std::string& scheme, const backends::Backend& backend) {
  Diagnostics notes;
  request.quantize.scheme = scheme;
  request.threads = 1;
  auto model = guarded([&] { return driver::prepare(request, backend, collector(notes)); });
  return {.quantization = scheme, .model = std::move(model), .notes = std::move(notes)};
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
  const npu::CycleInterval interval = npu::cycle_interval(report.target, row.cycles, report.memory_cycles);
  row.expected = {.lowest = interval.lowest,
                  .highest = interval.highest,
                  .waits_for_memory = interval.waits_for_memory,
                  .basis = std::string(interval.basis)};
  row.sram_bytes = sram_bytes_of(report);
  row.program_bytes = report.program_bytes;
  for (const results::NodeReport& node : report.nodes) {
    row.npu_nodes += node.runs_on == RunsOn::kNpu ? 1 : 0;
    row.cpu_nodes += node.runs_on == RunsOn::kCpu || node.runs_on == RunsOn::kBoth ? 1 : 0;
  }
  row.cpu_cycles = cpu_cycles_of(report);
  for (const results::DelegateReport& delegate : report.delegates) {
    if (delegate.layers) add_layers(row, *delegate.layers);
  }
}

results::Fits fits_of(const results::CompileReport& report) {
  if (report.sram_budget_bytes == 0 && report.flash_budget_bytes == 0) return results::Fits::kNotAsked;
  return report.over_budget.empty() ? results::Fits::kYes : results::Fits::kNo;
}

// Compares a program with the float model on the data of the request.
Result<results::SweepAccuracy> accuracy_of(const SweepRequest& request, std::span<const std::byte> program) {
  CARINA_TRY(const results::AccuracyReport report, accuracy({.model = request.model.model,
                                                             .program = "the program",
                                                             .program_file = Buffer::copy_of(program),
                                                             .data = request.data,
                                                             .images = request.model.images,
                                                             .dump_folder = {},
                                                             .loop_rounds = request.model.loop_rounds,
                                                             .metric = request.metric},
                                                            {}));
  results::SweepAccuracy found{.sqnr_db = report.sqnr_db, .metric = {}, .unit = {}};
  if (report.task) {
    found.metric = report.task->metric;
    found.unit = report.task->unit;
    found.of_float = report.task->of_float;
    found.of_npu = report.task->of_npu;
  } else if (report.has_labels && report.samples > 0) {
    const auto percent = [&](int64_t right) {
      return 100 * static_cast<double>(right) / static_cast<double>(report.samples);
    };
    found.metric = "top1";
    found.unit = "%";
    found.of_float = percent(report.float_right);
    found.of_npu = percent(report.npu_right);
  }
  return found;
}

// The name contains the scheme as the user wrote it.
std::string file_name(const SweepLine& line) {
  const SweepRow& row = line.row;
  std::string name =
      fmt::format("{}_{}_{}.pte", row.target, row.memory_mode, line.scheme.empty() ? row.quantization : line.scheme);
  std::ranges::replace_if(name, [](char c) { return c == ' ' || c == '/' || c == '+'; }, '-');
  return name;
}

SweepLine without_program(SweepLine line, SweepStatus status, const Diagnostics& errors) {
  line.row.status = status;
  line.row.reason = text_of(errors);
  line.machine = std::ranges::find(errors, Fault::kEnvironment, &Diagnostic::fault) != errors.end();
  return line;
}

struct Made {
  SweepLine line;
  std::vector<std::byte> program;  // empty if there is none, or if it is not to be written
};

Made compiled(const Combination& combination, const SweepRequest& request, SweepLine line) {
  SweepRow& row = line.row;
  row = {.quantization = combination.prepared.quantization,
         .target = combination.names.accelerator,
         .system_config = combination.names.system_config,
         .memory_mode = combination.names.memory_mode};
  Diagnostics notes = combination.prepared.notes;
  const Log log = collector(notes);
  line.unprepared = !combination.prepared.model;
  const auto backend = backends::find_backend(combination.names, log);
  if (!backend)
    return {.line = without_program(std::move(line), SweepStatus::kRejected, backend.error()), .program = {}};
  row.system_config = backend->system_config;
  row.memory_mode = backend->memory_mode;
  std::optional<Prepared> own;
  if (combination.prepared.per_target) {
    own = prepared_for(request.model, line.scheme, *backend);
    notes.insert(notes.end(), own->notes.begin(), own->notes.end());
    if (own->model && own->model->model.quantization.starts_with("auto: "))
      row.quantization = own->model->model.quantization.substr(0, own->model->model.quantization.find(", calibrated"));
  }
  const Result<driver::PreparedModel>& model = own ? own->model : combination.prepared.model;
  if (!model) return {.line = without_program(std::move(line), SweepStatus::kFailed, model.error()), .program = {}};
  driver::CompileRequest one = request.model;
  one.threads = 1;
  one.layers = true;
  driver::Compilation compilation = driver::compile_prepared(*model, one, *backend, log);
  if (!compilation.errors.empty())
    return {.line = without_program(std::move(line), SweepStatus::kFailed, compilation.errors), .program = {}};
  const results::CompileReport report = driver::compile_report(compilation, *backend, driver::delegate_options_of(one));
  add_figures(row, report);
  row.fits = fits_of(report);
  const std::span<const std::byte> program(compilation.package->program);
  if (!request.data.empty()) {
    auto found = accuracy_of(request, program);
    if (!found) return {.line = without_program(std::move(line), SweepStatus::kFailed, found.error()), .program = {}};
    row.accuracy = *std::move(found);
  }
  row.program_sha256 = sha256_hex(std::array{program});
  for (const Diagnostic& note : notes) row.notes.push_back(to_string(note));
  if (request.program_folder.empty()) return {.line = std::move(line), .program = {}};
  line.program = file_name(line);
  return {.line = std::move(line), .program = std::move(compilation.package->program)};
}

// An exception is reported in the row of the combination, as other errors are.
Made made_of(const Sweep& sweep, size_t number, const Prepared& prepared) {
  const auto [scheme, target, mode] = sweep.names_of(number);
  const SweepLine line{.scheme = scheme, .target = target, .memory_mode = mode};
  targets::TargetNames names = sweep.common;
  names.accelerator = target;
  names.memory_mode = mode;
  auto made = guarded([&]() -> Result<Made> {
    return compiled({.prepared = prepared, .names = std::move(names)}, sweep.request, line);
  });
  if (made) return *std::move(made);
  SweepLine failed = line;
  failed.row = {.quantization = prepared.quantization, .target = target, .system_config = {}, .memory_mode = mode};
  return {.line = without_program(std::move(failed), SweepStatus::kFailed, made.error()), .program = {}};
}

// Writes the program to the folder of --output. Errors: it cannot be written.
Result<void> write_program(const SweepRequest& request, const SweepLine& line, std::span<const std::byte> program) {
  if (request.program_folder.empty() || program.empty()) return {};
  return write_file(request.program_folder + "/" + request.program_prefix + line.program, program);
}

// Returns the line of a combination in the state, and writes its program to the folder of --output. Null: the
// combination is to be compiled. Errors: the program cannot be written.
Result<const SweepLine*> kept_line(const Sweep& sweep, size_t number) {
  const SweepLine* line = sweep.state.find(sweep.names_of(number));
  const bool wants_program = !sweep.request.program_folder.empty();
  if (line == nullptr || !wants_program || line->row.status != SweepStatus::kCompiled) return line;
  if (line->program.empty()) return nullptr;
  const auto program = sweep.state.program_of(*line);
  if (!program) return nullptr;
  CARINA_CHECKED(write_program(sweep.request, *line, program->bytes()));
  return line;
}

// Prepares the model for each scheme that a combination of `numbers` has. The result is by index of the scheme.
std::vector<std::optional<Prepared>> prepared_for(const Sweep& sweep, const std::vector<size_t>& numbers) {
  std::vector<std::optional<Prepared>> models(sweep.axes.schemes.size());
  for (const size_t number : numbers) {
    const size_t scheme = sweep.scheme_of(number);
    if (!models[scheme]) models[scheme] = prepared_with(sweep.request.model, sweep.axes.schemes[scheme]);
  }
  return models;
}

// Errors: the model cannot be prepared with any scheme.
Result<void> check_prepared(const Sweep& sweep, const std::vector<std::optional<Prepared>>& models) {
  if (sweep.request.keep_going) return {};
  if (!std::ranges::all_of(models, [](const auto& one) { return one && !one->model; })) return {};
  return fail(models.front()->model.error());
}

// Errors: the same for a sweep whose lines all come from the state.
Result<void> check_lines(const Sweep& sweep, const std::vector<SweepLine>& lines) {
  if (sweep.request.keep_going || lines.size() != sweep.size()) return {};
  if (!std::ranges::all_of(lines, &SweepLine::unprepared)) return {};
  const Prepared prepared = prepared_with(sweep.request.model, sweep.axes.schemes.front());
  return prepared.model ? Result<void>{} : fail(prepared.model.error());
}

std::vector<size_t> missing_of(const std::vector<std::optional<SweepLine>>& lines, const SweepRequest& request) {
  std::vector<size_t> missing;
  for (size_t number = 0; number < lines.size(); ++number) {
    if (!lines[number] && number % request.parts == request.part) missing.push_back(number);
  }
  return missing;
}

// Compiles `numbers` in parallel. Each result goes to its index in `lines`. Errors: a program or the state cannot be
// written.
Result<void> compile_all(Sweep& sweep, const std::vector<size_t>& numbers,
                         const std::vector<std::optional<Prepared>>& models,
                         std::vector<std::optional<SweepLine>>& lines, const Log& log) {
  std::vector<Result<void>> written(numbers.size());
  std::mutex mutex;
  size_t done = 0;
  ThreadPool pool(sweep.request.model.threads);
  pool.parallel_for(numbers.size(), [&](size_t i) {
    Made made = made_of(sweep, numbers[i], *models[sweep.scheme_of(numbers[i])]);
    written[i] = write_program(sweep.request, made.line, made.program);
    if (written[i]) written[i] = sweep.state.add(made.line, made.program);
    const std::scoped_lock lock(mutex);
    lines[numbers[i]] = std::move(made.line);
    log.progress("sweep", done++, numbers.size());
  });
  for (Result<void>& result : written) CARINA_CHECKED(std::move(result));
  return {};
}

results::SweepReport report_of(const SweepRequest& request, std::vector<SweepLine> lines) {
  results::SweepReport report{.model = request.model.model, .rows = {}};
  for (SweepLine& line : lines) report.rows.push_back(std::move(line.row));
  return report;
}

std::vector<SweepLine> those_of(std::vector<std::optional<SweepLine>> lines) {
  std::vector<SweepLine> all;
  for (std::optional<SweepLine>& line : lines) {
    if (line) all.push_back(*std::move(line));
  }
  return all;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Replaces paths of this machine by the user's names.
SweepLine renamed(SweepLine line, const SweepPart& part) {
  for (const auto& [here, name] : part.names) {
    replace_all(line.row.reason, here, name);
    for (std::string& note : line.row.notes) replace_all(note, here, name);
  }
  return line;
}

Diagnostics renamed(Diagnostics errors, const SweepPart& part) {
  for (Diagnostic& error : errors) {
    for (const auto& [here, name] : part.names) {
      for (std::string* text : {&error.where, &error.what, &error.expected, &error.got, &error.hint})
        replace_all(*text, here, name);
    }
  }
  return errors;
}

// Errors: an index out of range.
Result<std::vector<size_t>> numbers_of(const Sweep& sweep, const SweepPart& part) {
  std::vector<size_t> numbers;
  for (const auto& [first, last] : part.combinations) {
    if (last < first || last >= sweep.size())
      return fail({.where = "--job",
                   .what = "the index of a combination is out of range",
                   .expected = fmt::format("less than {}", sweep.size()),
                   .got = std::to_string(last),
                   .fault = Fault::kUsage});
    for (size_t number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

// The targets of a sweep: the requested ones, or the board's (`with_board` has its settings), or all.
std::vector<std::string> targets_or_board(const SweepRequest& given, const driver::CompileRequest& with_board) {
  if (!given.targets.empty()) return given.targets;
  return {given.model.board.empty() ? "all" : with_board.target.accelerator};
}

// Likewise the memory modes; none: each target's default.
std::vector<std::string> modes_or_board(const SweepRequest& given, const driver::CompileRequest& with_board) {
  if (!given.memory_modes.empty() || given.model.board.empty()) return given.memory_modes;
  return {with_board.target.memory_mode};
}

Result<Sweep> begin(const SweepRequest& given, const Log& log) {
  Sweep sweep{.request = given, .common = {}, .axes = {}, .state = {}};
  CARINA_TRY(sweep.request.model, driver::with_flags(given.model, log));
  sweep.request.model.estimates = given.program_folder.empty();
  CARINA_TRY(sweep.common, targets::read_names(sweep.request.model.target));
  CARINA_TRY(sweep.axes.targets, targets_of(targets_or_board(given, sweep.request.model)));
  CARINA_TRY(sweep.axes.memory_modes, modes_of(modes_or_board(given, sweep.request.model), sweep.common.ini));
  sweep.axes.schemes = given.quantizations;
  if (sweep.axes.schemes.empty()) sweep.axes.schemes.emplace_back();
  if (given.state_folder.empty()) return sweep;
  CARINA_TRY(sweep.state, SweepState::open(given.state_folder, given.state_key));
  return sweep;
}

// Returns the lines of the state. kFinished: without those that failed because of the machine.
enum class Kept : uint8_t { kFinished, kAll };
Result<std::vector<std::optional<SweepLine>>> kept_lines(const Sweep& sweep, Kept which) {
  std::vector<std::optional<SweepLine>> lines(sweep.size());
  for (size_t number = 0; number < lines.size(); ++number) {
    if (number % sweep.request.parts != sweep.request.part) continue;
    CARINA_TRY(const SweepLine* line, kept_line(sweep, number));
    if (line != nullptr && (which == Kept::kAll || !line->machine)) lines[number] = *line;
  }
  return lines;
}

// Errors: combinations are missing. Their lines have another key if a file was changed while they were compiled.
Result<void> check_complete(const SweepRequest& request, size_t missing) {
  if (missing == 0) return {};
  return fail({.where = "--state",
               .what = fmt::format("{} combinations are missing in {}", missing, request.state_folder),
               .hint = "the program, the model or another file was changed during the sweep: start it again",
               .fault = Fault::kEnvironment});
}

void add(std::vector<SweepRange>& ranges, size_t number) {
  if (!ranges.empty() && ranges.back().second + 1 == number)
    ranges.back().second = number;
  else
    ranges.emplace_back(number, number);
}

}  // namespace

Result<SweepAxes> axes_of(const SweepRequest& request, const Log& log) {
  CARINA_TRY(Sweep sweep, begin(request, log));
  CARINA_TRY(const auto lines, kept_lines(sweep, Kept::kFinished));
  for (const size_t number : missing_of(lines, request)) add(sweep.axes.missing, number);
  return std::move(sweep.axes);
}

Result<results::SweepReport> sweep(const SweepRequest& request, const Log& log) {
  CARINA_TRY(Sweep sweep, begin(request, log));
  CARINA_TRY(auto lines, kept_lines(sweep, Kept::kFinished));
  const std::vector<size_t> missing = missing_of(lines, request);
  const std::vector<std::optional<Prepared>> models = prepared_for(sweep, missing);
  CARINA_CHECKED(check_prepared(sweep, models));
  CARINA_CHECKED(compile_all(sweep, missing, models, lines, log));
  std::vector<SweepLine> all = those_of(std::move(lines));
  CARINA_CHECKED(check_lines(sweep, all));
  return report_of(sweep.request, std::move(all));
}

Result<results::SweepReport> kept_sweep(const SweepRequest& request, const Log& log) {
  CARINA_TRY(const Sweep sweep, begin(request, log));
  CARINA_TRY(auto lines, kept_lines(sweep, Kept::kAll));
  CARINA_CHECKED(check_complete(request, missing_of(lines, request).size()));
  std::vector<SweepLine> all = those_of(std::move(lines));
  CARINA_CHECKED(check_lines(sweep, all));
  return report_of(sweep.request, std::move(all));
}

namespace {

Result<void> make_part(const SweepRequest& request, const SweepPart& part, const Log& log) {
  CARINA_TRY(const Sweep sweep, begin(request, log));
  CARINA_TRY(const std::vector<size_t> numbers, numbers_of(sweep, part));
  const std::vector<std::optional<Prepared>> models = prepared_for(sweep, numbers);
  for (const size_t number : numbers) {
    part.started(number);
    const Made made = made_of(sweep, number, *models[sweep.scheme_of(number)]);
    CARINA_CHECKED(write_program(sweep.request, made.line, made.program));
    part.finished(number, renamed(made.line, part));
  }
  return {};
}

}  // namespace

Result<void> sweep_part(const SweepRequest& request, const SweepPart& part, const Log& log) {
  Result<void> made = make_part(request, part, log);
  return made ? made : fail(renamed(std::move(made).error(), part));
}

}  // namespace carina::explore
