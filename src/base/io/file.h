// Reads and writes whole files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina {

// Returns the bytes of a file. A file of up to 16 MiB is read, so that later changes to it have no effect. A larger
// file is mapped, so that weights are not in memory twice (docs/adr/0010). Errors: the file does not exist, cannot be
// read, is not a regular file (a FIFO is not waited for), or becomes shorter while it is read.
Result<Buffer> map_file(const std::string& path);

// Returns a path by which a file that is open, but may have no name, can be opened again.
std::string path_of_open_file(std::FILE* file);

// Returns the path of the mapped file that contains `address`, or null. It is for a handler of SIGBUS, which occurs if
// a mapped file becomes shorter. Async-signal-safe.
const char* mapped_file_at(const void* address) noexcept;

// Identifies the file that a path leads to through symbolic and hard links: two paths of one file have equal ids.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};
// Returns no value if there is no such file.
std::optional<FileId> file_id(const std::string& path);

// Writes `bytes` to `path` with an OutputFile, in two steps.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::string& path, std::string_view text);

// Adds `text` to the end of a file, which is made if there is none, in one step: lines of several processes do not mix.
Result<void> append_to_file(const std::string& path, std::string_view text);

// Makes the folder and its parents. Errors: a folder cannot be made.
Result<void> make_folder(const std::string& folder);

}  // namespace carina
