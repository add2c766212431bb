#pragma once

#include <cstdint>
#include <vector>

#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// One graph for each legal combination of types of each operator that is a node, made from the operators' rows. Every
// attribute and operand is present and has the right type, with random contents. The sizes need not fit each other. The
// module also contains the graphs that control flow names. The same seed gives the same modules.
std::vector<ir::Module> row_modules(uint32_t seed);

}  // namespace carina::tosa
