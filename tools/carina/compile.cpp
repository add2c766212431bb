#include "driver/compile.h"

#include <algorithm>
#include <iterator>

#include "base/output_file.h"
#include "command.h"
#include "driver/command_files.h"
#include "model_options.h"
#include "report/compile_report.h"
#include "warnings.h"

namespace carina::cli {

namespace {

// The program is in its place when the report has been printed: a run that fails, also at that, writes nothing.
Result<void> compile(const driver::CompileRequest& request, const std::string& output, const Console& console) {
  std::vector<std::string> inputs{request.model, request.calibration};
  std::ranges::copy(request.target.config_files, std::back_inserter(inputs));
  CARINA_CHECKED(driver::check_files({.inputs = std::move(inputs),
                                      .outputs = {{"--output", output}},
                                      .folders = {{"--dump", request.dump_folder, "output_tag"}}}));
  CARINA_TRY(driver::Compiled compiled, driver::compile(request, console.log()));
  CARINA_TRY(OutputFile file, OutputFile::prepare(output, compiled.program));
  compiled.report.output = output;
  warn_of(request, compiled.report, console);
  CARINA_CHECKED(print(console.json ? report::to_json(compiled.report)
                                    : report::to_text(compiled.report, report::Detail::kSummary)));
  return file.commit();
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  static std::string output;
  static bool no_delegate = false;
  add_model_options(app, request);
  add_pass_options(app, request);
  add_target_options(app, request.target);
  app.add_flag("--no-delegate", no_delegate, "Keep everything on the CPU");
  static bool delegate = true;
  app.add_flag("-d,--delegate", delegate, "Put what can run there on the NPU: the default");
  app.add_option("--cpu-node", request.cpu_nodes, "Keep the node of this name on the CPU (may be repeated)")
      ->allow_extra_args(false);
  add_schedule_options(app, request);
  app.add_option("-i,--dump,--intermediates", request.dump_folder,
                 "Write each delegate's TOSA file and command stream to this folder")
      ->check(path());
  app.add_option("-o,--output", output, "The .pte to write")->required()->check(path());
  app.callback([&] {
    action = [&] {
      if (no_delegate) request.delegates = driver::DelegateMode::kNothing;
      request.threads = console.threads;
      const Result<void> done = compile(request, output, console);
      return done ? 0 : report_failure(request.model, done.error(), console);
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
