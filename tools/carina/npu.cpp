#include "driver/npu.h"
#include "command.h"
#include "report/run_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::NpuRunRequest request;
  app.require_subcommand(1);
  CLI::App& run = *app.add_subcommand("run", "Run a command stream on the simulated NPU");
  run.add_option("stream", request.stream, "Vela's raw .npz, or one that `carina compile --dump` wrote")->required();
  run.add_option("-i,--input", request.inputs, "An .npy for each network input, in order; default: zeros");
  run.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy");
  run.add_flag("--timed", request.timed, "Also estimate cycles");
  run.add_flag("--check", request.check,
               "Look for hazards, reads of memory never written and layout conflicts; exit code 1 if there are");
  run.add_flag("--poison", request.poison,
               "Start with garbage in all memory that holds nothing: results must not change");
  run.add_option("--trace", request.trace_file, "Write a trace for Perfetto; implies --timed");
  run.add_option("--system-config", request.system_config, "Clock and memories; default: the family's");
  run.add_option("--memory-mode", request.memory_mode, "What lives in which memory; default: the family's");
  run.add_option("--config", request.config_file, "A vela.ini with further system configs and memory modes");
  run.add_flag("--json", console.json, "Print the result as JSON");
  run.add_option("--threads", console.threads, "Worker threads; results do not depend on it")
      ->check(CLI::Range(1, 256));
  run.callback([&] {
    action = [&] {
      request.threads = console.threads;
      const auto result = driver::run_stream(request);
      if (!result) return report_failure(request.stream, result.error(), console);
      const int printed = print(console.json ? report::to_json(*result) : report::to_text(*result));
      return result->findings && !result->findings->empty() ? 1 : printed;
    };
  });
}

}  // namespace

const Command kNpu{.name = "npu",
                   .summary = "Run command streams, ours or Vela's, on the simulated NPU",
                   .examples = "  carina npu run out_vela.npz -i input.npy -o outputs --timed --check",
                   .add_options = add_options};

}  // namespace carina::cli
