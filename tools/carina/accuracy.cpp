#include "driver/accuracy.h"
#include "command.h"
#include "option_values.h"
#include "report/accuracy_report.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static driver::AccuracyRequest request;
  app.add_option("model", request.model, "The float .pt2")->required()->check(path());
  app.add_option("program", request.program, "The .pte made from it")->required()->check(path());
  app.add_option("--data", request.data,
                 "An .npz with inputs (x, or named as the model's) and labels y; without y, how near the outputs are")
      ->required()
      ->check(path());
  app.add_option("--dump", request.dump_folder, "The folder that `carina compile --dump` wrote, for the integer graph")
      ->check(path());
  app.callback([&] {
    action = [&] {
      request.threads = console.threads;
      return finish(request.program, shown(driver::accuracy(request, console.log()), console), console);
    };
  });
}

}  // namespace

const Command kAccuracy{.name = "accuracy",
                        .summary = "Compare the float model, the integer graph and the NPU on data, labelled or not",
                        .examples = "  carina accuracy model.pt2 model.pte --data labelled.npz --dump build/dump",
                        .add_options = add_options};

}  // namespace carina::cli
