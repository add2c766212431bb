#pragma once

#include <string>

namespace carina::ir {

// A module of the user's model that a node belongs to.
struct UserModule {
  std::string path;  // "features.3.conv"
  std::string type;  // "torch.nn.modules.conv.Conv2d"
};

// "features.3.conv" is inside "features.3", and inside itself.
inline bool is_inside(const UserModule& module, const std::string& path) {
  return module.path == path || module.path.starts_with(path + ".");
}

// "Conv2d" is torch.nn.modules.conv.Conv2d.
inline bool is_of_type(const UserModule& module, const std::string& type) {
  return module.type == type || module.type.ends_with("." + type);
}

}  // namespace carina::ir
