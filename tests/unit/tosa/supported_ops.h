#pragma once

#include <string>

namespace carina::tosa {

// docs/tosa-operators.md: the operators, their types and attributes from the rows, and the verifier's rules.
std::string supported_ops_page();

}  // namespace carina::tosa
