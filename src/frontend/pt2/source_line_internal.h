#pragma once

#include <string>
#include <string_view>

namespace carina::pt2 {

// The line of the user's own code that a node comes from, "model.py:41": the last frame of the stack trace that is not
// inside torch, torchao or executorch; empty when there is none.
std::string source_line(std::string_view stack_trace);

}  // namespace carina::pt2
