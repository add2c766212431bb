#include <windows.h>

#include "base/system/shared_library.h"

// Source: the Windows API, libloaderapi.h.
namespace carina {

void* open_library(const std::string& name) {
  return ::LoadLibraryA(name.c_str());
}

void* function_of(void* library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

}  // namespace carina
