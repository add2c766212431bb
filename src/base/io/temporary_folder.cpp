#include "base/io/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace carina {

namespace fs = std::filesystem;

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(std::string_view prefix) {
  std::string path = (fs::temp_directory_path() / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(path.data()) == nullptr)
    return fail({.where = path,
                 .what = fmt::format("cannot make a temporary folder: {}", std::strerror(errno)),
                 .fault = Fault::kEnvironment});
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(std::move(path)));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace carina
