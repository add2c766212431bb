#include "base/system/shared_pages.h"

// Only served programs need shared pages, and Windows has none (served_program_win32.cpp).
namespace carina {

Result<std::unique_ptr<SharedPages>> SharedPages::make(const char* name, size_t /*bytes*/) {
  return fail({.where = name,
               .what = "memory cannot be shared with a machine of QEMU on Windows",
               .hint = "use Linux, macOS, or the Windows Subsystem for Linux",
               .fault = Fault::kEnvironment});
}

SharedPages::~SharedPages() = default;

}  // namespace carina
