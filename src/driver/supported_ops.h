#pragma once

#include "report/operator_list.h"

namespace carina::driver {

// Every ATen and TOSA operator that Carina knows, and what its parts do with it, from the tables that the parts work by.
report::OperatorList supported_ops();

}  // namespace carina::driver
