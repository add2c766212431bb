#include "usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/nearest.h"

namespace carina::cli {

namespace {

using Names = std::vector<std::string>;

Names command_names(const CLI::App& app) {
  Names names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

Names option_names(const CLI::App& command) {
  Names names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The command that was given last: "carina npu run"; `app` itself when there is none.
const CLI::App& innermost(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : innermost(*given.back());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

bool takes_inputs(const CLI::App& command) {
  return command.get_option_no_throw("--input") != nullptr;
}

// What is given before a command belongs after it.
std::optional<Diagnostic> before_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || (arguments.front() != "--json" && arguments.front() != "--threads")) return std::nullopt;
  return Diagnostic{.where = app.get_name(),
                    .what = fmt::format("{} stands before the command", arguments.front()),
                    .hint = fmt::format("options follow the command: carina COMMAND {}", arguments.front())};
}

Diagnostic unknown(const CLI::App& command, const std::string& typed) {
  if (typed.starts_with("-")) {
    const std::string nearest = nearest_hint(typed, option_names(command));
    return {.where = full_name(command),
            .what = fmt::format("unknown option {}", typed),
            .hint = fmt::format("{}{}`{} --help` lists the options", nearest, nearest.empty() ? "" : " ",
                                full_name(command))};
  }
  const Names commands = command_names(command);
  if (commands.empty())
    return {.where = full_name(command),
            .what = fmt::format("one argument too many: {}", typed),
            .hint = takes_inputs(command) ? "the program comes first: `carina run PROGRAM -i A B`, or one -i for each"
                                          : ""};
  return {.where = full_name(command),
          .what = fmt::format("unknown command {}", typed),
          .expected = fmt::format("{}", fmt::join(commands, ", ")),
          .hint = nearest_hint(typed, commands)};
}

Diagnostic first_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const Names rest = command.remaining();
  const auto is_option = [](const std::string& word) { return word.starts_with("-"); };
  if (!command_names(command).empty()) {  // its options are those of the command that is not known
    const auto word = std::ranges::find_if_not(rest, is_option);
    if (word != rest.end()) return unknown(command, *word);
  }
  const auto option =
      std::ranges::find_if(rest, [&](const std::string& word) { return is_option(word) && word != "--json"; });
  if (option != rest.end()) return unknown(command, *option);
  if (!rest.empty() && rest.front() != "--json") return unknown(command, rest.front());
  if (!command_names(command).empty())
    return {.where = full_name(command),
            .what = "a command is missing",
            .expected = fmt::format("{}", fmt::join(command_names(command), ", "))};
  if (const CLI::Option* model = command.get_option_no_throw("--model_name"); model != nullptr && model->empty())
    return {.where = full_name(command),
            .what = "the model is missing",
            .expected = "a .pt2 of torch.export.save, a .tosa or a .tflite",
            .hint = fmt::format("{} MODEL ...", full_name(command))};
  return {.where = full_name(command),
          .what = error.what(),
          .hint = fmt::format("`{} --help` lists the options", full_name(command))};
}

}  // namespace

Diagnostics usage_errors(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments) {
  Diagnostic first = before_command(app, arguments).value_or(first_error(app, error));
  first.fault = Fault::kUsage;
  return {std::move(first)};
}

}  // namespace carina::cli
