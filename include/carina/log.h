// Declares the sink for notes, warnings and progress.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "carina/result.h"

namespace carina {

// The sink for a library's messages. Libraries never print; the tools choose where messages go.
struct Log {
  // Receives warnings and notes, for example about fallbacks and defaults. Errors are returned in Result instead.
  std::function<void(const Diagnostic&)> note = [](const Diagnostic&) {};
  // Receives the progress of long work: the step, and how much of it is done (0 of 0 if it cannot be counted).
  std::function<void(std::string_view step, size_t done, size_t total)> progress = [](std::string_view, size_t,
                                                                                      size_t) {};
};

}  // namespace carina
