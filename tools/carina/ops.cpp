#include "command.h"
#include "driver/supported_ops.h"

namespace carina::cli {

namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  app.callback([&] { action = [&] { return finish("", driver::supported_ops_markdown(), console); }; });
}

}  // namespace

const Command kOps{.name = "ops",
                   .summary = "List every operator, and what the parts of Carina do with it (docs/SUPPORTED_OPS.md)",
                   .examples = "  carina ops > docs/SUPPORTED_OPS.md",
                   .add_options = add_options};

}  // namespace carina::cli
