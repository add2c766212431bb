// Declares the folder of `carina compile --dump`.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/io/output_file.h"
#include "carina/result.h"

namespace carina::driver {

// The folder with the files output_tag<n>_* of one program. New files are written beside those of an earlier compile,
// and commit() puts all of them in their place. A compile that fails, for a full disk or any other reason, leaves the
// earlier files as they were. Two processes that dump into one folder take turns, so it never has files of both.
class DumpFolder {
 public:
  DumpFolder(DumpFolder&&) noexcept = default;
  DumpFolder& operator=(DumpFolder&&) noexcept = default;
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;
  ~DumpFolder() = default;

  // Makes the folder if it is missing. Errors: it cannot be made.
  static Result<DumpFolder> open(std::string folder);

  // Writes a file beside the one that it will replace. Errors: a disk error.
  Result<void> add(const std::string& name, std::vector<std::byte> bytes);

  // Puts the new files in their place and removes the other files of an earlier compile. Files of the user stay.
  // Errors: the folder cannot be changed.
  Result<void> commit();

 private:
  struct NewFile {
    std::vector<std::byte> bytes;  // which `file` views
    OutputFile file;
  };
  explicit DumpFolder(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] Result<void> remove_stale() const;

  std::string folder_;
  std::set<std::string> names_;
  std::vector<NewFile> files_;
};

}  // namespace carina::driver
