#pragma once

#include <string>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::ir {

// Checks that a TOSA node has the operands and attributes of its row: the number of operands, the names and kinds of
// attributes, the lengths of lists. The verifier (frontend/tosa/verify/verify.h) checks their values. `where` names the
// node in messages.
Result<void> check_row(const Node& node, const std::string& where);

}  // namespace carina::ir
