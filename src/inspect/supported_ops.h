#pragma once

#include "results/operator_list.h"

namespace carina::inspect {

// Returns every ATen and TOSA operator that Carina knows, and how each library supports it. The data come from the
// tables that the libraries use.
results::OperatorList supported_ops();

}  // namespace carina::inspect
