#pragma once

#include <string_view>
#include <vector>

#include "ir/user_module.h"

namespace carina::pt2 {

// Parses the modules of a node's "nn_module_stack", "key,path,type;key,path,type ...". The model itself and malformed
// entries are skipped. Source: torch._export.serde.serialize, serialize_metadata.
std::vector<ir::UserModule> module_stack(std::string_view text);

}  // namespace carina::pt2
