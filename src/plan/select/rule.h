#pragma once

#include <string_view>

#include "base/diagnostic.h"
#include "facts/tosa_ops.h"

namespace carina::plan {

class Selection;

// How one TOSA operator becomes steps, or why it does not.
struct Rule {
  TosaOp op;
  Result<void> (*select)(Selection& s);  // nullptr: not supported
  std::string_view reason;               // then: what the user is told
  std::string_view hint = {};            // and what to write instead
};

}  // namespace carina::plan
