#include <io.h>
#include <windows.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/io/file.h"
#include "base/io/file_pages_internal.h"

// Source: the Windows API, memoryapi.h and fileapi.h.
namespace carina {

namespace {

HANDLE handle_of(int fd) {
  return reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
}

}  // namespace

const std::byte* map_pages(int fd, size_t /*size*/) {
  HANDLE mapping = ::CreateFileMappingA(handle_of(fd), nullptr, PAGE_READONLY, 0, 0, nullptr);
  const void* memory = mapping == nullptr ? nullptr : ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
  if (mapping != nullptr) ::CloseHandle(mapping);  // the view keeps it
  if (memory == nullptr) errno = ENOMEM;
  return static_cast<const std::byte*>(memory);
}

void unmap_pages(const std::byte* begin, size_t /*size*/) {
  ::UnmapViewOfFile(begin);
}

// VirtualUnlock() of pages that are not locked removes them from the working set.
void release_mapped(uintptr_t first, uintptr_t last) {
  ::VirtualUnlock(reinterpret_cast<void*>(first), last - first);
}

void prefer_small_pages(const std::byte* /*begin*/, size_t /*size*/) {}

uintptr_t page_bytes() {
  SYSTEM_INFO system{};
  ::GetSystemInfo(&system);
  return system.dwPageSize;
}

timespec changed_at(const struct stat& status) {
  return {.tv_sec = status.st_mtime, .tv_nsec = 0};
}

std::string path_of_open_file(std::FILE* file) {
  std::array<char, 32768> path{};
  const DWORD length = ::GetFinalPathNameByHandleA(handle_of(::_fileno(file)), path.data(), path.size(), 0);
  return length < path.size() ? std::string(path.data(), length) : std::string();
}

std::optional<FileId> file_id(const std::string& path) {
  HANDLE file = ::CreateFileA(path.c_str(), 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) return std::nullopt;
  BY_HANDLE_FILE_INFORMATION information{};
  const bool known = ::GetFileInformationByHandle(file, &information) != 0;
  ::CloseHandle(file);
  if (!known) return std::nullopt;
  return FileId{.device = information.dwVolumeSerialNumber,
                .inode = uint64_t{information.nFileIndexHigh} << 32 | information.nFileIndexLow};
}

}  // namespace carina
