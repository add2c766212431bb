#include "base/io/folder_lock.h"

#ifndef _WIN32
#include <sys/file.h>
#endif

namespace carina {

Descriptor lock_folder([[maybe_unused]] const std::string& folder) {
#ifdef _WIN32
  return Descriptor(-1);
#else
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | kOwnBytes));
  while (descriptor.get() >= 0 && ::flock(descriptor.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return descriptor;
#endif
}

}  // namespace carina
