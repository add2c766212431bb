// Declares the rewrite of a TOSA module with control flow and variables to one graph.
#pragma once

#include <cstdint>
#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::driver {

// Returns the module's main graph without COND_IF, WHILE_LOOP and variables, with the same results. Variables become
// the graph's state. A module without any of these is returned as it is. Notes say what was done.
//
// `loop_rounds` is the maximum number of rounds of a loop whose number of rounds depends on the data; 0: such a loop is
// an error. Errors also: a loop of more than 1,024 rounds; a value that TOSA does not define.
Result<ir::Graph> flat_tosa(ir::Module module, int64_t loop_rounds, const std::string& where, const Log& log);

}  // namespace carina::driver
