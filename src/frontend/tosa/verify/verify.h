#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/tosa_row.h"
#include "frontend/tosa/verify/verify_options.h"
#include "ir/graph.h"

namespace carina::tosa {

// A violation of a rule by a node.
struct Violation {
  std::string_view rule;     // "CONV.3"
  std::string_view section;  // of the specification: "2.3.3"
  std::string_view must;     // the condition of the rule
  std::string found;         // the actual state
  std::string graph;
  std::string op;      // "tosa.CONV2D"
  std::string node;    // the node's name
  size_t index = 0;    // the node's index in that graph
  std::string source;  // line of the user's model; may be empty
};
// Returns the violation as a message about the node. It begins with "rule <id> (TOSA 1.0, section <n>): "; programs may
// rely on that.
Diagnostic to_diagnostic(const Violation& violation, const std::string& where);

// Checks a module against the specification: operand types, ranks and shapes, attributes, constants, profiles,
// extensions, levels and control flow. Returns the first violation of each node, at most max_messages in total. The
// last chapter of build/pages/tosa-operators.md (`make docs`) lists the rules. Every node must have the operands and
// attributes of its row; readers and the text parser ensure that. Source: TOSA 1.0.2, the ERROR_IF conditions of each
// operator and the tables of its arguments.
std::vector<Violation> violations(const ir::Module& module, const VerifyOptions& options);

// Like violations(), as an error with one message per violation.
Result<void> verify(const ir::Module& module, const VerifyOptions& options);
inline Result<void> verify(const ir::Module& module) {
  return verify(module, VerifyOptions{});
}

// A rule of the verifier, for documentation. General rules have no operators.
struct RuleText {
  std::string_view id;
  std::string_view must;
  std::vector<TosaOp> ops;
};
std::vector<RuleText> rule_texts();

}  // namespace carina::tosa
