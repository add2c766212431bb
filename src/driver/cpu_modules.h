#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "frontend/pt2/reader.h"
#include "partition/partition.h"

namespace carina::driver {

// Keeps the nodes of modules on the CPU: those named by path ("features.3", with all below it), and those of a type
// ("Conv2d", "torch.nn.modules.conv.Conv2d"). `nodes`: the user's model, which Node::origin counts. Errors (usage): names
// that no module has, with those that there are.
Result<partition::UserConstraint> keep_modules(const std::vector<std::string>& names,
                                               const std::vector<pt2::ModelNode>& nodes);

}  // namespace carina::driver
