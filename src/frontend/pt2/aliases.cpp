#include "frontend/pt2/aliases_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "facts/aten_traits.h"

namespace carina::pt2 {

namespace {

uint32_t key_of(ir::ValueId value) {
  return static_cast<uint32_t>(value.index());
}

std::vector<int64_t> sizes_of(const ir::Value& value) {
  return {value.shape.dims().begin(), value.shape.dims().end()};
}

std::vector<int64_t> inverse_of(const std::vector<int64_t>& permutation) {
  const auto rank = static_cast<int64_t>(permutation.size());
  std::vector<int64_t> inverse(permutation.size());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = permutation[static_cast<size_t>(i)];
    const int64_t wrapped = axis < 0 ? axis + rank : axis;
    if (wrapped < 0 || wrapped >= rank) return {};
    inverse[static_cast<size_t>(wrapped)] = i;
  }
  return inverse;
}

// The table calls reshape, flatten, contiguous and to new tensors. In PyTorch it depends on strides whether they give a
// view, and the reader does not track strides.
AtenAlias alias_of(const ir::Node& node) {
  return traits_of(node.op.aten()).alias;
}

// narrow(dim, start, length) as slice(dim, start, end). A start that counts from the end stays so, unless the slice
// reaches the end, which no negative number names.
//   Example: start -3 and length 3 of 8 elements: from -3 to 2^63 - 1
ir::Attributes slice_of(const ir::Attributes& narrow) {
  const int64_t start = narrow.integer("start"), end = start + narrow.integer("length");
  const bool reaches_the_end = start < 0 && end >= 0;
  return {{"dim", narrow.integer("dim")},
          {"start", start},
          {"end", reaches_the_end ? std::numeric_limits<int64_t>::max() : end},
          {"step", int64_t{1}}};
}

// The node that writes `source` back into the viewed tensor `base`, after the view was overwritten.
std::optional<ir::Node> node_back(const ir::Graph& graph, const ir::Node& view, ir::ValueId base, ir::ValueId source) {
  ir::Node node{.op = AtenOp::view_default,
                .name = view.name + "_write",
                .inputs = {source},
                .outputs = {},
                .attributes = {},
                .source = view.source,
                .origin = view.origin};
  switch (alias_of(view)) {
    case AtenAlias::kFresh:
    case AtenAlias::kSame:
      return std::nullopt;
    case AtenAlias::kReshape:
      node.attributes.set("size", sizes_of(graph[base]));
      return node;
    case AtenAlias::kPermute:
      node.op = AtenOp::permute_default;
      node.attributes.set("dims", inverse_of(view.attributes.integers("dims")));
      return node;
    case AtenAlias::kTranspose:
      node.op = view.op;
      node.attributes = view.attributes;
      return node;
    case AtenAlias::kScatter:
      node.op = view.op == ir::Op(AtenOp::select_int) ? AtenOp::select_scatter_default : AtenOp::slice_scatter_default;
      node.inputs = {base, source};
      node.attributes = view.op == ir::Op(AtenOp::narrow_default) ? slice_of(view.attributes) : view.attributes;
      return node;
  }
  CARINA_UNREACHABLE("alias of a view", alias_of(view));
}

ir::ValueId add_result(ir::Graph& graph, ir::Node node, ir::ValueId like) {
  const ir::Value& model = graph[like];
  const ir::ValueId value = graph.add_value(std::string(model.name), model.dtype, Shape(model.shape));
  node.outputs = {value};
  graph.add_node(std::move(node));
  return value;
}

}  // namespace

size_t Aliases::family_of(ir::ValueId value) {
  const auto known = family_of_value_.find(key_of(value));
  if (known != family_of_value_.end()) return known->second;
  families_.push_back({.names = {}, .members = {value}, .first_base = value});
  family_of_value_.emplace(key_of(value), families_.size() - 1);
  return families_.size() - 1;
}

void Aliases::bind(Scope& scope, std::string_view name, ir::ValueId value) {
  scope.bind(name, value);
  families_[family_of(value)].names.push_back({.scope = &scope, .name = name});
}

