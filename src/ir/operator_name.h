#pragma once

#include <string_view>

namespace carina::ir {

// Returns "conv2d" of "aten.conv2d.default".
inline std::string_view short_name(std::string_view op) {
  const size_t space = op.find('.'), overload = op.rfind('.');
  return op.substr(space + 1, overload - space - 1);
}

// Returns whether a user's `name` names the operator `op`: "aten.conv2d.default" is also "conv2d.default" and "conv2d",
// and, as in PyTorch's schemas, "aten::conv2d".
inline bool is_called(std::string_view op, std::string_view name) {
  constexpr std::string_view kSpace = "aten::";
  if (name.starts_with(kSpace) && op.starts_with("aten.")) name.remove_prefix(kSpace.size());
  return name == op || name == op.substr(op.find('.') + 1) || name == short_name(op);
}

}  // namespace carina::ir
