#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/diagnostic.h"

namespace carina {

// A file on its way to its place, in two steps, so that a failed run leaves no half file and never destroys the previous
// one: prepare() writes a temporary file beside it, commit() renames that. A symbolic link is followed and its target
// replaced; the mode and owner of the file that was there are kept. What cannot be renamed is written into by commit():
// a FIFO or a device, a file of several hard links (every name sees the new bytes), one that is a mount point or lies in
// a folder that cannot be written. An OutputFile that is dropped without commit() leaves nothing.
class OutputFile {
 public:
  // `bytes` must live until commit(). Errors: an empty path, a folder, no folder or a disk to write to.
  static Result<OutputFile> prepare(const std::string& path, std::span<const std::byte> bytes);
  Result<void> commit();

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// For a handler of signals that end the process: removes the temporary files that have not been committed.
// Async-signal-safe.
void remove_uncommitted_files() noexcept;

}  // namespace carina
