#pragma once

#include <string>
#include <string_view>

namespace carina::pt2 {

// The line of the user's code that a node comes from: "model.py:41". It is the last frame of the stack trace outside of
// torch, torchao and executorch. Empty if there is none.
std::string source_line(std::string_view stack_trace);

}  // namespace carina::pt2
