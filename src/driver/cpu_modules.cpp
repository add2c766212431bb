#include "driver/cpu_modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace carina::driver {

namespace {

using ir::UserModule;
using pt2::ModelNode;

const UserModule* module_of(const ModelNode& node, const std::string& name) {
  const auto found = std::ranges::find_if(
      node.modules, [&](const UserModule& module) { return is_inside(module, name) || is_of_type(module, name); });
  return found == node.modules.end() ? nullptr : &*found;
}

Diagnostic no_such_module(const std::string& name, const std::vector<ModelNode>& nodes) {
  constexpr size_t kShown = 40;
  std::set<std::string> paths;
  for (const ModelNode& node : nodes) {
    for (const UserModule& module : node.modules) paths.insert(module.path);
  }
  std::vector<std::string> shown(paths.begin(), paths.end());
  if (shown.size() > kShown) {
    shown.resize(kShown);
    shown.emplace_back("...");
  }
  return {.where = "--cpu-module",
          .what = "unknown module",
          .got = name,
          .hint = shown.empty() ? "the file does not contain the modules of its nodes"
                                : fmt::format("the modules are: {}", fmt::join(shown, ", ")),
          .fault = Fault::kUsage};
}

}  // namespace

Result<partition::UserConstraint> keep_modules(const std::vector<std::string>& names,
                                               const std::vector<ModelNode>& nodes) {
  if (names.empty()) return partition::UserConstraint();
  std::vector<std::string> module_of_node(nodes.size());
  Diagnostics errors;
  for (const std::string& name : names) {
    bool known = false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const UserModule* module = module_of(nodes[n], name);
      if (module == nullptr) continue;
      known = true;
      module_of_node[n] = module->path;
    }
    if (!known) errors.push_back(no_such_module(name, nodes));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return [kept = std::move(module_of_node)](const ir::Node& node) -> std::optional<ir::Refusal> {
    const bool is_kept = node.origin.valid() && node.origin.index() < kept.size() && !kept[node.origin.index()].empty();
    if (!is_kept) return std::nullopt;
    return ir::Refusal{.rule = "user.module",
                       .reason = fmt::format("--cpu-module keeps module {} on the CPU", kept[node.origin.index()]),
                       .hint = "leave --cpu-module out"};
  };
}

}  // namespace carina::driver
