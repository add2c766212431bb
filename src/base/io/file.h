#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"

namespace carina {

// The bytes of a file. One of up to 16 MiB is read, so that nothing that happens to it afterwards matters; a larger one
// is mapped, so that weights do not cost memory twice (docs/adr/0013). Errors: not there, not readable, not a regular
// file (a FIFO is not waited for), shorter at the end of reading than at its start.
Result<Buffer> map_file(const std::string& path);

// For a handler of SIGBUS, which a mapped file gives when it became shorter: the path of the mapped file that `address`
// lies in, or null. Async-signal-safe.
const char* mapped_file_at(const void* address) noexcept;

// Which file a path leads to, through links of either kind: two paths of one file have equal ids.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};
// Nothing when there is no such file.
std::optional<FileId> file_id(const std::string& path);

// Writes `bytes` to `path`, as OutputFile does it in two steps.
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);
Result<void> write_file(const std::string& path, std::string_view text);

// Makes the folder and those above it. Errors: it cannot be made.
Result<void> make_folder(const std::string& folder);

}  // namespace carina
