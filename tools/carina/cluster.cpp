#include "cluster.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/system/process.h"

namespace carina::cli {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Adds this program's Python package to the search path: beside the program in a build, around it in a wheel.
void add_package(const fs::path& program) {
  for (const fs::path& folder :
       {program.parent_path().parent_path() / "python", program.parent_path().parent_path().parent_path()}) {
    std::error_code error;
    if (!fs::exists(folder / "carina" / "cluster", error)) continue;
    const std::string others = variable("PYTHONPATH");
    const std::string all = others.empty() ? folder.string() : others + ":" + folder.string();
    set_environment("PYTHONPATH", all);
  }
}

}  // namespace

Diagnostics run_as_cluster_program(const std::vector<std::string>& command_line) {
  const fs::path program = own_program();
  if (!program.empty()) {
    add_package(program);
    if (variable("CARINA_BIN").empty()) set_environment("CARINA_BIN", program.string());
  }
  const std::string python = variable("CARINA_PYTHON").empty() ? "python3" : variable("CARINA_PYTHON");
  std::vector<std::string> all{python, "-m", "carina.cluster"};
  all.insert(all.end(), command_line.begin(), command_line.end());
  const int error = replace_process(std::move(all));
  return {{.where = python,
           .what = fmt::format("cannot be run: {}", std::strerror(error)),
           .expected = "a Python with carina[sweep]",
           .hint = "set CARINA_PYTHON to that Python",
           .fault = Fault::kEnvironment}};
}

}  // namespace carina::cli
