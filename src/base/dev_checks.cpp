#include "base/dev_checks.h"

#include <cstdlib>
#include <string_view>

namespace carina {

bool dev_checks_enabled() {
  static const bool enabled = [] {
    const char* value = std::getenv("CARINA_DEV_CHECKS");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return enabled;
}

}  // namespace carina
