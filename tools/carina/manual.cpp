// `carina manual [COMMAND]`: the manual page of the program or of a command, as man(1) reads it. It is made of the
// command line itself, so each option is in it. An option and its lines:
//   -m,--memory-mode TEXT  ->  .TP
//                              \fB\-m\fR, \fB\-\-memory\-mode\fR \fITEXT\fR
//                              The memory of each kind of data ...

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/file.h"
#include "command.h"
#include "command_tree.h"

namespace carina::cli {
namespace manual_command {
namespace {

// A text as roff reads it: no character of it is a request or an escape. A line may end after a comma.
std::string roff(std::string_view text) {
  std::string result;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == ',')
      result += ",\\:";  // a line may end here
    else
      result += c;
    is_line_start = c == '\n';
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

// The value of an option: CLI11's "TEXT:PATH" is PATH, its "INT:INT in [1 - 256]" is INT in [1 - 256].
std::string value_name(const CLI::Option& option) {
  const std::string name = option.get_type_name();
  const size_t colon = name.find(':');
  return name.empty() ? "" : " \\fI" + roff(colon == std::string::npos ? name : name.substr(colon + 1)) + "\\fR";
}

std::string option_text(const CLI::Option& option) {
  std::vector<std::string> names = names_of(option);
  if (names.empty()) names.push_back(option.get_single_name());
  std::string text = ".TP\n";
  for (const std::string& name : names) text += (&name == names.data() ? "" : ", ") + bold(name);
  return text + value_name(option) + "\n" + roff(option.get_description()) + "\n";
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) text += option_text(*option);
  return text;
}

// The arguments of a command in its synopsis: "[OPTIONS] model".
std::string synopsis(const std::string& name, const CLI::App& command) {
  std::string text = bold(name) + " [\\fIOPTIONS\\fR]";
  for (const CLI::Option* option : command.get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    const std::string argument = "\\fI" + roff(option->get_name(true, false)) + "\\fR";
    text += option->get_required() ? " " + argument : " [" + argument + "]";
  }
  return text + (commands_of(command).empty() ? "" : " \\fICOMMAND\\fR ...") + "\n";
}

// The subcommands of a command, each with its options if `with_options`, else with the name of its page.
std::string commands_text(const CLI::App& command, const std::string& name, bool with_options) {
  std::string text;
  for (const CLI::App* sub : commands_of(command)) {
    const std::string line = roff(sub->get_description()) + "\n";
    if (with_options)
      text += ".SS " + roff(sub->get_name()) + "\n" + synopsis(name + " " + sub->get_name(), *sub) + ".PP\n" + line +
              options_text(*sub);
    else
      text += ".TP\n" + bold(name + "-" + sub->get_name()) + "(1)\n" + line;
  }
  return text.empty() ? "" : ".SH COMMANDS\n" + text;
}

std::string examples_text(const CLI::App& command) {
  constexpr std::string_view kTitle = "Examples:\n";
  const std::string footer = command.get_footer();
  if (!footer.starts_with(kTitle)) return "";
  return ".SH EXAMPLES\n.nf\n" + roff(footer.substr(kTitle.size())) + "\n.fi\n";
}

// The name of a page: "carina" of the program, "carina-compile" of a command.
std::string title_of(const CLI::App& carina, const CLI::App& command) {
  return &carina == &command ? "carina" : "carina-" + command.get_name();
}

std::string page(const CLI::App& carina, const CLI::App& command) {
  const bool is_program = &carina == &command;
  const std::string name = is_program ? "carina" : "carina " + command.get_name();
  const std::string title = title_of(carina, command);
  const std::string summary =
      is_program ? "compile models for Arm Ethos-U NPUs, and run them on a simulated NPU" : command.get_description();
  std::string text = fmt::format(".TH {} 1 \"\" \"carina {}\" \"Carina\"\n.ad l\n.nh\n", roff(title), CARINA_VERSION);
  text += ".SH NAME\n" + roff(title) + " \\- " + roff(summary) + "\n";
  text += ".SH SYNOPSIS\n" + synopsis(name, command);
  if (is_program) text += ".SH DESCRIPTION\n" + roff(command.get_description()) + "\n";
  text += ".SH OPTIONS\n" + options_text(command) + commands_text(command, name, !is_program) + examples_text(command);
  if (!is_program)
    text += ".SH EXIT STATUS\n0 success, 1 wrong input or failed environment, 2 usage error, 3 internal error.\n";
  return text + ".SH SEE ALSO\n" + bold(is_program ? "carina-compile" : "carina") + "(1)\n";
}

Result<std::string> page_of(const std::string& name, const CLI::App& carina) {
  if (name.empty()) return page(carina, carina);
  for (const CLI::App* command : commands_of(carina))
    if (command->get_name() == name) return page(carina, *command);
  return fail({.where = "manual",
               .what = fmt::format("there is no command {}", name),
               .hint = "`carina --help` lists the commands",
               .fault = Fault::kUsage});
}

// Writes all pages into a folder, which exists: carina.1, carina-compile.1, ... Returns what was written.
Result<std::string> write_pages(const std::string& folder, const CLI::App& carina) {
  std::vector<const CLI::App*> commands = commands_of(carina);
  commands.push_back(&carina);
  for (const CLI::App* command : commands)
    CARINA_CHECKED(write_file(fmt::format("{}/{}.1", folder, title_of(carina, *command)), page(carina, *command)));
  return fmt::format("wrote {} pages to {}\n", commands.size(), folder);
}

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string name;
  static std::string folder;
  app.add_option("command", name, "The command; default: the page of the program");
  app.add_option("-o,--output", folder, "Write the pages of the program and of all commands into this folder")
      ->type_name("DIR");
  app.callback([&] {
    action = [&] {
      const CLI::App& carina = *app.get_parent();
      return finish(folder, folder.empty() ? page_of(name, carina) : write_pages(folder, carina), console);
    };
  });
}

}  // namespace
}  // namespace manual_command

const Command kManual{.name = "manual",
                      .summary = "Print the manual page of the program or of a command, for man(1)",
                      .examples = "  carina manual compile | man -l -\n  carina manual > carina.1",
                      .add_options = manual_command::add_options,
                      .reads_all = true};

}  // namespace carina::cli
