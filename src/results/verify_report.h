#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::results {
// A rule of the TOSA specification that a node breaks.
struct RuleViolation {
  std::string rule;     // "CONV.3"
  std::string section;  // of the specification: "2.3.3"
  std::string must;     // what must hold
  std::string found;    // what is there instead
  std::string graph;
  std::string op;
  std::string node;
  std::string source;  // line of the user's model, may be empty
};

// What `carina tosa --verify` says.
struct VerifyReport {
  std::string file;
  std::string version;  // "1.0.0", "1.1.0-draft", "0.80.1"
  std::string level;
  std::vector<std::string> allowed;  // profiles and extensions
  int64_t graphs = 0;
  int64_t operators = 0;
  std::vector<RuleViolation> violations;
  Diagnostics messages;  // the same for people
};

}  // namespace carina::results
