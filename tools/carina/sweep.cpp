#include "explore/sweep.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "cluster.h"
#include "command.h"
#include "files/command_files.h"
#include "model_options.h"
#include "option_values.h"
#include "page_option.h"
#include "report/sweep_report.h"
#include "report/tables/layer_table.h"

namespace carina::cli {
namespace sweep_command {
namespace {

struct Options {
  explore::SweepRequest request;
  std::string rows;  // a file with rows of an earlier sweep; empty: compile
  std::string table;
  std::string page;
};

Result<void> check(const Options& options) {
  files::CommandFiles files{.inputs = {options.request.model.model, options.request.model.calibration, options.rows},
                            .outputs = {{"--table", options.table}, {"--report", options.page}},
                            .folders = {{"--output", options.request.program_folder, ".pte"}}};
  files.inputs.insert(files.inputs.end(), options.request.model.target.config_files.begin(),
                      options.request.model.target.config_files.end());
  return files::check_files(files);
}

Result<results::SweepReport> rows_of(const Options& options, const Console& console) {
  if (options.rows.empty()) return explore::sweep(options.request, console.log());
  CARINA_TRY(const Buffer text, map_file(options.rows));
  return report::read_sweep({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}, options.rows);
}

std::string table_of(const results::SweepReport& report, report::TableForm form) {
  switch (form) {
    case report::TableForm::kCsv:
      return report::to_csv(report);
    case report::TableForm::kJson:
      return report::to_json(report);
    case report::TableForm::kText:
      break;
  }
  return report::to_text(report);
}

// Prints the notes of all compilations, without repetitions.
void show_notes(const results::SweepReport& report, const Console& console) {
  std::set<std::string> known;
  for (const results::SweepRow& row : report.rows) {
    for (const std::string& note : row.notes) {
      if (known.insert(note).second) console.log().note({.where = "sweep", .what = note, .severity = Severity::kNote});
    }
  }
}

Result<std::string> sweep(const Options& options, const Console& console) {
  CARINA_CHECKED(check(options));
  CARINA_TRY(const results::SweepReport report, rows_of(options, console));
  show_notes(report, console);
  if (!options.table.empty())
    CARINA_CHECKED(write_file(options.table, table_of(report, report::form_of(options.table))));
  CARINA_CHECKED(write_page(options.page, report));
  return console.json ? report::to_json(report) : report::to_text(report);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static Options options;
  explore::SweepRequest& request = options.request;
  request.targets = {"all"};
  app.add_option("-m,--model_name,model", request.model.model, "A .pt2 of torch.export.save, or a .tosa")
      ->check(path());
  app.add_option("-t,--targets,--target", request.targets,
                 "NPUs, or beginnings of their names, separated by commas: ethos-u55,ethos-u85-256. Default: all")
      ->delimiter(',');
  app.add_option("--memory-modes,--memory-mode", request.memory_modes,
                 "Memory modes, or all. Modes that a target does not support are listed as refused. Default: the "
                 "default mode of each target")
      ->delimiter(',');
  app.add_option("-q,--quantize", request.quantizations,
                 "Schemes, as of `carina compile`: int8,int16x8,int8x4,none; default: as the model is, int8 when "
                 "--calibrate is given")
      ->delimiter(',')
      ->transform(spec(models::scheme_error, "SCHEME"))
      ->transform(lower_case());
  app.add_option("--calibrate,--calibration_data", request.model.calibration,
                 "Calibration samples: an .npz, an .npy, or a folder of such files")
      ->check(path());
  app.add_option("--system-config", request.model.target.system_config,
                 "Clock and memories of all targets; default: each family's");
  app.add_option(
         "--config", request.model.target.config_files,
         "A vela.ini with more system configurations and memory modes (may be repeated; a later file has priority)")
      ->allow_extra_args(false)
      ->check(path());
  add_options_of(app, {OptionGroup::kPartition, OptionGroup::kSchedule}, request.model);
  app.add_option("--table,--csv", options.table, "Write the table to this file: .csv, .json or text")->check(path());
  add_page_option(app, options.page);
  app.add_option("-o,--output", request.program_folder, "Write each program to this folder")->check(path());
  app.add_option("--rows", options.rows, "Show the rows of this file (of --json) instead of compiling")->check(path());
  static std::string scheduler;
  app.add_option("--scheduler", scheduler,
                 "Address of a Dask cluster: tcp://HOST:PORT. Needs Python with carina[sweep], and the same version of "
                 "`carina` on the workers");
  app.add_option("--part", request.part, "Index of the part to compile, from 0 (with --parts)");
  app.add_option("--parts", request.parts, "Number of parts: compile only every N-th combination")
      ->check(CLI::Range(1, 1 << 20));
  app.callback([&] {
    action = [&] {
      if (!scheduler.empty()) return report_failure("", become_cluster_sweep(console.arguments), console);
      if (options.rows.empty() == request.model.model.empty())
        return report_failure("",
                              {{.where = "carina sweep",
                                .what = "give either a model or --rows FILE",
                                .expected = "a model, or --rows FILE",
                                .fault = Fault::kUsage}},
                              console);
      const bool asked = app.get_option("--threads")->count() > 0;
      request.model.threads =
          asked ? console.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
      return finish(request.model.model, sweep(options, console), console);
    };
  });
}

}  // namespace
}  // namespace sweep_command

const Command kSweep{.name = "sweep",
                     .summary = "Compile a model for many NPUs, memory modes and quantizations, and compare",
                     .examples =
                         "  carina sweep model.pt2 --targets all --memory-modes all --calibrate inputs.npz\n"
                         "  carina sweep model.pt2 --targets ethos-u55 --quantize int8,int16x8 --calibrate inputs.npz "
                         "--table sweep.csv",
                     .add_options = sweep_command::add_options};

}  // namespace carina::cli
