#pragma once

#include <string>

namespace carina::tosa {

// The text of build/pages/tosa-operators.md: the operators with types and attributes from their rows, and the
// verifier's rules.
std::string supported_ops_page();

// The text of docs/tosa-operators.md: the names of the operators.
std::string supported_ops_summary();

}  // namespace carina::tosa
