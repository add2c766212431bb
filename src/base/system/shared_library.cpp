#include "base/system/shared_library.h"

#include <dlfcn.h>

namespace carina {

void* open_library(const std::string& name) {
  return ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* function_of(void* library, const char* name) {
  return ::dlsym(library, name);
}

}  // namespace carina
