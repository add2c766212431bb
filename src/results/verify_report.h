#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::results {
// A violation of a rule of the TOSA specification by a node.
struct RuleViolation {
  std::string rule;     // "CONV.3"
  std::string section;  // of the specification: "2.3.3"
  std::string must;     // the condition of the rule
  std::string found;    // the actual state
  std::string graph;
  std::string op;
  std::string node;
  std::string source;  // line of the user's model; may be empty
};

// The result of `carina tosa --verify`.
struct VerifyReport {
  std::string file;
  std::string version;  // "1.0.0", "1.1.0-draft", "0.80.1"
  std::string level;
  std::vector<std::string> allowed;  // profiles and extensions
  int64_t graphs = 0;
  int64_t operators = 0;
  std::vector<RuleViolation> violations;
  Diagnostics messages;  // the violations as messages
};

}  // namespace carina::results
