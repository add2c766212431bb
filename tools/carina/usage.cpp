#include "usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace carina::cli {

namespace {

using Names = std::vector<std::string>;

// How many letters must be put in, taken out or changed to make one word of the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, changed}));
    }
  }
  return row.back();
}

// "did you mean --target?", or nothing when no name is near.
std::string guess(const std::string& typed, const Names& names) {
  const auto nearest =
      std::ranges::min_element(names, {}, [&](const std::string& name) { return distance(typed, name); });
  if (nearest == names.end() || distance(typed, *nearest) > 2) return {};
  return fmt::format("did you mean {}? ", *nearest);
}

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

Diagnostic unknown(const CLI::App& command, const std::string& typed) {
  if (typed.starts_with("-"))
    return {.where = full_name(command),
            .what = fmt::format("unknown option {}", typed),
            .hint = fmt::format("{}`{} --help` lists the options", guess(typed, option_names(command)),
                                full_name(command))};
  const Names commands = command_names(command);
  if (commands.empty()) return {.where = full_name(command), .what = fmt::format("one argument too many: {}", typed)};
  return {.where = full_name(command),
          .what = fmt::format("unknown command {}", typed),
          .expected = fmt::format("{}", fmt::join(commands, ", ")),
          .hint = guess(typed, commands)};
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
  return {.where = full_name(command),
          .what = error.what(),
          .hint = fmt::format("`{} --help` lists the options", full_name(command))};
}

}  // namespace

Diagnostics usage_errors(const CLI::App& app, const CLI::ParseError& error) {
  Diagnostic first = first_error(app, error);
  first.fault = Fault::kUsage;
  return {std::move(first)};
}

}  // namespace carina::cli
