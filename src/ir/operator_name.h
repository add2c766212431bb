#pragma once

#include <string_view>

namespace carina::ir {

// Returns whether a user's `name` names the operator `op`: "aten.conv2d.default" is also "conv2d.default" and "conv2d".
inline bool is_called(std::string_view op, std::string_view name) {
  const size_t space = op.find('.'), overload = op.rfind('.');
  return name == op || name == op.substr(space + 1) || name == op.substr(space + 1, overload - space - 1);
}

}  // namespace carina::ir
