#include "base/io/zip.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <minizip/ioapi.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

#include "base/checked_math.h"
#include "base/memory/mapped_pages.h"
#include "base/parallel/parallel.h"

namespace carina {

namespace {

// Implements minizip's file callbacks in memory. A reader reads from a span; a writer appends to a vector.
struct MemoryFile {
  std::span<const std::byte> source;
  std::vector<std::byte> sink;
  uint64_t position = 0;
  [[nodiscard]] uint64_t size() const { return std::max<uint64_t>(source.size(), sink.size()); }
};

MemoryFile& memory_file(voidpf stream) {
  return *static_cast<MemoryFile*>(stream);
}

voidpf ZCALLBACK open_memory(voidpf opaque, const void* /*name*/, int /*mode*/) {
  return opaque;
}

uLong ZCALLBACK read_memory(voidpf /*opaque*/, voidpf stream, void* buffer, uLong size) {
  MemoryFile& file = memory_file(stream);
  const uint64_t available = file.position < file.size() ? file.size() - file.position : 0;
  const auto count = static_cast<size_t>(std::min<uint64_t>(size, available));
  const std::byte* data = file.sink.empty() ? file.source.data() : file.sink.data();
  if (count > 0) std::memcpy(buffer, data + file.position, count);
  file.position += count;
  return static_cast<uLong>(count);
}

uLong ZCALLBACK write_memory(voidpf /*opaque*/, voidpf stream, const void* buffer, uLong size) {
  MemoryFile& file = memory_file(stream);
  const uint64_t end = file.position + size;
  if (end > file.sink.size()) file.sink.resize(end);
  std::memcpy(file.sink.data() + file.position, buffer, size);
  file.position = end;
  return size;
}

ZPOS64_T ZCALLBACK tell_memory(voidpf /*opaque*/, voidpf stream) {
  return memory_file(stream).position;
}

long ZCALLBACK seek_memory(voidpf /*opaque*/, voidpf stream, ZPOS64_T offset, int origin) {
  MemoryFile& file = memory_file(stream);
  const uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? file.position
                        : origin == ZLIB_FILEFUNC_SEEK_END ? file.size()
                                                           : 0;
  if (base + offset > file.size()) return -1;
  file.position = base + offset;
  return 0;
}

int ZCALLBACK close_memory(voidpf /*opaque*/, voidpf /*stream*/) {
  return 0;
}
int ZCALLBACK error_memory(voidpf /*opaque*/, voidpf /*stream*/) {
  return 0;
}

zlib_filefunc64_def memory_functions(MemoryFile& file) {
  return {.zopen64_file = open_memory,
          .zread_file = read_memory,
          .zwrite_file = write_memory,
          .ztell64_file = tell_memory,
          .zseek64_file = seek_memory,
          .zclose_file = close_memory,
          .zerror_file = error_memory,
          .opaque = &file};
}

using UnzHandle = std::unique_ptr<void, int (*)(unzFile)>;

// Reads a little-endian field of an archive's header (APPNOTE.TXT 4.3), at any alignment.
template <typename T>
T field(std::span<const std::byte> header, size_t offset) {
  T value{};
  std::memcpy(&value, header.data() + offset, sizeof value);
  return value;
}

// Signatures of an entry's header in the central directory (4.3.12), and of its header before the data (4.3.7).
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr size_t kCentralBytes = 46;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kLocalBytes = 30;
constexpr uint16_t kZip64Field = 1;  // APPNOTE.TXT 4.5.3

// The sizes and the offset of an entry. A field of all ones means that the number is in the zip64 field. minizip 1.1
// compares with the wrong constant if long has 64 bits, and so uses 2^32-1 as the size.
struct Extent {
  uint64_t bytes;
  uint64_t compressed_bytes;
  uint64_t offset;

