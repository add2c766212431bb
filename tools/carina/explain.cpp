#include "command.h"
#include "driver/compile.h"
#include "model_options.h"
#include "report/compile_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::CompileRequest request;
  add_model_options(app, request);
  add_target_options(app, request.target);
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      const auto compiled = driver::compile(request, console.log());
      if (!compiled) return report_errors(compiled.error());
      return print(console.json ? report::to_json(compiled->report)
                                : report::to_text(compiled->report, report::Detail::kNodes));
    };
  });
}

}  // namespace

const Command kExplain{.name = "explain",
                       .summary = "Say for each node of a model where it runs, why, and what it costs",
                       .examples = "  carina explain model.pt2 --target ethos-u55-128 --calibrate inputs.npz",
                       .add_options = add_options};

}  // namespace carina::cli
