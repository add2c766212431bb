#include "driver/dump_folder.h"

#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/io/file.h"
#include "base/io/folder_lock.h"

namespace carina::driver {

namespace {

// Returns whether a name has the form "output_tag0_vela.npz". Other files in the folder belong to the user.
bool is_of_a_compile(const std::string& name) {
  constexpr std::string_view kStart = "output_tag";
  const bool tagged = name.starts_with(kStart) && name.size() > kStart.size() &&
                      std::isdigit(static_cast<unsigned char>(name[kStart.size()])) != 0;
  return tagged && (name.ends_with(".tosa") || name.ends_with(".npz") || name.ends_with("_schedule.txt") ||
                    name.ends_with("_operators.json") || name.ends_with("_debug.json"));
}

}  // namespace

Result<DumpFolder> DumpFolder::open(std::string folder) {
  CARINA_CHECKED(make_folder(folder));
  return DumpFolder(std::move(folder));
}

Result<void> DumpFolder::add(const std::string& name, std::vector<std::byte> bytes) {
  CARINA_TRY(OutputFile file, OutputFile::prepare(folder_ + "/" + name, bytes));
  names_.insert(name);
  files_.push_back({.bytes = std::move(bytes), .file = std::move(file)});
  return {};
}

Result<void> DumpFolder::commit() {
  const Descriptor turn = lock_folder(folder_);
  for (NewFile& file : files_) CARINA_CHECKED(file.file.commit());
  files_.clear();
  return remove_stale();
}

Result<void> DumpFolder::remove_stale() const {
  std::vector<std::filesystem::path> stale;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (is_of_a_compile(name) && !names_.contains(name)) stale.push_back(entry->path());
  }
  for (const std::filesystem::path& path : stale) {
    std::filesystem::remove(path, error);  // no error if another process has removed it
    if (error)
      return fail({.where = path.string(),
                   .what = "cannot remove the file of an earlier compile: " + error.message(),
                   .fault = Fault::kEnvironment});
  }
  return {};
}

}  // namespace carina::driver
