#include "frontend/pt2/module_stack_internal.h"

#include <algorithm>

namespace carina::pt2 {

namespace {

std::string_view cut(std::string_view& rest, char mark) {
  const size_t at = std::min(rest.find(mark), rest.size());
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(std::min(at + 1, rest.size()));
  return head;
}

// The path of a module that is called again ends in "@1".
std::string_view without_call(std::string_view path) {
  return path.substr(0, path.find('@'));
}

}  // namespace

std::vector<ir::UserModule> module_stack(std::string_view text) {
  std::vector<ir::UserModule> modules;
  while (!text.empty()) {
    std::string_view entry = cut(text, ';');
    cut(entry, ',');
    const std::string_view path = without_call(cut(entry, ','));
    if (!path.empty() && !entry.empty()) modules.push_back({.path = std::string(path), .type = std::string(entry)});
  }
  return modules;
}

}  // namespace carina::pt2
