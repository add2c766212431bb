#include "driver/run.h"

#include <algorithm>
#include <iterator>

#include "command.h"
#include "driver/command_files.h"
#include "model_options.h"
#include "option_values.h"
#include "report/run_report.h"
#include "run_options.h"

namespace carina::cli {

namespace {

Result<std::string> run(const driver::RunRequest& request, report::LayerRows rows, const Console& console) {
  driver::CommandFiles files{
      .inputs = request.inputs, .outputs = {}, .folders = {{"--output", request.output_folder, "output_"}}};
  files.inputs.push_back(request.program);
  std::ranges::copy(request.config_files, std::back_inserter(files.inputs));
  files.inputs.insert(files.inputs.end(), request.data.begin(), request.data.end());
  CARINA_CHECKED(driver::check_files(files));
  return shown_run(driver::run(request, console.log()), rows, console);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::RunRequest request;
  app.add_option("program", request.program, "A .pte")->required()->check(path());
  app.add_option("-i,--input", request.inputs,
                 "An .npy for each input, in order, or NAME=FILE, or one .npz for all, or a number where the program "
                 "takes one\n"
                 "(3, 0.5, true); default: ones, as ExecuTorch's runner")
      ->allow_extra_args(false)
      ->check(path());
  app.add_option("--data", request.data,
                 "A .ptd with tensors that stand outside of the program; default: the program's neighbour of that name")
      ->check(path());
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy")->check(path());
  app.add_flag("--timed", request.timed, "Also estimate cycles: per layer and in total");
  static auto rows = report::LayerRows::kFolded;
  add_all_option(app, rows);
  add_memory_options(app, request.system_config, request.memory_mode, request.config_files);
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      return finish(request.program, run(request, rows, console), console);
    };
  });
}

}  // namespace

const Command kRun{.name = "run",
                   .summary = "Run an ExecuTorch program: kernels on the CPU, delegates on the simulated NPU",
                   .examples =
                       "  carina run model.pte -i input.npy -o outputs\n"
                       "  carina run model.pte --timed",
                   .add_options = add_options};

}  // namespace carina::cli
