#include "execute/npu.h"

#include <algorithm>
#include <iterator>

#include "command.h"
#include "files/command_files.h"
#include "model_options.h"
#include "option_values.h"
#include "report/render.h"
#include "run_options.h"

// `carina npu`: runs a Vela or Carina command stream on the simulator.
namespace carina::cli {
namespace npu_command {
namespace {

Result<results::RunReport> checked_run(const execute::NpuRunRequest& request, const std::string& layers,
                                       const Console& console) {
  files::CommandFiles files{.inputs = request.inputs,
                            .outputs = {{"--trace", request.trace_file}, {"--per-layer", layers}},
                            .folders = {{"--output", request.output_folder, "output_"}}};
  files.inputs.push_back(request.stream);
  std::ranges::copy(request.config_files, std::back_inserter(files.inputs));
  CARINA_CHECKED(files::check_files(files));
  CARINA_TRY(execute::StreamOutcome done, execute::run_stream(request, console.log()));
  return std::move(done.report);
}

int run(const execute::NpuRunRequest& request, const std::string& layers, report::LayerRows rows,
        const Console& console) {
  auto report = checked_run(request, layers, console);
  if (report) {
    auto written = write_layers(layers, report->npu, rows);
    if (!written) report = std::unexpected(std::move(written).error());
  }
  const int printed = finish(request.stream, shown_run(report, rows, console), console);
  const bool found = report && report->findings && !report->findings->empty();
  return found ? 1 : printed;
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static execute::NpuRunRequest request;
  app.require_subcommand(1);
  CLI::App& sub = *app.add_subcommand("run", "Run a command stream on the simulated NPU");
  sub.add_option("stream", request.stream, "Vela's raw .npz, or one that `carina compile --dump` wrote")
      ->required()
      ->transform(input_path());
  sub.add_option("-i,--input", request.inputs, "An .npy for each network input, in order; default: zeros")
      ->allow_extra_args(false)
      ->transform(input_path());
  sub.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy")->check(path());
  sub.add_flag("--timed", request.timed, "Also estimate cycles");
  static auto rows = report::LayerRows::kFolded;
  add_all_option(sub, rows);
  static std::string layers;
  add_layers_option(sub, layers);
  sub.add_flag(
      "--check", request.check,
      "Check for hazards, reads of memory that was never written, and layout conflicts. Exit code 1 if there is one");
  sub.add_flag("--poison", request.poison,
               "Fill unused memory with garbage before the run. Correct streams give the same results");
  sub.add_option("--trace", request.trace_file, "Write a trace for Perfetto; implies --timed")->check(path());
  sub.add_option(
         "--memory-budget", request.memory_budget_bytes,
         "Maximum memory, in bytes or with K, M, G. A file that needs more is rejected before anything is allocated")
      ->default_str("4G")
      ->transform(byte_size())
      ->check(CLI::PositiveNumber);
  add_memory_options(sub, request.system_config, request.memory_mode, request.config_files);
  sub.add_flag("--json", console.json, "Print the result as JSON");
  sub.add_option("--threads", console.threads, "Worker threads; results do not depend on it")
      ->check(CLI::Range(1, 256));
  sub.callback([&] {
    action = [&] {
      request.threads = console.threads;
      request.timed = request.timed || !layers.empty();
      return run(request, layers, rows, console);
    };
  });
}

}  // namespace
}  // namespace npu_command

const Command kNpu{.name = "npu",
                   .summary = "Run command streams, ours or Vela's, on the simulated NPU",
                   .examples = "  carina npu run out_vela.npz -i input.npy -o outputs --timed --check",
                   .add_options = npu_command::add_options};

}  // namespace carina::cli
