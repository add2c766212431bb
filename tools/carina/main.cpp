#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/process.h"
#include "base/system/signals.h"
#include "base/system/terminal.h"
#include "command.h"
#include "guard.h"
#include "help_text.h"
#include "licenses.h"
#include "report/tables/text_table.h"
#include "usage.h"

// The program's entry: reads the command line, which options.def and the commands describe, and runs one command.
namespace carina::cli {
namespace {

constexpr const char* kAbout =
    "Carina compiles PyTorch models (.pt2) for Arm Ethos-U NPUs to ExecuTorch programs (.pte), and runs them on a "
    "simulated NPU.\n"
    "Exit codes: 0 success, 1 wrong input or failed environment, 2 usage error, 3 internal error. Carina is not an Arm "
    "product.";

// Handles Vela's --list-configs FILE at any position of the command line. It takes no other action.
bool make_listing(std::vector<std::string>& arguments) {
  const auto option = std::ranges::find(arguments, "--list-configs");
  if (option == arguments.end()) return false;
  std::vector<std::string> listing{"targets"};
  if (std::ranges::find(arguments, "--json") != arguments.end()) listing.emplace_back("--json");
  const auto file = std::next(option);
  if (file != arguments.end() && !file->starts_with("-")) listing.insert(listing.end(), {"--config", *file});
  for (auto config = std::ranges::find(arguments, "--config");
       config != arguments.end() && std::next(config) != arguments.end();
       config = std::find(std::next(config), arguments.end(), "--config"))
    listing.insert(listing.end(), {"--config", *std::next(config)});
  arguments = std::move(listing);
  return true;
}

// Whether an argument that starts with "-" is a value: -1 or -0.5,2.
bool is_number(const std::string& text) {
  return text.size() > 1 && (std::isdigit(static_cast<unsigned char>(text[1])) != 0 || text[1] == '.');
}

// Options with their old and new names, of one command or ("") of all. An old name is accepted with a note. In other
// commands, -i is an input.
struct Renamed {
  std::string_view command;
  std::string_view old_name;
  std::string_view name;
};
constexpr std::array kRenamed{Renamed{.command = "", .old_name = "--fix", .name = "--legalize"},
                              Renamed{.command = "compile", .old_name = "-i", .name = "--dump"}};

void take_new_names(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    const auto* renamed = std::ranges::find_if(kRenamed, [&](const Renamed& row) {
      return row.old_name == argument && (row.command.empty() || row.command == arguments.front());
    });
    if (renamed == kRenamed.end()) continue;
    Console{}.log().note({.where = argument,
                          .what = fmt::format("the option is called {} now", renamed->name),
                          .severity = Severity::kNote});
    argument = renamed->name;
  }
}

// carina run PROGRAM -i A B is carina run PROGRAM -i A -i B, as shells write -i *.npy. The program stands before:
// after -i it would be one of them.
void spread_inputs(std::vector<std::string>& arguments) {
  const bool is_npu_run = arguments.size() > 1 && arguments[0] == "npu" && arguments[1] == "run";
  const size_t program = is_npu_run ? 2 : 1;
  constexpr std::array kCommands{"run", "qemu", "interpret", "npu"};
  if (arguments.size() <= program || std::ranges::find(kCommands, arguments.front()) == kCommands.end() ||
      (arguments[program].size() > 1 && arguments[program].starts_with("-")))
    return;
  std::vector<std::string> spread;
  bool of_input = false;  // the argument follows the value of an -i
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_option = arguments[i].size() > 1 && arguments[i].starts_with("-") && !is_number(arguments[i]);
    if (of_input && !is_option) spread.emplace_back("-i");
    if (is_option) of_input = false;
    spread.push_back(arguments[i]);
    if ((arguments[i] == "-i" || arguments[i] == "--input") && i + 1 < arguments.size()) {
      spread.push_back(arguments[++i]);
      of_input = true;
    }
  }
  arguments = std::move(spread);
}

// "carina help" and "carina help compile" are "carina --help" and "carina compile --help".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  take_new_names(arguments);
  spread_inputs(arguments);
  if (make_listing(arguments)) return arguments;
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

// The exit code of a command line that only prints a text (--help, --version), or that is invalid.
int exit_code_of(const CLI::App& app, const CLI::ParseError& stop, const Console& console) {
  if (stop.get_exit_code() != 0) return report_failure("", usage_errors(app, stop, console.arguments), console);
  std::ostringstream text;
  app.exit(stop, text, text);
  return finish("", text.str(), console);
}

void add_options(CLI::App* sub, const Command& command, Console& console, std::function<int()>& action) {
  sub->footer(fmt::format("Examples:\n{}", command.examples));
  sub->add_flag("--json", console.json, "Print the result as JSON; an error as well");
  CLI::Option* quiet =
      sub->add_flag("--quiet", console.quiet, "Print errors and warnings alone, and what --json asks for");
  sub->add_flag("--verbose", console.verbose, "Print a line for each step, with the time since the start")
      ->excludes(quiet);
  sub->add_option("--threads", console.threads, "Worker threads; results do not depend on it")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_options(*sub, console, action);
}

// Adds all commands, but only the options of the command that is called. The others take longer to describe than a
// small network takes to compile. If no command is called by the first argument, any of them may follow.
void add_commands(CLI::App& app, std::span<const Command* const> commands, const std::vector<std::string>& arguments,
                  Console& console, std::function<int()>& action) {
  const auto called = std::ranges::find_if(
      commands, [&](const Command* command) { return !arguments.empty() && arguments.front() == command->name; });
  const bool all = called == commands.end() || (*called)->reads_all;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    if (all || command == *called) add_options(sub, *command, console, action);
  }
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "carina");
  app.formatter(std::make_shared<HelpText>());  // subcommands inherit it
  app.allow_windows_style_options(false);       // "/models/a.pt2" is a path on every system; subcommands inherit it
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", std::string("carina " CARINA_VERSION));
  bool licenses = false;
  app.add_flag("--licenses", licenses, "Print the licenses of the third-party code in Carina");
  Console console;
  std::function<int()> action;
  const std::array commands{&kCompile,  &kRun,           &kFirmware,       &kQemu,       &kExplain, &kAccuracy,
                            &kCompare,  &kSweep,         &kTosa,           &kInterpret,  &kInspect, &kDisasm,
                            &kNpu,      &kTargets,       &kCalibrateBoard, &kOps,        &kAot,     &kArmRun,
                            &kArmBuild, &kEvaluateModel, &kVela,           &kCompletion, &kManual};
  std::vector<std::string> arguments = arguments_of(argc, argv);
  add_commands(app, commands, arguments, console, action);
  console.arguments = arguments;
  if (arguments.empty()) {  // `carina` alone: no command ran, which scripts must see
    static_cast<void>(print(app.help()));
    return 2;
  }
  if (!arguments.empty() && arguments.front() == "--licenses") return finish("", third_party_notices(), console);
  // --json is also effective if the options could not be parsed.
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  std::ranges::reverse(arguments);  // the order that CLI11 expects
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& stop) {
    return exit_code_of(app, stop, {.json = json, .arguments = console.arguments});
  }
  return run_guarded(action, console);
}

}  // namespace
}  // namespace carina::cli

int main(int argc, char** argv) {
  carina::open_closed_streams();
  carina::install_signal_handlers();
  carina::keep_freed_memory();
  carina::report::wrap_tables_to(carina::terminal_columns().value_or(0));
  try {
    return carina::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "carina: error: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "carina: internal error: {}\n", error.what());
    return 3;
  }
}
