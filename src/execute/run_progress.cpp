#include "execute/run_progress_internal.h"

#include <chrono>

namespace carina::execute {

std::function<void()> run_progress(const Log& log) {
  using Clock = std::chrono::steady_clock;
  return [&log, last = Clock::time_point()]() mutable {
    const Clock::time_point now = Clock::now();
    if (now - last < std::chrono::milliseconds(100)) return;
    last = now;
    log.progress("run", 0, 0);
  };
}

}  // namespace carina::execute
