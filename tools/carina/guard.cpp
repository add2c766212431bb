#include "guard.h"

#include "base/guarded.h"

namespace carina::cli {

int run_guarded(const std::function<int()>& action, const Console& console) {
  const Result<int> code = guarded([&]() -> Result<int> { return action(); });
  return code ? *code : report_failure("", code.error(), console);
}

}  // namespace carina::cli
