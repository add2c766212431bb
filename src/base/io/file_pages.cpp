#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/io/file.h"
#include "base/io/file_pages_internal.h"

namespace carina {

const std::byte* map_pages(int fd, size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::byte*>(memory);
}

void unmap_pages(const std::byte* begin, size_t size) {
  ::munmap(const_cast<std::byte*>(begin), size);
}

// A failure of madvise() has no effect on the content; the process only uses more memory.
void release_mapped(uintptr_t first, uintptr_t last) {
  static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED));
}

void prefer_small_pages([[maybe_unused]] const std::byte* begin, [[maybe_unused]] size_t size) {
#ifdef MADV_NOHUGEPAGE
  static_cast<void>(::madvise(const_cast<std::byte*>(begin), size, MADV_NOHUGEPAGE));
#endif
}

uintptr_t page_bytes() {
  return static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
}

timespec changed_at(const struct stat& status) {
#ifdef __APPLE__
  return status.st_mtimespec;
#else
  return status.st_mtim;
#endif
}

// Source: proc(5), fd. A FILE's descriptor is its own.
std::string path_of_open_file(std::FILE* file) {
#ifdef __linux__
  return "/proc/self/fd/" + std::to_string(::fileno(file));
#else
  return "/dev/fd/" + std::to_string(::fileno(file));
#endif
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileId{.device = status.st_dev, .inode = status.st_ino};
}

}  // namespace carina
