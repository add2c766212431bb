// `carina completion SHELL`: a script that lets a shell complete commands, options and file names. It is made of the
// command line itself, so each option is in it.

#include <algorithm>
#include <functional>
#include <iterator>

#include "command.h"
#include "command_tree.h"

namespace carina::cli {
namespace completion_command {
namespace {

std::string names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    std::ranges::move(names_of(*option), std::back_inserter(names));
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash_script(const CLI::App& carina) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::App* command : commands_of(carina)) {
    names.push_back(command->get_name());
    cases += fmt::format("    {}) options=\"{}\" ;;\n", command->get_name(), names_of_options(*command));
  }
  return fmt::format(R"(# Completion of carina for bash: source <(carina completion bash)
_carina() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{} {}" -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _carina carina
)",
                     fmt::join(names, " "), names_of_options(carina), cases);
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
  for (const CLI::App* command : commands_of(carina)) {
    script += fmt::format("complete -c carina -f -n __fish_use_subcommand -a {} -d {}\n", command->get_name(),
                          in_quotes(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      std::string names;
      for (const std::string& name : option->get_snames()) names += " -s " + name;
      for (const std::string& name : option->get_lnames()) names += " -l " + name;
      if (names.empty()) continue;
      script += fmt::format("complete -c carina -n '__fish_seen_subcommand_from {}'{} -d {}\n", command->get_name(),
                            names, in_quotes(option->get_description()));
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
    .add_options = completion_command::add_options};

}  // namespace carina::cli
