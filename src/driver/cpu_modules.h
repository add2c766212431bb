// Declares the partitioning constraint that keeps modules of the user's model on the CPU.
#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/pt2/reader.h"
#include "partition/partition.h"

namespace carina::driver {

// Returns the constraint that keeps the nodes of some modules on the CPU. A name is a path ("features.3", with all
// modules below it) or a type ("Conv2d", "torch.nn.modules.conv.Conv2d"). `nodes` is the user's model; Node::origin is
// an index into it. Errors (usage): names of no module, with the list of modules.
Result<partition::UserConstraint> keep_modules(const std::vector<std::string>& names,
                                               const std::vector<pt2::ModelNode>& nodes);

}  // namespace carina::driver
