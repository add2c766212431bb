#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "inspect/supported_ops.h"

namespace carina::cli {
namespace ops_command {
namespace {

// Keeps the operators whose names contain the text. Errors: there are none.
Result<results::OperatorList> matching(results::OperatorList list, const std::string& text) {
  const std::string wanted = CLI::detail::to_lower(text);
  const auto is_other = [&](const auto& row) {
    return CLI::detail::to_lower(row.name).find(wanted) == std::string::npos;
  };
  std::erase_if(list.aten, is_other);
  std::erase_if(list.tosa, is_other);
  if (!list.aten.empty() || !list.tosa.empty()) return list;
  return fail({.where = "carina ops",
               .what = "no operator has this text in its name",
               .got = text,
               .hint = "`carina ops` lists all; operators that the page lacks are not supported",
               .fault = Fault::kUsage});
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string text;
  app.add_option("text", text, "Only operators whose names contain this: conv1d");
  app.callback(
      [&] { action = [&] { return finish("", shown(matching(inspect::supported_ops(), text), console), console); }; });
}

}  // namespace
}  // namespace ops_command

const Command kOps{.name = "ops",
                   .summary = "List the operators and their support in each part of Carina",
                   .examples = "  carina ops conv1d\n  carina ops > operators.md\n  carina ops --json",
                   .add_options = ops_command::add_options};

}  // namespace carina::cli
