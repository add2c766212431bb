#include "command.h"
#include "inspect/supported_ops.h"

namespace carina::cli {
namespace ops_command {
namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  app.callback([&] {
    action = [&] {
      return finish("", shown(Result<results::OperatorList>(inspect::supported_ops()), console), console);
    };
  });
}

}  // namespace
}  // namespace ops_command

const Command kOps{.name = "ops",
                   .summary = "List the operators and their support in each part of Carina (docs/SUPPORTED_OPS.md)",
                   .examples = "  carina ops > docs/SUPPORTED_OPS.md\n  carina ops --json",
                   .add_options = ops_command::add_options};

}  // namespace carina::cli
