// `carina completion SHELL`: a script that lets a shell complete commands, options and file names. It is made of the
// command line itself, so each option is in it, with its values if they are few.

#include <algorithm>
#include <functional>
#include <iterator>

#include "command.h"
#include "command_tree.h"
#include "targets/board_list.h"
#include "targets/target_list.h"

namespace carina::cli {
namespace completion_command {
namespace {

// The options of a Python script (`carina aot`) are those in its help, which the shell asks for when they are needed.
std::string names_in_help(const CLI::App& command) {
  return fmt::format(
      "$(carina {} --help 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z0-9_-]*' | tr -d ' ,' | sort -u)",
      command.get_name());
}

std::string names_of_options(const CLI::App& command) {
  if (command.get_prefix_command()) return names_in_help(command);
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    std::ranges::move(names_of(*option), std::back_inserter(names));
  return fmt::format("{}", fmt::join(names, " "));
}

// The names that the rows of a table have.
template <typename Rows>
std::string names_in(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names += (names.empty() ? "" : " ") + row.name;
  return names;
}

// The values that an option takes, separated by blanks; empty: any. CLI11 shows those of a choice as "TEXT:{a,b}".
std::string values_of(const CLI::Option& option, const results::TargetList& known) {
  const auto is = [&](std::string_view name) { return std::ranges::count(names_of(option), name) > 0; };
  if (is("--target") || is("--targets")) return names_in(known.targets) + (is("--targets") ? " all" : " vgf");
  if (is("--memory-mode")) return names_in(known.modes) + (is("--memory-modes") ? " all" : "");
  if (is("--system-config")) return names_in(known.systems);
  if (is("--board")) return names_in(targets::list_boards().boards);
  if (is("--quantize")) return "int8 int16x8 int16x16 int8x4 auto none";
  if (is("--io")) return "float int8 uint8 int16";
  const std::string type = option.get_type_name();
  const size_t first = type.find('{'), last = type.find('}');
  if (first == std::string::npos || last == std::string::npos) return {};
  std::string values = type.substr(first + 1, last - first - 1);
  std::ranges::replace(values, ',', ' ');
  return values;
}

// What may follow the command itself: the values of its first positional argument, or its subcommands.
std::string values_after(const CLI::App& command, const results::TargetList& known) {
  std::string values;
  for (const CLI::App* under : commands_of(command)) values += (values.empty() ? "" : " ") + under->get_name();
  for (const CLI::Option* option : command.get_options())
    if (values.empty() && names_of(*option).empty()) values = values_of(*option, known);
  return values;
}

results::TargetList known_targets() {
  return targets::list_targets(std::vector<std::string>()).value_or(results::TargetList());
}

std::string bash_script(const CLI::App& carina) {
  const results::TargetList known = known_targets();
  std::vector<std::string> names;
  std::string cases, values;
  for (const CLI::App* command : commands_of(carina)) {
    names.push_back(command->get_name());
    cases += fmt::format("    {}) options=\"{}\" ;;\n", command->get_name(), names_of_options(*command));
    for (const CLI::Option* option : command->get_options()) {
      const std::string taken = values_of(*option, known);
      for (const std::string& name : names_of(*option))
        if (!taken.empty()) values += fmt::format("    {}:{}) values=\"{}\" ;;\n", command->get_name(), name, taken);
    }
    if (command->get_prefix_command())
      values +=
          fmt::format("    {0}:-t|{0}:--target) values=\"{1}\" ;;\n", command->get_name(), names_in(known.targets));
    if (const std::string after = values_after(*command, known); !after.empty())
      values += fmt::format("    {0}:{0}) values=\"{1}\" ;;\n", command->get_name(), after);
  }
  return fmt::format(R"(# Completion of carina for bash: source <(carina completion bash)
_carina() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options= values=
  if [ "$word" = "=" ]; then word=
  elif [ "$before" = "=" ]; then before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case ${{COMP_WORDS[1]}}:$before in
{}  esac
  if [ -n "$values" ] && [[ $word != -* ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
    return
  fi
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _carina carina
)",
                     fmt::join(names, " "), names_of_options(carina), cases, values);
}

// zsh runs completions of bash. A file in a folder of zsh's completions is read when Tab is pressed for the first time,
// as the body of the function _carina: it completes then, too.
std::string zsh_script(const CLI::App& carina) {
  return "#compdef carina\n# Completion of carina for zsh: source <(carina completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(carina) + "if [ \"$funcstack[1]\" = _carina ]; then _bash_complete -o filenames -F _carina; fi\n";
}

// A text in single quotes, as fish reads it.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "'";
}

std::string fish_script(const CLI::App& carina) {
  std::string script = "# Completion of carina for fish: carina completion fish | source\n";
  const results::TargetList known = known_targets();
  for (const CLI::App* command : commands_of(carina)) {
    script += fmt::format("complete -c carina -f -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                          in_quotes(command->get_description()));
    if (command->get_prefix_command())
      script += fmt::format("complete -c carina -n '__fish_seen_subcommand_from {}' -a \"({})\"\n", command->get_name(),
                            names_in_help(*command).substr(2, names_in_help(*command).size() - 3));
    for (const CLI::Option* option : command->get_options()) {
      std::string names;
      for (const std::string& name : option->get_snames()) names += " -s " + name;
      for (const std::string& name : option->get_lnames()) names += " -l " + name;
      if (names.empty()) continue;
      const std::string values = values_of(*option, known);
      script +=
          fmt::format("complete -c carina -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", command->get_name(), names,
                      values.empty() ? "" : " -x -a " + in_quotes(values), in_quotes(option->get_description()));
    }
  }
  return script;
}

std::string script_for(const std::string& shell, const CLI::App& carina) {
  if (shell == "bash") return bash_script(carina);
  return shell == "zsh" ? zsh_script(carina) : fish_script(carina);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string shell;
  app.add_option("shell", shell, "The shell")->required()->check(CLI::IsMember({"bash", "fish", "zsh"}));
  app.callback([&] { action = [&] { return finish("", script_for(shell, *app.get_parent()), console); }; });
}

}  // namespace
}  // namespace completion_command

const Command kCompletion{
    .name = "completion",
    .summary = "Print a script that completes commands and options in a shell",
    .examples = "  source <(carina completion bash)\n  carina completion fish > ~/.config/fish/completions/carina.fish",
    .add_options = completion_command::add_options,
    .reads_all = true};

}  // namespace carina::cli
