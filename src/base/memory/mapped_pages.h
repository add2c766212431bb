#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"

namespace carina {

// A part of a buffer that keeps the whole alive. Where that is a mapped file, the part's pages leave the process's memory
// with the last who holds the part: the file still has them.
Buffer part_with_pages(const Buffer& whole, size_t offset, size_t size);

// The pages of bytes [begin, end) of a mapped file leave the process's memory; nothing happens to other buffers.
void release_pages(const Buffer& buffer, size_t begin, size_t end);

// The same for all pages that hold any of `bytes`, wherever these stand. They come back when they are read again.
void release_pages_around(std::span<const std::byte> bytes);

// Lets the pages of mapped files of more than 8 MiB go behind one who reads through them, after each MiB: a call of the
// system has its cost, and who reads small files again and again should not wait for pages. All pages of the file go: the
// system may map megabytes around a byte that is read.
class PageReleaser {
 public:
  void add(std::span<const std::byte> read);

 private:
  size_t bytes_ = 0;  // read since pages went
};

// Maps a regular file of any size, for those who read it once from end to end. What becomes of it afterwards shows.
// Errors: as of map_file().
Result<Buffer> map_large_file(const std::string& path);

}  // namespace carina
