// Declares the options that keep nodes of the user's model on the CPU.
#pragma once

#include "carina/result.h"
#include "driver/split.h"
#include "models/import.h"

namespace carina::driver {

// Finds the nodes that cpu_modules and cpu_ops name, and fills `keep`, `made_ops` and `left_float`. The names are
// looked up in the user's model, before anything is decomposed: "softmax" keeps all nodes that a softmax became.
//   A module is a path ("features.3", with all modules below it) or a type ("Conv2d", "torch.nn.modules.conv.Conv2d").
//   An operator is "aten.conv2d.default", "conv2d.default" or "conv2d". If the model does not have it, it may be one
//   that the passes of normalize() have made.
// Errors (usage): names that are in neither, with a list of those that are.
Result<SplitOptions> with_user_nodes(SplitOptions choices, const models::Model& model);

}  // namespace carina::driver
