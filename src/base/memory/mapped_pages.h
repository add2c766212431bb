// Releases the pages of mapped files from the process's memory, so that large models do not stay resident.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina {

// Returns a slice of a buffer with the same owner. If the buffer is a mapped file, the slice's pages are released from
// the process's memory when the last copy of the slice is destroyed. The data remain in the file.
Buffer part_with_pages(const Buffer& whole, size_t offset, size_t size);

// Releases the pages of bytes [begin, end) of a mapped file. Other buffers are unchanged.
void release_pages(const Buffer& buffer, size_t begin, size_t end);

// Releases all pages that contain any of `bytes`, in any mapping. A later access reads them again from the file.
void release_pages_around(std::span<const std::byte> bytes);

// Releases the pages of a mapped file of more than 8 MiB after each MiB that a reader passes. Smaller files are left
// alone: each system call has a cost, and a small file that is read repeatedly should stay in memory. All pages of the
// file are released, since the system may map megabytes around a byte that is read.
class PageReleaser {
 public:
  void add(std::span<const std::byte> read);

 private:
  size_t bytes_ = 0;  // bytes read since the last release
};

// Maps a regular file of any size, for one sequential read. Later changes to the file are visible. Errors: those of
// map_file().
Result<Buffer> map_large_file(const std::string& path);

}  // namespace carina
