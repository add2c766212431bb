// The pages of mapped files, and what the system knows of a file.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

namespace carina {

// Maps a file for reading. Returns null with errno if the system does not.
const std::byte* map_pages(int fd, size_t size);
void unmap_pages(const std::byte* begin, size_t size);

// Releases pages of a mapped file from the process's memory. Both addresses are page boundaries.
void release_mapped(uintptr_t first, uintptr_t last);
// Requests small pages. A part of a large page cannot be released, so two readers of one file would hold megabytes.
void prefer_small_pages(const std::byte* begin, size_t size);
uintptr_t page_bytes();

// The time of the last change.
timespec changed_at(const struct stat& status);

}  // namespace carina
