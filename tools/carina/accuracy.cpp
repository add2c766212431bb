#include "driver/accuracy.h"
#include "command.h"
#include "report/accuracy_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::AccuracyRequest request;
  app.add_option("model", request.model, "The float .pt2")->required();
  app.add_option("program", request.program, "The .pte made from it")->required();
  app.add_option("--data", request.data, "An .npz with inputs (x, or named as the model's) and labels y")->required();
  app.add_option("--dump", request.dump_folder, "The folder that `carina compile --dump` wrote, for the integer graph");
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      const auto result = driver::accuracy(request, console.log());
      if (!result) return report_errors(result.error());
      return print(console.json ? report::to_json(*result) : report::to_text(*result));
    };
  });
}

}  // namespace

const Command kAccuracy{.name = "accuracy",
                        .summary = "Compare the float model, the integer graph and the NPU on labelled data",
                        .examples = "  carina accuracy model.pt2 model.pte --data labelled.npz --dump build/dump",
                        .add_options = add_options};

}  // namespace carina::cli