  // Reads the zip64 field among the extra fields. Returns false if it is damaged or missing.
  bool apply_zip64(std::span<const std::byte> extra) {
    const auto is_elsewhere = [](uint64_t value) { return value == UINT32_MAX; };
    if (!is_elsewhere(bytes) && !is_elsewhere(compressed_bytes) && !is_elsewhere(offset)) return true;
    while (extra.size() >= 4) {
      const auto id = field<uint16_t>(extra, 0);
      const auto size = field<uint16_t>(extra, 2);
      if (size > extra.size() - 4) return false;
      std::span<const std::byte> content = extra.subspan(4, size);
      extra = extra.subspan(size_t{4} + size);
      if (id != kZip64Field) continue;
      for (uint64_t* value : {&bytes, &compressed_bytes, &offset}) {
        if (!is_elsewhere(*value)) continue;
        if (content.size() < 8) return false;
        *value = field<uint64_t>(content, 0);
        content = content.subspan(8);
      }
      return true;
    }
    return false;
  }
};

// Returns whether the record at the end of an archive is complete. minizip reads zeros for missing bytes.
bool has_whole_end(std::span<const std::byte> archive) {
  constexpr size_t kEndBytes = 22;
  constexpr size_t kSearched = kEndBytes + UINT16_MAX;  // a comment may follow
  const std::span<const std::byte> tail = archive.last(std::min(kSearched, archive.size()));
  const size_t at = std::string_view(reinterpret_cast<const char*>(tail.data()), tail.size()).rfind("PK\x05\x06");
  return at != std::string_view::npos && tail.size() - at >= kEndBytes;
}

}  // namespace

Result<ZipReader> ZipReader::open(Buffer archive, std::string name, Limits limits) {
  ZipReader reader;
  reader.archive_ = std::move(archive);
  reader.name_ = std::move(name);
  reader.limits_ = limits;
  MemoryFile file{.source = reader.archive_.bytes(), .sink = {}};
  zlib_filefunc64_def functions = memory_functions(file);
  const UnzHandle handle(unzOpen2_64("", &functions), unzClose);
  if (handle == nullptr || !has_whole_end(reader.archive_.bytes())) {
    return fail({.where = reader.name_,
                 .what = "not a zip archive, or its central directory is cut off",
                 .hint = "is the file complete? compare its size with the original"});
  }
  unz_global_info64 global{};
  if (unzGetGlobalInfo64(handle.get(), &global) != UNZ_OK || global.number_entry > limits.max_entries) {
    return fail({.where = reader.name_,
                 .what = "too many entries in the archive",
                 .expected = fmt::format("at most {}", limits.max_entries),
                 .got = fmt::format("{}", global.number_entry)});
  }
  int status = global.number_entry == 0 ? UNZ_END_OF_LIST_OF_FILE : unzGoToFirstFile(handle.get());
  for (; status == UNZ_OK; status = unzGoToNextFile(handle.get())) {
    const uint64_t at = unzGetOffset64(handle.get());
    const std::span<const std::byte> bytes = reader.archive_.bytes();
    if (at > bytes.size()) break;
    CARINA_CHECKED(reader.add_entry(bytes.subspan(at)));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    return fail({.where = reader.name_, .what = "the central directory is damaged"});
  return reader;
}

// Adds the entry whose central directory header is at the start of `header`.
Result<void> ZipReader::add_entry(std::span<const std::byte> header) {
  if (header.size() < kCentralBytes || field<uint32_t>(header, 0) != kCentralSignature)
    return fail({.where = name_, .what = "the central directory is damaged"});
  const size_t name_bytes = field<uint16_t>(header, 28);
  const size_t extra_bytes = field<uint16_t>(header, 30);
  if (header.size() - kCentralBytes < name_bytes + extra_bytes)
    return fail({.where = name_, .what = "the central directory is cut off"});
  std::string entry_name(reinterpret_cast<const char*>(header.data()) + kCentralBytes, name_bytes);
  const std::string where = name_ + ":" + entry_name;
  CARINA_TRY(const Entry entry, entry_of(header.first(kCentralBytes + name_bytes + extra_bytes), where));
  if (!entries_.emplace(entry_name, entry).second)
    return fail({.where = where, .what = "the archive has two entries of this name"});
  names_.push_back(std::move(entry_name));
  if (entry.method != 0) inflated_bytes_ = checked_add(inflated_bytes_, entry.bytes).value_or(SIZE_MAX);
  return {};
}

// Finds an entry's data with its two headers: the one in the central directory and the one before the data.
Result<ZipReader::Entry> ZipReader::entry_of(std::span<const std::byte> header, const std::string& where) const {
  Extent extent{.bytes = field<uint32_t>(header, 24),
                .compressed_bytes = field<uint32_t>(header, 20),
                .offset = field<uint32_t>(header, 42)};
  if (!extent.apply_zip64(header.subspan(kCentralBytes + field<uint16_t>(header, 28))))
    return fail({.where = where, .what = "the entry's zip64 sizes are damaged"});
  const std::span<const std::byte> archive = archive_.bytes();
  if (extent.offset > archive.size() || archive.size() - extent.offset < kLocalBytes ||
      field<uint32_t>(archive, extent.offset) != kLocalSignature)
    return fail({.where = where, .what = "the entry's header does not match the central directory"});
  const std::span<const std::byte> local = archive.subspan(extent.offset);
  const size_t before = kLocalBytes + field<uint16_t>(local, 26) + field<uint16_t>(local, 28);
  if (field<uint16_t>(local, 8) != field<uint16_t>(header, 10))
    return fail({.where = where, .what = "the entry's header does not match the central directory"});
  if (before > local.size() || extent.compressed_bytes > local.size() - before)
    return fail({.where = where, .what = "the entry's data lies outside the archive"});
  return Entry{.offset = extent.offset + before,
               .compressed_bytes = extent.compressed_bytes,
               .bytes = extent.bytes,
               .crc = field<uint32_t>(header, 16),
               .method = field<uint16_t>(header, 10)};
}

// Finds an entry by name. Errors: it does not exist, or its compression or encryption is not supported.
Result<const ZipReader::Entry*> ZipReader::readable(std::string_view name, const std::string& where) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return fail({.where = where, .what = "the archive has no such entry"});
  const Entry& entry = found->second;
  if (entry.method != 0 && entry.method != Z_DEFLATED)
    return fail({.where = where,
                 .what = "unsupported compression method",
                 .expected = "stored or deflated",
                 .got = std::to_string(entry.method)});
  if (entry.method == 0 && entry.bytes != entry.compressed_bytes)
    return fail({.where = where, .what = "a stored entry's two sizes differ: the archive is damaged"});
  // Deflate compresses at most 1032:1. A header that claims more is wrong, and the allocation would use too much
  // memory.
  if (entry.method == Z_DEFLATED && entry.bytes / 1100 > entry.compressed_bytes)
    return fail({.where = where, .what = "the entry's size is not possible: a damaged archive or a zip bomb"});
  return &entry;
}

namespace {

bool has_checksum(std::span<const std::byte> bytes, uint32_t crc) {
  return libdeflate_crc32(0, bytes.data(), bytes.size()) == crc;
}

}  // namespace

bool ZipReader::check_ahead(std::string_view prefix, const std::function<void(const ZipReader& unchecked)>& beside) {
  std::vector<Entry*> stored;
  ZipReader unchecked = *this;
  size_t bytes = 0;
  for (auto entry = entries_.lower_bound(prefix); entry != entries_.end() && entry->first.starts_with(prefix);
       ++entry) {
    if (entry->second.method != 0 || entry->second.checked) continue;
    stored.push_back(&entry->second);
    unchecked.entries_.find(entry->first)->second.checked = true;
    bytes = checked_add(bytes, entry->second.compressed_bytes).value_or(SIZE_MAX);
  }
  if (bytes > archive_.size()) return false;
  std::ranges::stable_sort(stored, std::greater(), &Entry::compressed_bytes);
  parallel_for(1 + stored.size(), [&](size_t i) {
    if (i == 0) return beside(unchecked);
    Entry& entry = *stored[i - 1];
    entry.checked = has_checksum(archive_.bytes().subspan(entry.offset, entry.compressed_bytes), entry.crc);
  });
  return std::ranges::all_of(stored, &Entry::checked);
}

Result<Buffer> ZipReader::read(std::string_view name) const {
  const std::string where = fmt::format("{}:{}", name_, name);
  CARINA_TRY(const Entry* const entry, readable(name, where));
  Buffer data = part_with_pages(archive_, entry->offset, entry->compressed_bytes);
  if (entry->method == Z_DEFLATED) {
    const bool too_large =
        entry->bytes > limits_.max_inflated_bytes || entry->bytes > UINT32_MAX || data.size() > UINT32_MAX;
    if (too_large)
      return fail({.where = where,
                   .what = "the entry would inflate to more than is allowed",
                   .expected = fmt::format("at most {} bytes", limits_.max_inflated_bytes),
                   .got = fmt::format("{}", entry->bytes)});
    MutableBuffer inflated = MutableBuffer::allocate(entry->bytes);
    ByteStream stream = ByteStream::inflating(std::move(data), entry->bytes, entry->crc, where);
    CARINA_CHECKED(stream.read(0, inflated.bytes()));
    return std::move(inflated).freeze();
  }
  if (!entry->checked && !has_checksum(data.bytes(), entry->crc)) return fail(wrong_checksum(where));
  return data;
}

Result<ByteStream> ZipReader::stream(std::string_view name) const {
  const std::string where = fmt::format("{}:{}", name_, name);
  CARINA_TRY(const Entry* const entry, readable(name, where));
  const Buffer data = archive_.slice(entry->offset, entry->compressed_bytes);
  if (entry->method == Z_DEFLATED) return ByteStream::inflating(data, entry->bytes, entry->crc, where);
  constexpr size_t kPart = size_t{1} << 18;
  uint32_t crc = 0;
  for (size_t at = 0; at < data.size(); at += kPart) {
    const auto part = data.bytes().subspan(at, std::min(kPart, data.size() - at));
    crc = libdeflate_crc32(crc, part.data(), part.size());
    release_pages(data, at - std::min(at, kPart), at + part.size());
  }
  if (crc != entry->crc) return fail(wrong_checksum(where));
  return ByteStream::of(data, where);
}

namespace {

// minizip writes at most 4 GiB per call.
bool write_part(zipFile handle, std::span<const std::byte> data) {
  constexpr size_t kMaxPartBytes = size_t{1} << 30;
  for (; !data.empty(); data = data.subspan(std::min(kMaxPartBytes, data.size()))) {
    const auto part = data.first(std::min(kMaxPartBytes, data.size()));
    if (zipWriteInFileInZip(handle, part.data(), static_cast<unsigned>(part.size())) != ZIP_OK) return false;
  }
  return true;
}

size_t size_of(const ZipEntry& entry) {
  return entry.data.size() + entry.rest.size();
}

}  // namespace

Result<std::vector<std::byte>> write_zip(std::span<const ZipEntry> entries) {
  MemoryFile file;
  constexpr size_t kBesideData = 256;  // bytes of an entry's headers and names
  size_t bytes = kBesideData;
  for (const ZipEntry& entry : entries) bytes += size_of(entry) + 2 * entry.name.size() + kBesideData;
  file.sink.reserve(bytes);
  zlib_filefunc64_def functions = memory_functions(file);
  zipFile handle = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  bool good = handle != nullptr;
  for (const ZipEntry& entry : entries) {
    if (!good) break;
    zip_fileinfo info{};
    info.dosDate = 0x00210000;  // 1980-01-01, so that equal contents give equal archives
    const int zip64 = size_of(entry) >= UINT32_MAX ? 1 : 0;
    good = zipOpenNewFileInZip64(handle, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, zip64) ==
               ZIP_OK &&
           write_part(handle, entry.data) && write_part(handle, entry.rest) && zipCloseFileInZip(handle) == ZIP_OK;
  }
  if (handle == nullptr || zipClose(handle, nullptr) != ZIP_OK || !good) {
    return fail({.where = "zip", .what = "cannot write the archive", .fault = Fault::kInternal});
  }
  return std::move(file.sink);
}

}  // namespace carina
