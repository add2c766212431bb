#include "execute/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/io/file.h"
#include "pte/reader.h"
#include "runtime/named_data.h"

namespace carina::execute {

namespace {

constexpr const char* kUsualName = "_default_external_constant.ptd";  // ExecuTorch's default name, without a tag
constexpr size_t kNamesShown = 5;

std::set<std::string> external_names(const pte::Program& program) {
  std::set<std::string> names;
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Value& value : plan.values) {
      const auto* tensor = std::get_if<pte::TensorSpec>(&value);
      if (tensor != nullptr && !tensor->external_name.empty()) names.insert(tensor->external_name);
    }
  }
  return names;
}

std::vector<std::string> neighbors_of(const std::string& program_path, const Log& log) {
  const std::filesystem::path program(program_path);
  std::filesystem::path same_name = program;
  same_name.replace_extension(".ptd");
  std::error_code error;
  for (const auto& path : {same_name, program.parent_path() / kUsualName}) {
    if (!std::filesystem::is_regular_file(path, error)) continue;
    log.note({.where = program_path, .what = fmt::format("takes its external tensors from {}", path.string())});
    return {path.string()};
  }
  return {};
}

Result<runtime::NamedData> parsed(const Buffer& file, const std::string& path) {
  runtime::NamedData data;
  if (data.load(file.bytes()) == runtime::Error::kOk) return data;
  return fail({.where = path,
               .what = "not a file of external tensors, or damaged",
               .expected = "a .ptd as ExecuTorch writes it beside a program"});
}

std::unexpected<Diagnostics> missing(const std::string& program_path, const std::set<std::string>& names,
                                     size_t files) {
  const std::vector<std::string> shown(
      names.begin(), std::next(names.begin(), static_cast<ptrdiff_t>(std::min(names.size(), kNamesShown))));
  return fail({.where = program_path,
               .what = fmt::format("{} tensor{} of the program {} in another file{}: {}{}", names.size(),
                                   names.size() == 1 ? "" : "s", names.size() == 1 ? "is" : "are",
                                   files == 0 ? "" : ", which is none of those given", fmt::join(shown, ", "),
                                   names.size() > shown.size() ? ", ..." : ""),
               .hint = "give the .ptd that was written with the program: --data FILE.ptd"});
}

}  // namespace

Result<std::vector<Buffer>> load_external_data(const Buffer& program, const std::string& program_path,
                                               std::span<const std::string> given, const Log& log) {
  CARINA_TRY(const pte::Program parsed_program, pte::read_program(program, program_path));
  std::set<std::string> names = external_names(parsed_program);
  std::vector<std::string> paths(given.begin(), given.end());
  if (paths.empty() && !names.empty()) paths = neighbors_of(program_path, log);
  std::vector<Buffer> files;
  for (const std::string& path : paths) {
    CARINA_TRY(Buffer file, map_file(path));
    CARINA_TRY(const runtime::NamedData data, parsed(file, path));
    for (size_t i = 0; i < data.entries(); ++i) names.erase(std::string(data.entry(i).name));
    files.push_back(std::move(file));
  }
  if (!names.empty()) return missing(program_path, names, paths.size());
  return files;
}

}  // namespace carina::execute
