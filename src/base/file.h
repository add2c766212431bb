#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"

namespace carina {

// Maps a whole file read-only. Errors: not there, not readable, not a regular file.
Result<Buffer> map_file(const std::string& path);

// Writes `bytes` to `path` through a temporary file beside it that is renamed, so that a failed run leaves no half file
// and never destroys the previous one. Errors: the folder is missing or not writable, the disk is full.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace carina
