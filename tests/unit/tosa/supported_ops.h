#pragma once

#include <string>

namespace carina::tosa {

// The text of docs/tosa-operators.md: the operators with types and attributes from their rows, and the verifier's
// rules.
std::string supported_ops_page();

}  // namespace carina::tosa
