#include "driver/interpret.h"
#include "command.h"
#include "report/run_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::InterpretRequest request;
  app.add_option("model", request.model, "A .tosa or .vgf file")->required();
  app.add_option("-i,--input", request.inputs, "An .npy for each input, in order; default: zeros");
  app.add_option("-o,--output", request.output_folder, "Write each output n to DIR/output_<n>.npy");
  app.add_option("--dump", request.dump_folder, "Write every intermediate value to this folder");
  app.add_flag("--profile", request.profile, "Time per operator, of a second run");
  app.add_option("--level", request.level, "Limits on sizes that the verifier keeps to: 8K or none")
      ->capture_default_str();
  app.add_option("--memory-budget", request.memory_budget,
                 "Refuse a graph that needs more, in bytes or with K, M, G; nothing is allocated before")
      ->capture_default_str();
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      const auto result = driver::interpret(request, console.log());
      if (!result) return report_failure(request.model, result.error(), console);
      return print(console.json ? report::to_json(*result) : report::to_text(*result));
    };
  });
}

}  // namespace

const Command kInterpret{.name = "interpret",
                         .summary = "Evaluate a TOSA file, integers exactly as the specification says",
                         .examples = "  carina interpret model.tosa -i input.npy -o outputs",
                         .add_options = add_options};

}  // namespace carina::cli
