#pragma once

#include <string>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace carina::ir {

// Whether a TOSA node has the operands and attributes of its row: their number, the attributes' names and kinds, lists
// of the right length. What they may be is the verifier's business (frontend/tosa/verify.h). `where` is what messages call the
// node.
Result<void> check_row(const Node& node, const std::string& where);

}  // namespace carina::ir
