#include "files/command_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/io/file.h"

namespace carina::files {

namespace {

namespace fs = std::filesystem;

using Inputs = std::map<FileId, std::string>;  // and how the user calls them

void add_input(Inputs& inputs, const std::string& path) {
  const auto id = file_id(path);
  if (id) inputs.emplace(*id, path);
  const size_t equals = path.find('=');  // -i NAME=FILE
  if (!id && equals != std::string::npos) add_input(inputs, path.substr(equals + 1));
}

Inputs inputs_of(const CommandFiles& files) {
  Inputs inputs;
  for (const std::string& path : files.inputs) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add_input(inputs, path);
      continue;
    }
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error))
      add_input(inputs, entry->path().string());
  }
  return inputs;
}

Result<void> check_not_input(const std::string& option, const std::string& path, const Inputs& inputs) {
  const auto id = file_id(path);
  const auto input = id ? inputs.find(*id) : inputs.end();
  if (input == inputs.end()) return {};
  return fail({.where = option,
               .what = fmt::format("{} is an input of this command and would be overwritten", path),
               .got = input->second == path ? "" : fmt::format("the same file as {}", input->second),
               .hint = "choose another name",
               .fault = Fault::kUsage});
}

Result<void> check_output(const CommandFiles::Output& output, const Inputs& inputs) {
  std::error_code error;
  if (fs::is_directory(output.path, error))
    return fail({.where = output.option,
                 .what = fmt::format("{} is a folder", output.path),
                 .expected = "the name of a file",
                 .fault = Fault::kUsage});
  const fs::path folder = fs::path(output.path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    return fail({.where = output.option,
                 .what = fmt::format("cannot write {}: the folder {} is missing", output.path, folder.string()),
                 .fault = Fault::kEnvironment});
  return check_not_input(output.option, output.path, inputs);
}

Result<void> check_folder(const CommandFiles::OutputFolder& folder, const Inputs& inputs) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(folder.path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(folder.writes))
      CARINA_CHECKED(check_not_input(folder.option, entry->path().string(), inputs));
  }
  return {};
}

}  // namespace

Result<void> check_files(const CommandFiles& files) {
  const Inputs inputs = inputs_of(files);
  for (const auto& output : files.outputs) {
    if (!output.path.empty()) CARINA_CHECKED(check_output(output, inputs));
  }
  for (const auto& folder : files.folders) {
    if (!folder.path.empty()) CARINA_CHECKED(check_folder(folder, inputs));
  }
  return {};
}

}  // namespace carina::files