void Aliases::add_view(ir::ValueId value, ir::NodeId view) {
  const ir::ValueId base = graph_[view].inputs.front();
  if (!base.valid()) return;
  const size_t family = family_of(base);
  family_of_value_[key_of(value)] = family;
  families_[family].members.push_back(value);
  view_of_.emplace(key_of(value), View{.node = view, .base = base});
}

ir::ValueId Aliases::origin(ir::ValueId value) const {
  const auto known = family_of_value_.find(key_of(value));
  return known == family_of_value_.end() ? value : families_[known->second].first_base;
}

void Aliases::rename(ir::ValueId before, ir::ValueId after) {
  for (const Binding& binding : families_[family_of(before)].names) {
    if (binding.scope->find(binding.name) == before) binding.scope->bind(binding.name, after);
  }
}

// Goes from the written view up to the base. Each viewed tensor gets a new value in which the written part is replaced.
Result<void> Aliases::write_through(ir::ValueId before, Replacements& replaced, const std::string& where) {
  for (auto view = view_of_.find(key_of(before)); view != view_of_.end(); view = view_of_.find(key_of(before))) {
    const ir::Node node = graph_[view->second.node];
    if (alias_of(node) == AtenAlias::kFresh) {
      return fail(
          {.where = where,
           .what = fmt::format("a tensor is changed in place through {} of it, which is not supported", node.op.name()),
           .hint = "write the model without the in-place operation, or export it with run_decompositions()"});
    }
    const ir::ValueId base = view->second.base;
    const ir::ValueId source = replaced.at(key_of(before));
    std::optional<ir::Node> back = node_back(graph_, node, base, source);
    replaced[key_of(base)] = back ? add_result(graph_, std::move(*back), base) : source;
    before = base;
  }
  return {};
}

// Goes down from the base. Each other view of the family is computed again from the new values.
void Aliases::renew_views(const Family& family, Replacements& replaced) {
  for (const ir::ValueId member : family.members) {
    const auto view = view_of_.find(key_of(member));
    if (replaced.contains(key_of(member)) || view == view_of_.end()) continue;
    ir::Node again = graph_[view->second.node];
    const auto base = replaced.find(key_of(view->second.base));
    if (base == replaced.end() || again.outputs.size() != 1) continue;
    again.inputs.front() = base->second;
    again.name += "_again";
    const ir::ValueId value = add_result(graph_, std::move(again), member);
    replaced[key_of(member)] = value;
    view_of_.emplace(key_of(value), View{.node = ir::NodeId(graph_.nodes.size() - 1), .base = base->second});
  }
}

Result<void> Aliases::overwrite(ir::ValueId before, ir::ValueId after, const std::string& where) {
  const size_t old_family = family_of(before);
  const Family family = families_[old_family];
  Replacements replaced{{key_of(before), after}};
  const bool others_used = std::ranges::any_of(family.names, [&](const Binding& binding) {
    return binding.scope->find(binding.name) != before && binding.scope->used_later(binding.name);
  });
  if (others_used) {
    CARINA_CHECKED(write_through(before, replaced, where));
    renew_views(family, replaced);
  }
  Family renewed{.names = family.names, .members = {}, .first_base = family.first_base};
  const size_t new_family = families_.size();
  for (const ir::ValueId member : family.members) {
    const auto now = replaced.find(key_of(member));
    if (now == replaced.end()) continue;
    renewed.members.push_back(now->second);
    family_of_value_[key_of(now->second)] = new_family;
    // A written view stays a view, now of the base's new value.
    const auto view = view_of_.find(key_of(member));
    if (!others_used || view == view_of_.end() || view_of_.contains(key_of(now->second))) continue;
    const ir::ValueId base = replaced.at(key_of(view->second.base));
    if (base == now->second) continue;  // a view of all elements in the same shape is now its base
    view_of_.emplace(key_of(now->second), View{.node = view->second.node, .base = base});
  }
  for (const Binding& binding : family.names) {
    const auto current = binding.scope->find(binding.name);
    const auto now = current ? replaced.find(key_of(*current)) : replaced.end();
    if (now != replaced.end()) binding.scope->bind(binding.name, now->second);
  }
  families_.push_back(std::move(renewed));
  return {};
}

}  // namespace carina::pt2
