#include "driver/compile.h"
#include "base/file.h"
#include "command.h"
#include "model_options.h"
#include "report/compile_report.h"

namespace carina::cli {

namespace {

int compile(driver::CompileRequest request, const std::string& output, const Console& console) {
  request.threads = console.threads;
  auto compiled = driver::compile(request, console.log());
  if (!compiled) return report_errors(compiled.error());
  if (const auto written = write_file(output, compiled->program); !written) return report_errors(written.error());
  compiled->report.output = output;
  return print(console.json ? report::to_json(compiled->report)
                            : report::to_text(compiled->report, report::Detail::kSummary));
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  static std::string output;
  static bool no_delegate = false;
  add_model_options(app, request);
  add_pass_options(app, request);
  add_target_options(app, request.target);
  app.add_flag("--no-delegate", no_delegate, "Keep everything on the CPU");
  app.add_option("--cpu-node", request.cpu_nodes, "Keep the node of this name on the CPU (may be repeated)");
  app.add_option("--sram-budget", request.sram_budget_bytes,
                 "Bytes that a delegate's arena may take; more is an error that names the tensors")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--dump", request.dump_folder, "Write each delegate's TOSA file and command stream to this folder");
  app.add_option("-o,--output", output, "The .pte to write")->required();
  app.callback([&] {
    action = [&] {
      if (no_delegate) request.delegates = driver::DelegateMode::kNothing;
      return compile(request, output, console);
    };
  });
}

}  // namespace

const Command kCompile{
    .name = "compile",
    .summary = "Compile a model for an Ethos-U NPU to an ExecuTorch program",
    .examples =
        "  carina compile model.pt2 --target ethos-u55-128 --quantize int8 --calibrate inputs.npz -o model.pte\n"
        "  carina compile model.tosa --target ethos-u55-256 --memory-mode Sram_Only -o model.pte",
    .add_options = add_options};

}  // namespace carina::cli
