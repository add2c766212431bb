#include "explore/sweep.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/io/file.h"
#include "cluster.h"
#include "command.h"
#include "files/command_files.h"
#include "page_option.h"
#include "report/sweep_report.h"
#include "sweep_options.h"
#include "sweep_sharing.h"

namespace carina::cli {
namespace sweep_command {
namespace {

Result<void> check_program_folder(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return fail({.where = "--output",
               .what = fmt::format("the folder {} is missing", folder),
               .hint = "make it first",
               .fault = Fault::kEnvironment});
}

// Programs are named by the models' names.
Result<void> check_models(const std::vector<std::string>& models) {
  std::set<std::string> names;
  for (const std::string& model : models) {
    if (names.insert(std::filesystem::path(model).stem().string()).second) continue;
    return fail({.where = model,
                 .what = "another model of this sweep has the same name",
                 .hint = "give each model a name of its own",
                 .fault = Fault::kUsage});
  }
  return {};
}

Result<void> check(const SweepOptions& options) {
  files::CommandFiles files{
      .inputs = {options.request.model.calibration, options.rows, options.tls_ca, options.tls_cert, options.tls_key},
      .outputs = {{"--table", options.table},
                  {"--report", options.page},
                  {"--performance-report", options.performance},
                  {"--progress", options.progress == "-" ? "" : options.progress}},
      .folders = {{"--output", options.request.program_folder, ".pte"}}};
  files.inputs.insert(files.inputs.end(), options.models.begin(), options.models.end());
  files.inputs.insert(files.inputs.end(), options.request.model.target.config_files.begin(),
                      options.request.model.target.config_files.end());
  CARINA_CHECKED(files::check_files(files));
  CARINA_CHECKED(check_program_folder(options.request.program_folder));
  CARINA_CHECKED(check_models(options.models));
  if (options.rows.empty() != options.models.empty()) return {};
  return fail({.where = "carina sweep",
               .what = "what to sweep is missing, or said twice",
               .expected = "a model, or --rows FILE",
               .fault = Fault::kUsage});
}

Result<results::SweepReport> rows_of(const CLI::App& app, const SweepOptions& options, const Console& console) {
  if (!options.rows.empty()) {
    CARINA_TRY(const Buffer text, map_file(options.rows));
    return report::read_sweep({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}, options.rows);
  }
  std::vector<results::SweepReport> reports;
  for (const std::string& model : options.models) {
    CARINA_TRY(explore::SweepRequest request, request_of(app, options, model));
    request.model.threads = app.get_option("--threads")->count() > 0
                                ? console.threads
                                : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    CARINA_TRY(results::SweepReport report, options.only_kept ? explore::kept_sweep(request, console.log())
                                                              : explore::sweep(request, console.log()));
    reports.push_back(std::move(report));
  }
  return reports.size() == 1 ? std::move(reports.front()) : report::joined(std::move(reports));
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

// What was said while combinations were compiled, once each.
void show_notes(const results::SweepReport& report, const Console& console) {
  std::set<std::string> known;
  for (const results::SweepRow& row : report.rows) {
    for (const std::string& note : row.notes) {
      if (known.insert(note).second) console.log().note({.where = "sweep", .what = note, .severity = Severity::kNote});
    }
  }
}

Result<std::string> shown(const results::SweepReport& report, const SweepOptions& options, const Console& console) {
  show_notes(report, console);
  if (!options.table.empty())
    CARINA_CHECKED(write_file(options.table, table_of(report, report::form_of(options.table))));
  CARINA_CHECKED(write_page(options.page, report));
  return console.json ? report::to_json(report) : report::to_text(report);
}

// After the rows have been shown: 1 when there is no program, or one is missing that was to be there.
int exit_code(const results::SweepReport& report, const SweepOptions& options) {
  const auto is = [](results::SweepStatus status) {
    return [status](const results::SweepRow& row) { return row.status == status; };
  };
  if (std::ranges::none_of(report.rows, is(results::SweepStatus::kCompiled))) return 1;
  return options.strict && std::ranges::any_of(report.rows, is(results::SweepStatus::kFailed)) ? 1 : 0;
}

int sweep(const CLI::App& app, const SweepOptions& options, const Console& console) {
  const std::string file = options.models.empty() ? options.rows : options.models.front();
  if (const Result<void> checked = check(options); !checked) return report_failure(file, checked.error(), console);
  const Result<results::SweepReport> report = rows_of(app, options, console);
  if (!report) return report_failure(file, report.error(), console);
  const int code = finish(file, shown(*report, options, console), console);
  return code != 0 ? code : exit_code(*report, options);
}

// What can be wrong with the options is said before Python and the cluster are asked.
int sweep_on_cluster(const CLI::App& app, const SweepOptions& options, const Console& console) {
  const std::string file = options.models.empty() ? "" : options.models.front();
  if (const Result<void> checked = check(options); !checked) return report_failure(file, checked.error(), console);
  if (const auto described = describe_sweep(app, options); !described)
    return report_failure(file, described.error(), console);
  return report_failure("", become_cluster_program(console.arguments), console);
}

int run(const CLI::App& app, const SweepOptions& options, const Console& console) {
  if (options.identity) return finish("", identity_json(), console);
  if (!options.job.empty()) return make_part(options);
  if (options.describe) return finish("", describe_sweep(app, options), console);
  return options.scheduler.empty() || options.only_kept ? sweep(app, options, console)
                                                        : sweep_on_cluster(app, options, console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static SweepOptions options;
  add_sweep_options(app, options);
  app.callback([&] { action = [&] { return run(app, options, console); }; });
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
