#include "explore/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/io/file.h"
#include "cluster.h"
#include "command.h"
#include "files/command_files.h"
#include "report/render.h"
#include "sweep_models.h"
#include "sweep_options.h"
#include "sweep_outputs.h"
#include "sweep_sharing.h"

// `carina sweep`: compiles every combination of models, schemes, targets and memory modes, here or on a cluster.
namespace carina::cli {
namespace sweep_command {
namespace {

// Exit code of --only-kept when an output cannot be written. python/carina/cluster/command.py then keeps the rows.
constexpr int kNotReported = 74;

Result<void> make_program_folder(const std::string& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  std::filesystem::create_directories(folder, error);
  if (!error) return {};
  return fail({.where = "--output",
               .what = fmt::format("cannot create the folder {}: {}", folder, error.message()),
               .fault = Fault::kEnvironment});
}

// Returns the input files of all models, and the output files.
files::CommandFiles files_of(const SweepOptions& options, const std::vector<ModelSweep>& models) {
  files::CommandFiles files{
      .inputs = {options.rows, options.list, options.cluster.tls_ca, options.cluster.tls_cert, options.cluster.tls_key},
      .outputs = {{"--table", options.table},
                  {"--report", options.page},
                  {"--performance-report", options.cluster.performance},
                  {"--progress", options.cluster.progress == "-" ? "" : options.cluster.progress}},
      .folders = {{"--output", options.request.program_folder, ".pte"}}};
  for (const ModelSweep& model : models) {
    const driver::CompileRequest& request = model.request.model;
    files.inputs.insert(files.inputs.end(), {request.model, request.calibration, model.request.data});
    files.inputs.insert(files.inputs.end(), request.target.config_files.begin(), request.target.config_files.end());
    if (models.size() > 1 && !options.page.empty())
      files.outputs.push_back({"--report", page_of_model(options.page, model.name)});
  }
  return files;
}

Result<void> check(const SweepOptions& options, const std::vector<ModelSweep>& models) {
  CARINA_CHECKED(files::check_files(files_of(options, models)));
  if (options.rows.empty() != models.empty()) return make_program_folder(options.request.program_folder);
  return fail({.where = "carina sweep",
               .what = "give either a model or --rows FILE",
               .expected = "a model, --models FILE, or --rows FILE",
               .fault = Fault::kUsage});
}

Result<results::SweepReport> report_of(ModelSweep model, const CLI::App& app, const SweepOptions& options,
                                       const Console& console) {
  CARINA_TRY(explore::SweepRequest request, with_state_key(std::move(model)));
  request.model.threads = app.get_option("--threads")->count() > 0
                              ? console.threads
                              : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options.cluster.only_kept ? explore::kept_sweep(request, console.log())
                                   : explore::sweep(request, console.log());
}

Result<results::SweepReport> read_rows(const std::string& file) {
  CARINA_TRY(const Buffer text, map_file(file));
  return report::read_sweep({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()}, file);
}

// Adds one model after the other, so that only the layers of one model are in memory.
Result<void> add_all(std::vector<ModelSweep> models, const CLI::App& app, const SweepOptions& options,
                     const Console& console, SweepOutputs& outputs) {
  if (!options.rows.empty()) {
    CARINA_TRY(results::SweepReport report, read_rows(options.rows));
    return outputs.add(std::move(report));
  }
  for (ModelSweep& model : models) {
    const std::string name = model.name;
    CARINA_TRY(results::SweepReport report, report_of(std::move(model), app, options, console));
    report.model = name;
    CARINA_CHECKED(outputs.add(std::move(report)));
  }
  return {};
}

// Returns 1 if no combination compiled, and with --strict also if one failed.
int exit_code(const results::SweepReport& report, const SweepOptions& options) {
  const auto is = [](results::SweepStatus status) {
    return [status](const results::SweepRow& row) { return row.status == status; };
  };
  if (std::ranges::none_of(report.rows, is(results::SweepStatus::kCompiled))) return 1;
  return options.strict && std::ranges::any_of(report.rows, is(results::SweepStatus::kFailed)) ? 1 : 0;
}

int sweep(const CLI::App& app, const SweepOptions& options, std::vector<ModelSweep> models, const Console& console) {
  const std::string file = models.empty() ? options.rows : models.front().name;
  SweepOutputs outputs(options, console,
                       models.size() > 1 ? SweepOutputs::Models::kSeveral : SweepOutputs::Models::kOne);
  Result<void> done = add_all(std::move(models), app, options, console, outputs);
  if (done) done = outputs.finish();
  if (done) return exit_code(outputs.rows(), options);
  const int failure = report_failure(file, done.error(), console);
  return options.cluster.only_kept ? kNotReported : failure;
}

// Checks the options before Python starts and connects to the cluster.
int sweep_on_cluster(const CLI::App& app, const std::vector<ModelSweep>& models, const Console& console) {
  const std::string file = models.empty() ? "" : models.front().name;
  if (const auto described = describe_sweep(app, models); !described)
    return report_failure(file, described.error(), console);
  return report_failure("", run_as_cluster_program(console.arguments), console);
}

int run(const CLI::App& app, const SweepOptions& options, const Console& console) {
  if (options.cluster.identity) return finish("", identity_json(), console);
  if (!options.cluster.job.empty()) return make_part(options);
  const std::string file = options.models.empty() ? options.rows + options.list : options.models.front();
  Result<std::vector<ModelSweep>> models = models_of(app, options);
  if (!models) return report_failure(file, models.error(), console);
  if (const Result<void> checked = check(options, *models); !checked)
    return report_failure(file, checked.error(), console);
  if (options.cluster.describe) return finish("", describe_sweep(app, *models), console);
  return options.cluster.scheduler.empty() || options.cluster.only_kept
             ? sweep(app, options, *std::move(models), console)
             : sweep_on_cluster(app, *models, console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static SweepOptions options;
  add_sweep_options(app, options);
  app.get_option("--threads")->default_str("all cores");
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
