#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace carina {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(stderr, "carina: internal error: {}:{}: {}: {}\n", file, line, condition, message);
  std::abort();
}

}  // namespace carina
