#include "base/zip.h"

#include <fmt/format.h>
#include <minizip/ioapi.h>
#include <minizip/unzip.h>
#include <minizip/zip.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace carina {

namespace {

// minizip's file callbacks over memory: reading from a span, or writing to a growing vector.
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

Result<Buffer> inflate_entry(std::span<const std::byte> packed, size_t bytes, const std::string& where) {
  MutableBuffer out = MutableBuffer::allocate(bytes);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail({.where = where, .what = "cannot start inflating"});
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.bytes().data());
  stream.avail_out = static_cast<uInt>(bytes);
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.total_out == bytes;
  inflateEnd(&stream);
  if (!whole) return fail({.where = where, .what = "the deflated data is damaged"});
  return std::move(out).freeze();
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
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
  if (handle == nullptr) {
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
    unz_file_info64 info{};
    std::string entry_name(65536, '\0');
    if (unzGetCurrentFileInfo64(handle.get(), &info, entry_name.data(), entry_name.size(), nullptr, 0, nullptr, 0) !=
        UNZ_OK)
      break;
    entry_name.resize(std::min<size_t>(info.size_filename, entry_name.size()));
    // raw = 1: nothing is inflated; only the local header is read, which gives the payload's place.
    if (unzOpenCurrentFile2(handle.get(), nullptr, nullptr, 1) != UNZ_OK) {
      return fail({.where = reader.name_ + ":" + entry_name,
                   .what = "the entry's header does not match the central directory"});
    }
    const Entry entry{.offset = static_cast<size_t>(unzGetCurrentFileZStreamPos64(handle.get())),
                      .compressed_bytes = static_cast<size_t>(info.compressed_size),
                      .bytes = static_cast<size_t>(info.uncompressed_size),
                      .crc = static_cast<uint32_t>(info.crc),
                      .method = static_cast<int>(info.compression_method)};
    unzCloseCurrentFile(handle.get());
    if (entry.offset > reader.archive_.size() || entry.compressed_bytes > reader.archive_.size() - entry.offset) {
      return fail({.where = reader.name_ + ":" + entry_name, .what = "the entry's data lies outside the archive"});
    }
    if (!reader.entries_.emplace(entry_name, entry).second) {
      return fail({.where = reader.name_ + ":" + entry_name, .what = "the archive has two entries of this name"});
    }
    reader.names_.push_back(std::move(entry_name));
  }
  if (status != UNZ_END_OF_LIST_OF_FILE)
    return fail({.where = reader.name_, .what = "the central directory is damaged"});
  return reader;
}

Result<Buffer> ZipReader::read(std::string_view name) const {
  const std::string where = fmt::format("{}:{}", name_, name);
  const auto found = entries_.find(name);
  if (found == entries_.end()) return fail({.where = where, .what = "the archive has no such entry"});
  const Entry& entry = found->second;
  const Buffer packed = archive_.slice(entry.offset, entry.compressed_bytes);
  Buffer data = packed;
  if (entry.method == Z_DEFLATED) {
    if (entry.bytes > limits_.max_inflated_bytes || entry.bytes > UINT32_MAX || packed.size() > UINT32_MAX) {
      return fail({.where = where,
                   .what = "the entry would inflate to more than is allowed",
                   .expected = fmt::format("at most {} bytes", limits_.max_inflated_bytes),
                   .got = fmt::format("{}", entry.bytes)});
    }
    // Deflate packs at most 1032:1; a header that claims more lies, and its allocation would be the bomb.
    if (entry.bytes / 1100 > packed.size())
      return fail({.where = where, .what = "the entry's size is not possible: a damaged archive or a zip bomb"});
    CARINA_TRY(data, inflate_entry(packed.bytes(), entry.bytes, where));
  } else if (entry.method != 0) {
    return fail({.where = where,
                 .what = "unsupported compression method",
                 .expected = "stored or deflated",
                 .got = std::to_string(entry.method)});
  } else if (entry.bytes != entry.compressed_bytes) {
    return fail({.where = where, .what = "a stored entry's two sizes differ: the archive is damaged"});
  }
  if (crc_of(data.bytes()) != entry.crc) {
    return fail({.where = where,
                 .what = "the entry's checksum does not match: the file is damaged",
                 .hint = "save or copy the file again"});
  }
  return data;
}

Result<std::vector<std::byte>> write_zip(std::span<const ZipEntry> entries) {
  MemoryFile file;
  zlib_filefunc64_def functions = memory_functions(file);
  zipFile handle = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
  bool good = handle != nullptr;
  for (const ZipEntry& entry : entries) {
    if (!good) break;
    zip_fileinfo info{};
    info.dosDate = 0x00210000;  // 1980-01-01: the same bytes whenever written
    const int zip64 = entry.data.size() >= UINT32_MAX ? 1 : 0;
    good = zipOpenNewFileInZip64(handle, entry.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0, zip64) ==
               ZIP_OK &&
           zipWriteInFileInZip(handle, entry.data.data(), static_cast<unsigned>(entry.data.size())) == ZIP_OK &&
           zipCloseFileInZip(handle) == ZIP_OK;
  }
  if (handle == nullptr || zipClose(handle, nullptr) != ZIP_OK || !good) {
    return fail({.where = "zip", .what = "cannot write the archive", .fault = Fault::kInternal});
  }
  return std::move(file.sink);
}

}  // namespace carina
