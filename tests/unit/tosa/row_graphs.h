#pragma once

#include <cstdint>
#include <vector>

#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// One graph for each legal combination of types of each operator that is a node, made from the operators' rows: every
// attribute and operand is there and of the right type, with odd contents; sizes need not fit each other. Graphs that
// control flow names stand in the module too. Same seed, same modules.
std::vector<ir::Module> row_modules(uint32_t seed);

}  // namespace carina::tosa
