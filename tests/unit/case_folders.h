#pragma once

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace carina::tests {

inline std::filesystem::path folder_of(const char* variable, const std::filesystem::path& otherwise) {
  const char* set = std::getenv(variable);
  return set != nullptr ? std::filesystem::path(set) : otherwise;
}

// Test data outside the repository: $CARINA_SHARED, or the folder ../shared next to the repository. It may not exist.
inline std::filesystem::path shared_folder() {
  return folder_of("CARINA_SHARED", std::filesystem::path(CARINA_SOURCE_DIR).parent_path() / "shared");
}

// The existing folders of networks with the outputs of other compilers (tests/integration/cases/README.md). First those
// that make_cases.py made in $CARINA_CASES (default: build/cases), then those of the shared folder.
inline std::vector<std::filesystem::path> case_folders() {
  std::vector<std::filesystem::path> found;
  for (const std::filesystem::path& folder :
       {folder_of("CARINA_CASES", std::filesystem::path(CARINA_SOURCE_DIR) / "build" / "cases"),
        shared_folder() / "cases"}) {
    if (std::filesystem::exists(folder / "kws")) found.push_back(folder);
  }
  return found;
}

constexpr const char* kNoCases = "not run: no build/cases (tests/integration/make_cases.py makes them)";

}  // namespace carina::tests
