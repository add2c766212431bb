// Declares the two-step writer of output files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "carina/result.h"

namespace carina {

// Writes a file in two steps, so that a failed run leaves no partial file and never destroys the previous one.
// prepare() writes a temporary file in the same folder; commit() renames it. A symbolic link is followed and its target
// replaced; mode and owner of the previous file are kept. If a rename is not possible, commit() writes into the
// existing file. That is so for a FIFO or a device, a file with several hard links (every name gets the new bytes), a
// mount point, and a file in a folder without write permission. An OutputFile that is destroyed without commit() leaves
// nothing.
class OutputFile {
 public:
  // `bytes` must live until commit(). Errors: an empty path, the path of a folder, a missing folder, a disk error.
  static Result<OutputFile> prepare(const std::string& path, std::span<const std::byte> bytes);
  // If commit() would write into an existing file, such as a device, this writes the bytes now. Then commit() only
  // renames a file or does nothing. Errors: a disk error.
  Result<void> write_in_place();
  Result<void> commit();

  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Starts to record the files and folders that the process makes, for remove_new_files(). A program calls it once,
// before it writes. Without it nothing is recorded.
void remember_new_files() noexcept;

// Records a new file or folder. OutputFile and make_folder() call it; other writers must call it themselves.
void note_new_file(const std::string& path);

// Removes the recorded files, and the recorded folders that are empty. Files that existed before keep their new
// contents. Async-signal-safe.
void remove_new_files() noexcept;

// Removes the temporary files that are not committed. It is for a handler of signals that end the process.
// Async-signal-safe.
void remove_uncommitted_files() noexcept;

}  // namespace carina
