// Names the steps of long work for the user: on a terminal, and in the progress line of Python.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace carina::report {

// Returns the user's words for a step of Log::progress. The many passes over a graph have one name.
//   Example: "calibrate" is "calibrating"; "fold-constant-layout" is "simplifying the model".
std::string_view stage_label(std::string_view step);

// Returns the label with how far the step is: "calibrating 12/200", "encoding weights 40 %".
std::string stage_text(std::string_view step, size_t done, size_t total);

}  // namespace carina::report
