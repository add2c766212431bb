#pragma once

#include <string_view>

#include "carina/result.h"
#include "facts/tosa_ops.h"

// The type of a selection rule.
namespace carina::plan {

class Selection;

// How one TOSA operator becomes steps, or why it is not supported.
struct Rule {
  TosaOp op;
  Result<void> (*select)(Selection& s);  // nullptr: not supported
  std::string_view reason;               // if not supported: the message to the user
  std::string_view hint = {};            // and the alternative
};

}  // namespace carina::plan
