#include <fmt/format.h>

#include <array>
#include <exception>
#include <new>

#include "command.h"
#include "guard.h"

namespace carina::cli {
namespace {

constexpr const char* kAbout =
    "Carina puts PyTorch models on Arm Ethos-U NPUs: it compiles a .pt2 to an ExecuTorch .pte and runs it on a "
    "simulated NPU.\n"
    "Exit codes: 0 done, 1 the input is at fault, 2 usage, 3 internal error. Carina is not an Arm product.";

int run(int argc, char** argv) {
  CLI::App app(kAbout, "carina");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("carina " CARINA_VERSION));
  Console console;
  std::function<int()> action;
  const std::array commands{&kCompile,   &kRun,     &kExplain, &kAccuracy, &kTosa,
                            &kInterpret, &kInspect, &kDisasm,  &kNpu,      &kOps};
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(command->name, command->summary);
    sub->footer(fmt::format("Examples:\n{}", command->examples));
    sub->add_flag("--json", console.json, "Print the result as JSON");
    sub->add_option("--threads", console.threads, "Worker threads; results do not depend on it")
        ->check(CLI::Range(1, 256))
        ->capture_default_str();
    command->add_options(*sub, console, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run_guarded(action, console);
}

}  // namespace
}  // namespace carina::cli

int main(int argc, char** argv) {
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
