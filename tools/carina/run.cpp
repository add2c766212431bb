#include "driver/run.h"
#include "command.h"
#include "report/run_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::RunRequest request;
  app.add_option("program", request.program, "A .pte")->required();
  app.add_option(
      "-i,--input", request.inputs,
      "An .npy for each input, in order, or a number where the program takes one (3, 0.5, true); default: ones,\n"
      "as ExecuTorch's runner");
  app.add_option(
      "--data", request.data,
      "A .ptd with tensors that stand outside of the program; default: the program's neighbour of that name");
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy");
  app.add_flag("--timed", request.timed, "Also estimate cycles: per layer and in total");
  app.add_option("--system-config", request.system_config,
                 "Clock and memories for --timed; default: what the program was compiled for");
  app.add_option("--memory-mode", request.memory_mode, "What lives in which memory, for --timed");
  app.add_option("--config", request.config_file, "A vela.ini with further system configs and memory modes");
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      const auto result = driver::run(request, console.log());
      if (!result) return report_errors(result.error());
      return print(console.json ? report::to_json(*result) : report::to_text(*result));
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
