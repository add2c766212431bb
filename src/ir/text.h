// Prints and parses the text form of graphs.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "carina/result.h"
#include "ir/graph.h"

namespace carina::ir {

// The text form of graphs: docs/ir.md, section "Text form". It is total: parse(print(module)) is identical to the
// module, for both stages, with constants, quantization, names and sources; unless constants were elided.

struct PrintOptions {
  // Constants with more elements are printed as "elided(...)" for readability; such text cannot be parsed.
  size_t elide_above_elements = std::numeric_limits<size_t>::max();
};

std::string print(const Module& module, const PrintOptions& options);
inline std::string print(const Module& module) {
  return print(module, PrintOptions{});
}
std::string print(const Graph& graph, const PrintOptions& options);
inline std::string print(const Graph& graph) {
  return print(graph, PrintOptions{});
}

// Parses the text form. `where` is the text's name in messages, which give line and column. Errors: wrong grammar,
// unknown ops and types, values that are undeclared or declared twice, constants that do not match their type,
// attributes of TOSA operators that differ from the row's.
Result<Module> parse(std::string_view text, const std::string& where);

// Returns whether both have the same graphs, ids and names, with the same bits in constants and floating-point
// attributes.
bool identical(const Module& a, const Module& b);

}  // namespace carina::ir
