#include "carina/version.h"

namespace carina {

static_assert(std::string_view(CARINA_VERSION) == CARINA_PROJECT_VERSION, "carina/version.h has the project's version");

std::string_view version() noexcept {
  return CARINA_PROJECT_VERSION;
}

}  // namespace carina
