#include "driver/cpu_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text/nearest.h"
#include "ir/operator_name.h"

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
  const std::string nearest = nearest_hint(name, shown);
  if (shown.size() > kShown) {
    shown.resize(kShown);
    shown.emplace_back("...");
  }
  return {.where = "--cpu-module",
          .what = "unknown module",
          .got = name,
          .hint = shown.empty() ? "the file does not contain the modules of its nodes"
                                : fmt::format("{}{}the modules are: {}", nearest, nearest.empty() ? "" : " ",
                                              fmt::join(shown, ", ")),
          .fault = Fault::kUsage};
}

Diagnostic no_such_operator(const std::string& name, const std::vector<ModelNode>& nodes) {
  std::set<std::string> ops;
  std::set<std::string> short_names;
  for (const ModelNode& node : nodes) {
    ops.insert(node.op);
    short_names.emplace(ir::short_name(node.op));
  }
  return {.where = "--cpu-op",
          .what = "unknown operator",
          .got = name,
          .hint = with_nearest(name, {short_names.begin(), short_names.end()},
                               fmt::format("the model has: {}", fmt::join(ops, ", "))),
          .fault = Fault::kUsage};
}

// Why each node of the user's model is kept on the CPU; no value if it is not.
using Reasons = std::vector<std::optional<ir::Rejection>>;

void keep_modules(const std::vector<std::string>& names, const std::vector<ModelNode>& nodes, Reasons& reasons,
                  Diagnostics& errors) {
  for (const std::string& name : names) {
    bool known = false;
    for (size_t n = 0; n < nodes.size(); ++n) {
      const UserModule* module = module_of(nodes[n], name);
      if (module == nullptr) continue;
      known = true;
      reasons[n] = ir::Rejection{.rule = "user.module",
                                 .reason = fmt::format("--cpu-module keeps module {} on the CPU", module->path),
                                 .hint = "leave --cpu-module out"};
    }
    if (!known) errors.push_back(no_such_module(name, nodes));
  }
}

// Returns the operators that only the passes of normalize() have made.
std::vector<std::string> keep_operators(const std::vector<std::string>& names, const models::Model& model,
                                        Reasons& reasons, Diagnostics& errors) {
  std::vector<std::string> made;
  for (const std::string& name : names) {
    bool known = false;
    for (size_t n = 0; n < model.nodes.size(); ++n) {
      if (!ir::is_called(model.nodes[n].op, name)) continue;
      known = true;
      reasons[n] = ir::Rejection{
          .rule = "user.op", .reason = "--cpu-op keeps the operator on the CPU", .hint = "remove --cpu-op"};
    }
    if (known) continue;
    if (std::ranges::any_of(model.graph.nodes,
                            [&](const ir::Node& node) { return ir::is_called(node.op.name(), name); }))
      made.push_back(name);
    else
      errors.push_back(no_such_operator(name, model.nodes));
  }
  return made;
}

}  // namespace

Result<SplitOptions> with_user_nodes(SplitOptions choices, const models::Model& model) {
  choices.left_float = model.left_float;
  if (choices.cpu_modules.empty() && choices.cpu_ops.empty()) return choices;
  Reasons reasons(model.nodes.size());
  Diagnostics errors;
  keep_modules(choices.cpu_modules, model.nodes, reasons, errors);
  choices.made_ops = keep_operators(choices.cpu_ops, model, reasons, errors);
  if (!errors.empty()) return fail(std::move(errors));
  choices.keep = [reasons = std::move(reasons)](const ir::Node& node) -> std::optional<ir::Rejection> {
    return node.origin.valid() && node.origin.index() < reasons.size() ? reasons[node.origin.index()] : std::nullopt;
  };
  return choices;
}

}  // namespace carina::driver
