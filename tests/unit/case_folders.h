#pragma once

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace carina::tests {

inline std::filesystem::path folder_of(const char* variable, const std::filesystem::path& otherwise) {
  const char* set = std::getenv(variable);
  return set != nullptr ? std::filesystem::path(set) : otherwise;
}

// Test data that is not part of the repository: $CARINA_SHARED, else ../shared beside it. Not everybody has it.
inline std::filesystem::path shared_folder() {
  return folder_of("CARINA_SHARED", std::filesystem::path(CARINA_SOURCE_DIR).parent_path() / "shared");
}

// Folders of networks with what the peers make of them (tests/integration/cases/README.md): those that
// make_cases.py made in $CARINA_CASES, else build/cases, then those of the shared folder. Those that exist.
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
