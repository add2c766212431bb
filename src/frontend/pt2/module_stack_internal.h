#pragma once

#include <string_view>
#include <vector>

#include "ir/user_module.h"

namespace carina::pt2 {

// The modules of a node's "nn_module_stack", "key,path,type;key,path,type ...", without the model itself; what does not
// read so is left out. Source: torch/_export/serde/serialize.py, serialize_metadata.
std::vector<ir::UserModule> module_stack(std::string_view text);

}  // namespace carina::pt2
