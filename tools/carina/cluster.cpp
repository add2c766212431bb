#include "cluster.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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
    ::setenv("PYTHONPATH", all.c_str(), 1);
  }
}

}  // namespace

Diagnostics become_cluster_program(const std::vector<std::string>& command_line) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    add_package(program);
    ::setenv("CARINA_BIN", program.c_str(), 0);
  }
  const std::string python = variable("CARINA_PYTHON").empty() ? "python3" : variable("CARINA_PYTHON");
  std::vector<std::string> all{python, "-m", "carina.cluster"};
  all.insert(all.end(), command_line.begin(), command_line.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(python.c_str(), arguments.data());
  return {{.where = python,
           .what = fmt::format("cannot be run: {}", std::strerror(errno)),
           .expected = "a Python with carina[sweep]",
           .hint = "set CARINA_PYTHON to that Python",
           .fault = Fault::kEnvironment}};
}

}  // namespace carina::cli
