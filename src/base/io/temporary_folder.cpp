#include "base/io/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#ifdef _WIN32
#include <direct.h>
#include <io.h>
#endif

namespace carina {

namespace fs = std::filesystem;

#ifdef _WIN32
namespace {

// As mkdtemp(3): replaces the letters X at the end, and makes the folder. _mkdir() fails if there is one.
char* mkdtemp(char* pattern) {
  return ::_mktemp(pattern) != nullptr && ::_mkdir(pattern) == 0 ? pattern : nullptr;
}

}  // namespace
#endif

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::make(std::string_view prefix) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error)
    return fail({.where = "temporary folder",
                 .what = "there is no folder for temporary files: " + error.message(),
                 .hint = "set the environment variable TMPDIR to a folder that exists",
                 .fault = Fault::kEnvironment});
  std::string path = (parent / fmt::format("{}-XXXXXX", prefix)).string();
  if (mkdtemp(path.data()) == nullptr)
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
