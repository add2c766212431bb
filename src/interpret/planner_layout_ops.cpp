// Fuses chains of TRANSPOSE and SLICE, with or without RESHAPE between them, into one copy from the first operand. The
// heads of attention layers have this form.

#include <algorithm>

#include "interpret/ops/op_table_internal.h"
#include "interpret/planner_internal.h"
#include "ir/tosa_node.h"

namespace carina::interpret {

// For the result of each data-movement node, finds the view of the chain's first operand. What a fused kernel computes
// is no view: it reads its operands as they are.
void Planner::find_layout_views() {
  views_.resize(graph_.values.size());
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const ir::Node& node = graph_.nodes[n];
    if (done_[n] || !node.op.is_tosa() || node.inputs.empty() || node.outputs.size() != 1) continue;
    const OpRow* row = kernel_row_of(node.op.tosa());
    const TosaOp op = node.op.tosa();
    if (op != TosaOp::TRANSPOSE && op != TosaOp::SLICE && !copies_nothing(node)) continue;
    const NodePlan plan = node_plan(node);
    if (!ir::check_row(node, {}) || !row->prepare(plan)) continue;
    const ir::ValueId in = node.inputs.front();
    const auto& before = views_[in.index()];
    const auto view = view_of(plan, before ? before->view : dense_view(graph_[in].shape));
    if (view) views_[node.outputs.front().index()] = LayoutView{.source = before ? before->source : in, .view = *view};
  }
}

// Returns whether all users of a value read its elements through views. Then the value itself is not needed.
bool Planner::is_only_viewed(ir::ValueId value) const {
  if (!views_[value.index()] || is_seen_[value.index()] || users_[value.index()].empty()) return false;
  return std::ranges::all_of(users_[value.index()], [&](ir::NodeId user) {
    const ir::Node& node = graph_[user];
    // A RESHAPE copies nothing, so it is not turned into a copy. VARIABLE_WRITE has no output.
    return node.inputs.front() == value && !node.outputs.empty() && views_[node.outputs.front().index()] &&
           (!copies_nothing(node) || done_[user.index()]);
  });
}

void Planner::fuse_layout_ops() {
  find_layout_views();
  for (size_t n = graph_.nodes.size(); n-- > 0;) {
    const ir::Node& node = graph_.nodes[n];
    if (node.outputs.size() == 1 && is_only_viewed(node.outputs.front())) done_[n] = true;
  }
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const ir::Node& node = graph_.nodes[n];
    if (done_[n] || node.outputs.size() != 1 || !views_[node.outputs.front().index()]) continue;
    const LayoutView& view = *views_[node.outputs.front().index()];
    std::vector<ir::NodeId> passed;
    for (ir::ValueId at = node.inputs.front(); at != view.source && done_[producers_[at.index()].index()];
         at = graph_[passed.back()].inputs.front()) {
      passed.push_back(producers_[at.index()]);
    }
    if (passed.empty()) continue;
    fused_.emplace(n, Fused{.kernel = copy_of_view(view.view, graph_[view.source].dtype),
                            .reads = {view.source},
                            .writes = node.outputs,
                            .others = std::move(passed)});
  }
}

}  // namespace carina::interpret
