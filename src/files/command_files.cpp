#include "files/command_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/io/file.h"

namespace carina::files {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStandardStream = "-";  // what other programs take for standard input or output

using Inputs = std::map<FileId, std::string>;  // with the user's spelling of the path

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
  if (output.path == kStandardStream)
    return fail({.where = output.option,
                 .what = "- is not the name of a file: outputs do not go to standard output",
                 .hint = "/dev/stdout, or ./- for a file of this name",
                 .fault = Fault::kUsage});
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
  if (folder.path == kStandardStream)
    return fail({.where = folder.option,
                 .what = "- is not the name of a folder: outputs do not go to standard output",
                 .hint = "./- for a folder of this name",
                 .fault = Fault::kUsage});
  if (fs::exists(folder.path, error) && !fs::is_directory(folder.path, error))
    return fail({.where = folder.option,
                 .what = fmt::format("{} is a file", folder.path),
                 .expected = "the name of a folder",
                 .fault = Fault::kUsage});
  for (auto entry = fs::directory_iterator(folder.path, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (folder.writes && entry->path().filename().string().starts_with(*folder.writes))
      CARINA_CHECKED(check_not_input(folder.option, entry->path().string(), inputs));
  }
  return {};
}

// Returns the file that a link names, although it may not exist yet. Other paths stay.
fs::path after_links(fs::path path) {
  std::error_code error;
  constexpr int kMaxLinks = 40;  // Linux follows as many
  for (int links = 0; links < kMaxLinks && fs::is_symlink(path, error); ++links)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

// Returns the canonical path, which is equal for all names of a file, even if the file does not exist yet.
std::string resolved(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(after_links(fs::absolute(path, error)), error);
  return error ? path : whole.string();
}

bool is_device(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

std::unexpected<Diagnostics> written_twice(const std::string& option, const std::string& path,
                                           const std::string& other) {
  return fail({.where = option,
               .what = fmt::format("{} is an output of {} too: one would overwrite the other", path, other),
               .hint = "choose another name",
               .fault = Fault::kUsage});
}

// Checks that outputs are different files. A device may be the output of several options.
Result<void> check_outputs_differ(const CommandFiles& files) {
  std::map<std::string, std::string> known;  // with the option that writes it
  for (const auto& output : files.outputs) {
    if (output.path.empty() || is_device(output.path)) continue;
    const auto [other, is_new] = known.emplace(resolved(output.path), output.option);
    if (!is_new) return written_twice(output.option, output.path, other->second);
    for (const auto& folder : files.folders) {
      const fs::path file = resolved(output.path);
      if (!folder.path.empty() && folder.writes &&
          file.parent_path() == fs::path(resolved(folder.path + "/.")).lexically_normal() &&
          file.filename().string().starts_with(*folder.writes))
        return written_twice(output.option, output.path, folder.option);
    }
  }
  return {};
}

Result<void> check_read(const CommandFiles::Input& input) {
  std::error_code error;
  if (input.path.empty() || fs::exists(input.path, error)) return {};
  return fail({.where = input.option,
               .what = fmt::format("{}: no such file or folder", input.path),
               .fault = Fault::kEnvironment});
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
  for (const auto& input : files.read_by_option) CARINA_CHECKED(check_read(input));
  return check_outputs_differ(files);
}

}  // namespace carina::files
