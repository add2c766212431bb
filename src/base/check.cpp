#include "carina/check.h"

#include <string_view>

namespace carina {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  // Messages contain the path from the root of the sources on, without the path of the build machine.
  std::string_view path(file);
  if (const size_t root = path.rfind("/src/"); root != std::string_view::npos) path.remove_prefix(root + 1);
  throw InternalError(fmt::format("{}:{}: {}: {}", path, line, condition, message));
}

}  // namespace carina
