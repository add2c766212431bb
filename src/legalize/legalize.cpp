#include "legalize/legalize.h"

#include <algorithm>

#include "ir/propagate_quantization.h"
#include "legalize/legalize_internal.h"
#include "lower/legality.h"

namespace carina::legalize {

using ir::Node;
using ir::ValueId;

namespace {

Result<const LegalizeRow*> legalized_by(std::span<const LegalizeRow> rows, normalize::Rewriter& in, const Node& node,
                                        const lower::Target& target, std::string_view rule) {
  for (const LegalizeRow& row : rows) {
    if (row.rule != rule || row.op != node.op.aten()) continue;
    CARINA_TRY(const bool rewritten, row.rewrite(in, node, target));
    if (rewritten) return &row;
  }
  return nullptr;
}

std::vector<std::optional<ir::Rejection>> rejections(const ir::Graph& graph, const lower::Target& target) {
  ir::Graph annotated = graph;
  ir::propagate_quantization(annotated);
  return lower::rejections_of(annotated, target);
}

}  // namespace

std::vector<int64_t> stride_of(const Node& node) {
  const auto& stride = node.attributes.integers("stride");
  return stride.empty() ? node.attributes.integers("kernel_size") : stride;
}

int64_t window_reach(const normalize::Rewriter& in, const Node& node, size_t axis) {
  const bool is_pool = node.attributes.find("kernel_size") != nullptr;
  const int64_t kernel = is_pool ? node.attributes.integers("kernel_size")[axis] : in.shape(node.inputs[1])[2 + axis];
  const bool dilated = node.attributes.find("dilation") != nullptr;
  return (dilated ? node.attributes.integers("dilation")[axis] : 1) * (kernel - 1) + 1;
}

ValueId picked(normalize::Rewriter& in, ValueId x, const Picked& which) {
  Shape shape = in.shape(x);
  if (which.start == 0 && which.step == 1 && which.count == shape[which.axis]) return x;
  shape[which.axis] = which.count;
  return in.move(AtenOp::slice_Tensor, {x},
                 {{"dim", static_cast<int64_t>(which.axis)},
                  {"start", which.start},
                  {"end", which.start + (which.count - 1) * which.step + 1},
                  {"step", which.step}},
                 shape);
}

ValueId with_margins(normalize::Rewriter& in, ValueId image, const Margins& margins) {
  std::vector<int64_t> pad;  // last axis first
  Shape shape = in.shape(image);
  for (size_t axis = 2; axis-- > 0;) {
    const int64_t before = margins.before[axis], after = margins.after[axis];
    const int64_t kept = shape[2 + axis] + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    image = picked(in, image, {.axis = 2 + axis, .start = std::max<int64_t>(-before, 0), .count = kept, .step = 1});
    pad.insert(pad.end(), {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)});
    shape[2 + axis] += before + after;
  }
  if (std::ranges::all_of(pad, [](int64_t n) { return n == 0; })) return image;
  return in.move(AtenOp::constant_pad_nd_default, {image}, {{"pad", pad}, {"value", int64_t{0}}}, shape);
}

ValueId quantized_like(normalize::Rewriter& in, ValueId value, ValueId like) {
  in.graph()[value].quantization = in[like].quantization;
  return value;
}

Result<std::vector<Legalized>> legalize(ir::Graph& graph, const lower::Target& target) {
  const std::vector<std::optional<ir::Rejection>> rejected = rejections(graph, target);
  std::vector<Legalized> legalized;
  normalize::Rewriter in(graph, {});
  CARINA_CHECKED(in.run_each([&](const Node& node, ir::NodeId id) -> Result<bool> {
    const std::optional<ir::Rejection>& rejection = rejected[id.index()];
    if (!rejection || !node.op.is_aten()) return false;
    for (const auto rows : {stride_rows(), extent_rows()}) {
      CARINA_TRY(const LegalizeRow* row, legalized_by(rows, in, node, target, rejection->rule));
      if (row == nullptr) continue;
      legalized.push_back({.node = node.name,
                           .source = node.source,
                           .rule = rejection->rule,
                           .reason = rejection->reason,
                           .change = std::string(row->change)});
      return true;
    }
    return false;
  }));
  return legalized;
}

}  // namespace carina::legalize
