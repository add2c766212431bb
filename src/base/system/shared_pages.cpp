#include "base/system/shared_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace carina {

Result<std::unique_ptr<SharedPages>> SharedPages::make(const char* name, size_t bytes) {
  const int file = ::memfd_create(name, MFD_CLOEXEC);
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
