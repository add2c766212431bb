#include "base/system/shared_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#ifndef __linux__
#include <fcntl.h>
#include <stdlib.h>

#include <filesystem>
#endif

namespace carina {

namespace {

#ifdef __linux__
int file_without_name(const char* name) {
  return ::memfd_create(name, MFD_CLOEXEC);
}
#else
int file_without_name(const char* name) {
  std::string path = (std::filesystem::temp_directory_path() / name).string() + "-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return file;
  ::unlink(path.c_str());
  ::fcntl(file, F_SETFD, FD_CLOEXEC);
  return file;
}
#endif

}  // namespace

Result<std::unique_ptr<SharedPages>> SharedPages::make(const char* name, size_t bytes) {
  const int file = file_without_name(name);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED)
    return std::unique_ptr<SharedPages>(new SharedPages(file, {static_cast<std::byte*>(memory), bytes}));
  const std::string why = std::strerror(errno);
  if (file >= 0) ::close(file);
  return fail({.where = name, .what = "no shared memory: " + why, .fault = Fault::kEnvironment});
}

SharedPages::~SharedPages() {
  ::munmap(bytes_.data(), bytes_.size());
  ::close(descriptor_);
}

}  // namespace carina
