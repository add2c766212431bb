#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command.h"
#include "guard.h"
#include "signals.h"
#include "usage.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace carina::cli {
namespace {

constexpr const char* kAbout =
    "Carina puts PyTorch models on Arm Ethos-U NPUs: it compiles a .pt2 to an ExecuTorch .pte and runs it on a "
    "simulated NPU.\n"
    "Exit codes: 0 done, 1 the input is at fault, 2 usage, 3 internal error. Carina is not an Arm product.";

// Vela's --list-configs FILE, wherever it stands, asks for nothing else.
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

// "carina help" and "carina help compile" are "carina --help" and "carina compile --help".
// Options whose names have changed, and what they are called now; the old ones are taken, with a note.
constexpr std::array kRenamed{std::pair<std::string_view, std::string_view>{"--fix", "--legalize"}};

void take_new_names(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    const auto* renamed = std::ranges::find(kRenamed, argument, [](const auto& row) { return row.first; });
    if (renamed == kRenamed.end()) continue;
    Console{}.log().note({.where = argument,
                          .what = fmt::format("the option is called {} now", renamed->second),
                          .severity = Severity::kNote});
    argument = renamed->second;
  }
}

std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  take_new_names(arguments);
  if (make_listing(arguments)) return arguments;
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

// The exit code of a command line that asks for nothing but a text (--help, --version), or that is wrong.
int leave(const CLI::App& app, const CLI::ParseError& stop, const Console& console) {
  if (stop.get_exit_code() != 0) return report_failure("", usage_errors(app, stop), console);
  std::ostringstream text;
  app.exit(stop, text, text);
  return finish("", text.str(), console);
}

void add_command(CLI::App& app, const Command& command, Console& console, std::function<int()>& action) {
  CLI::App* sub = app.add_subcommand(command.name, command.summary);
  sub->footer(fmt::format("Examples:\n{}", command.examples));
  sub->add_flag("--json", console.json, "Print the result as JSON; an error as well");
  sub->add_option("--threads", console.threads, "Worker threads; results do not depend on it")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command.add_options(*sub, console, action);
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "carina");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("carina " CARINA_VERSION));
  Console console;
  std::function<int()> action;
  const std::array commands{&kCompile,        &kRun,  &kFirmware,  &kQemu,    &kExplain,      &kAccuracy, &kCompare,
                            &kSweep,          &kTosa, &kInterpret, &kInspect, &kDisasm,       &kNpu,      &kTargets,
                            &kCalibrateBoard, &kOps,  &kAot,       &kArmRun,  &kEvaluateModel};
  for (const Command* command : commands) add_command(app, *command, console, action);
  std::vector<std::string> arguments = arguments_of(argc, argv);
  console.arguments = arguments;
  // Also where the options could not be read.
  const bool json = std::ranges::find(arguments, "--json") != arguments.end();
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& stop) {
    return leave(app, stop, {.json = json});
  }
  return run_guarded(action, console);
}

}  // namespace
}  // namespace carina::cli

int main(int argc, char** argv) {
  carina::cli::open_closed_streams();
  carina::cli::install_signal_handlers();
#ifdef __GLIBC__
  // A layer's weights go back to the system when they are freed. The library's own limit rises with every such block.
  constexpr int kLargeBlockBytes = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
  // Smaller ones are used again: with the library's own 128 KB each layer would ask the system for new pages.
  mallopt(M_TRIM_THRESHOLD, kLargeBlockBytes);
#endif
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
