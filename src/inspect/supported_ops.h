#pragma once

#include "results/operator_list.h"

namespace carina::inspect {

// Every ATen and TOSA operator that Carina knows, and what its parts do with it, from the tables that the parts work by.
results::OperatorList supported_ops();

}  // namespace carina::inspect
