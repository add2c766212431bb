#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "facts/tosa_row.h"
#include "frontend/tosa/rules/verify_options.h"
#include "ir/graph.h"

namespace carina::tosa {

// A rule that a node breaks.
struct Violation {
  std::string_view rule;     // "CONV.3"
  std::string_view section;  // of the specification: "2.3.3"
  std::string_view must;     // what must hold
  std::string found;         // what is there instead
  std::string graph;
  std::string op;      // "tosa.CONV2D"
  std::string node;    // its name
  size_t index = 0;    // its index in that graph
  std::string source;  // line of the user's model, may be empty
};
// The violation as a message about that node, which begins with "rule <id> (TOSA 1.0, section <n>): ": programs may
// rely on that.
Diagnostic to_diagnostic(const Violation& violation, const std::string& where);

// Checks a module against the specification: operand types, ranks and shapes, attributes, constants, profiles,
// extensions, levels, control flow; gives the first broken rule of each node, at most max_messages. The list of rules
// is docs/tosa-operators.md's last chapter. Needs: every node has the operands and attributes of its row (readers and
// the text parser see to that). Source: TOSA 1.0.2, the ERROR_IF conditions of each operator and the tables of its
// arguments.
std::vector<Violation> violations(const ir::Module& module, const VerifyOptions& options);

// The same, as an error with a message for each violation.
Result<void> verify(const ir::Module& module, const VerifyOptions& options);
inline Result<void> verify(const ir::Module& module) {
  return verify(module, VerifyOptions{});
}

// The verifier's rules, for documentation: general ones have no operator.
struct RuleText {
  std::string_view id;
  std::string_view must;
  std::vector<TosaOp> ops;
};
std::vector<RuleText> rule_texts();

}  // namespace carina::tosa
