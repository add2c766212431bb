#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/system/process.h"
#include "command.h"

// Subcommands that are Python scripts. They start from a PyTorch model, which only Python can load
// (docs/adr/0037-python-nanobind-over-the-driver.md).

namespace carina::cli {

namespace {

namespace fs = std::filesystem;

// If Carina's module or PyTorch is missing, the launcher names it.
constexpr const char* kLauncher =
    "import importlib, sys\n"
    "name = sys.argv.pop(1)\n"
    "try:\n"
    "    main = importlib.import_module(name).main\n"
    "except ImportError as error:\n"
    "    sys.exit(f\"carina: error: {sys.executable} cannot import {name}: {error}\\n  hint: install the wheel of "
    "Carina there, "
    "or "
    "CARINA_PYTHON=PROGRAM for another Python\")\n"
    "sys.exit(main())\n";

// The Python to use: $CARINA_PYTHON, else the Python into which Carina is installed, else the first in PATH.
std::string python_program(const fs::path& carina) {
  if (const char* named = std::getenv("CARINA_PYTHON"); named != nullptr && *named != '\0') return named;
  std::error_code error;
  const fs::path beside = carina.parent_path() / "python3";
  return fs::exists(beside, error) ? beside.string() : "python3";
}

// Sets environment variables, so that Python finds the package in the build tree of this program, and the scripts find
// this program.
void set_python_path(const fs::path& program) {
  if (program.empty()) return;
  set_environment("CARINA_BIN", program.string());
  const fs::path package = program.parent_path().parent_path() / "python";
  std::error_code error;
  if (!fs::exists(package / "carina", error)) return;
  const char* before = std::getenv("PYTHONPATH");
  const bool has_more = before != nullptr && *before != '\0';
  set_environment("PYTHONPATH", has_more ? package.string() + ":" + before : package.string());
}

// Replaces the process by Python with this module. Returns only if that fails.
int run_python_module(const std::string& module, const std::vector<std::string>& arguments, const Console& console) {
  const fs::path carina = own_program();
  const std::string python = python_program(carina);
  set_python_path(carina);
  std::vector<std::string> command{python, "-c", kLauncher, module};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const int error = replace_process(command);
  const std::string why = std::error_code(error, std::generic_category()).message();
  return report_failure("",
                        {{.where = python,
                          .what = "this command needs Python, which could not be started",
                          .got = why,
                          .hint = "install python3 with PyTorch and carina, or name one: CARINA_PYTHON=PROGRAM",
                          .fault = Fault::kEnvironment}},
                        console);
}

// Passes all arguments after the command to the script, including --help, --json and --threads.
void pass_all(CLI::App& app, Console& console, std::function<int()>& action, const char* module) {
  app.set_help_flag();
  for (CLI::Option* option : app.get_options()) app.remove_option(option);
  app.prefix_command();
  app.callback([&app, &console, &action, module] {
    action = [command = app.remaining(), &console, module] { return run_python_module(module, command, console); };
  });
}

}  // namespace

const Command kAot{
    .name = "aot",
    .summary = "Compile a PyTorch model with the arguments of ExecuTorch's aot_arm_compiler.py (in Python)",
    .examples = "  carina aot -m model.py -d -q -t ethos-u55-128 -o model.pte",
    .add_options = [](CLI::App& app, Console& console, std::function<int()>& action) {
      pass_all(app, console, action, "carina.aot_arm_compiler");
    }};

const Command kArmRun{.name = "arm-run",
                      .summary = "Compile and run with the arguments of ExecuTorch's run.sh and run_fvp.sh (in Python)",
                      .examples = "  carina arm-run --model_name=model.py --target=ethos-u55-128",
                      .add_options = [](CLI::App& app, Console& console, std::function<int()>& action) {
                        pass_all(app, console, action, "carina.arm_run");
                      }};

const Command kArmBuild{
    .name = "arm-build",
    .summary = "Make firmware with the arguments of ExecuTorch's build_executor_runner.sh (in Python)",
    .examples = "  carina arm-build --pte=model.pte --target=ethos-u55-128 --output=out",
    .add_options = [](CLI::App& app, Console& console, std::function<int()>& action) {
      pass_all(app, console, action, "carina.arm_build");
    }};

const Command kEvaluateModel{
    .name = "evaluate-model",
    .summary =
        "Compare a compiled model with PyTorch, with the arguments of ExecuTorch's evaluate_model.py (in Python)",
    .examples = "  carina evaluate-model -m model.py -q int8 -t ethos-u55-128 -e numerical -i work",
    .add_options = [](CLI::App& app, Console& console, std::function<int()>& action) {
      pass_all(app, console, action, "carina.evaluate_model");
    }};

}  // namespace carina::cli
