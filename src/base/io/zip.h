// Declares a reader and a writer of zip archives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/io/byte_stream.h"
#include "carina/buffer.h"
#include "carina/result.h"

namespace carina {

// Reads a zip archive (zip64 included) by its central directory. Stored entries are views of the archive's bytes;
// deflated ones are inflated on request. Each entry's CRC is checked when it is read.
class ZipReader {
 public:
  struct Limits {
    size_t max_entries = 1 << 20;
    size_t max_inflated_bytes = size_t{1} << 32;  // per entry: a zip bomb is rejected before memory is allocated
  };

  // `name` is the name of the archive in messages.
  static Result<ZipReader> open(Buffer archive, std::string name, Limits limits);
  static Result<ZipReader> open(Buffer archive, std::string name) {
    return open(std::move(archive), std::move(name), {});
  }

  // The entries' names in the order of the archive.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool contains(std::string_view entry) const { return entries_.contains(entry); }
  // The sum of the uncompressed sizes that all deflated entries declare; saturates.
  [[nodiscard]] size_t inflated_bytes() const { return inflated_bytes_; }
  // Checks the CRCs of the stored entries whose names begin with `prefix`, on all threads (parallel.h), and meanwhile
  // calls `beside` with a reader that does not check these entries. Returns whether all CRCs are right. If not, the
  // results of `beside` are invalid, and read() reports the error. If entries overlap, it checks nothing and does not
  // call `beside`.
  bool check_ahead(std::string_view prefix, const std::function<void(const ZipReader& unchecked)>& beside);
  // The entry's bytes. Errors: no such entry, damaged data, unsupported method, over the limits.
  [[nodiscard]] Result<Buffer> read(std::string_view entry) const;
  // Returns a reader of the entry's bytes. The CRC of a stored entry is checked now, that of a deflated entry at its
  // end.
  [[nodiscard]] Result<ByteStream> stream(std::string_view entry) const;

 private:
  struct Entry {
    size_t offset = 0;  // of the payload in the archive
    size_t compressed_bytes = 0;
    size_t bytes = 0;
    uint32_t crc = 0;
    int method = 0;        // 0 stored, 8 deflated
    bool checked = false;  // its CRC was checked and is right
  };
  Result<void> add_entry(std::span<const std::byte> header);
  [[nodiscard]] Result<const Entry*> readable(std::string_view name, const std::string& where) const;
  [[nodiscard]] Result<Entry> entry_of(std::span<const std::byte> header, const std::string& where) const;

  Buffer archive_;
  std::string name_;
  Limits limits_;
  std::vector<std::string> names_;
  std::map<std::string, Entry, std::less<>> entries_;
  size_t inflated_bytes_ = 0;
};

// One entry of an archive to write. Entries are stored with fixed time stamps, so that equal content gives equal bytes.
struct ZipEntry {
  std::string name;
  std::span<const std::byte> data;
  std::span<const std::byte> rest = {};  // the entry's bytes after `data`
};
Result<std::vector<std::byte>> write_zip(std::span<const ZipEntry> entries);

}  // namespace carina
