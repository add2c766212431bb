#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/diagnostic.h"

namespace carina {

// A library writes messages to a log; tools choose where they go. Libraries never print.
struct Log {
  // Warnings and notes: fallbacks, clamps, defaults taken. Not called for errors, which travel in Result.
  std::function<void(const Diagnostic&)> note = [](const Diagnostic&) {};
  // Progress of long work: which step, and how much of it is done (0 of 0 when not countable).
  std::function<void(std::string_view step, size_t done, size_t total)> progress = [](std::string_view, size_t,
                                                                                      size_t) {};
};

}  // namespace carina
