#include "driver/dump_folder_internal.h"

#include <cctype>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/io/file.h"

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

Result<void> clear_dump(const std::string& folder) {
  CARINA_CHECKED(make_folder(folder));
  std::vector<std::filesystem::path> stale;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (is_of_a_compile(entry->path().filename().string())) stale.push_back(entry->path());
  }
  for (const std::filesystem::path& path : stale) {
    if (!std::filesystem::remove(path, error) || error) {
      return fail({.where = path.string(),
                   .what = "cannot remove the file of an earlier compile: " + error.message(),
                   .fault = Fault::kEnvironment});
    }
  }
  return {};
}

}  // namespace carina::driver
