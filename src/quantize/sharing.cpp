#include "quantize/sharing_internal.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace carina::quantize {

namespace {

using ir::Node;
using ir::ValueId;

enum class Keeps {
  kAll,         // all operands and results share
  kFirst,       // results share with the first operand
  kActivation,  // as kFirst, and fuses with what comes before
};
struct KeepRow {
  AtenOp op;
  Keeps keeps;
};
// Ops that are not here give results with parameters of their own.
constexpr std::array kRows = {
    KeepRow{AtenOp::relu_default, Keeps::kActivation},
    KeepRow{AtenOp::relu6_default, Keeps::kActivation},
    KeepRow{AtenOp::hardtanh_default, Keeps::kActivation},
    KeepRow{AtenOp::clamp_default, Keeps::kActivation},
    KeepRow{AtenOp::clamp_min_default, Keeps::kActivation},
    KeepRow{AtenOp::clamp_max_default, Keeps::kActivation},
    KeepRow{AtenOp::view_default, Keeps::kFirst},
    KeepRow{AtenOp::reshape_default, Keeps::kFirst},
    KeepRow{AtenOp::permute_default, Keeps::kFirst},
    KeepRow{AtenOp::transpose_int, Keeps::kFirst},
    KeepRow{AtenOp::slice_Tensor, Keeps::kFirst},
    KeepRow{AtenOp::select_int, Keeps::kFirst},
    KeepRow{AtenOp::expand_default, Keeps::kFirst},
    KeepRow{AtenOp::repeat_default, Keeps::kFirst},
    KeepRow{AtenOp::squeeze_dims, Keeps::kFirst},
    KeepRow{AtenOp::unsqueeze_default, Keeps::kFirst},
    KeepRow{AtenOp::flip_default, Keeps::kFirst},
    KeepRow{AtenOp::split_Tensor, Keeps::kFirst},
    KeepRow{AtenOp::split_with_sizes_default, Keeps::kFirst},
    KeepRow{AtenOp::chunk_default, Keeps::kFirst},
    KeepRow{AtenOp::unbind_int, Keeps::kFirst},
    KeepRow{AtenOp::constant_pad_nd_default, Keeps::kFirst},
    KeepRow{AtenOp::reflection_pad2d_default, Keeps::kFirst},
    KeepRow{AtenOp::pixel_shuffle_default, Keeps::kFirst},
    KeepRow{AtenOp::pixel_unshuffle_default, Keeps::kFirst},
    KeepRow{AtenOp::clone_default, Keeps::kFirst},
    KeepRow{AtenOp::unfold_default, Keeps::kFirst},
    KeepRow{AtenOp::index_select_default, Keeps::kFirst},
    KeepRow{AtenOp::gather_default, Keeps::kFirst},
    KeepRow{AtenOp::index_Tensor, Keeps::kFirst},
    KeepRow{AtenOp::embedding_default, Keeps::kFirst},
    KeepRow{AtenOp::max_pool2d_default, Keeps::kFirst},
    KeepRow{AtenOp::avg_pool2d_default, Keeps::kFirst},
    KeepRow{AtenOp::adaptive_avg_pool2d_default, Keeps::kFirst},
    KeepRow{AtenOp::amax_default, Keeps::kFirst},
    KeepRow{AtenOp::amin_default, Keeps::kFirst},
    KeepRow{AtenOp::upsample_nearest2d_vec, Keeps::kFirst},
    KeepRow{AtenOp::upsample_bilinear2d_vec, Keeps::kFirst},
    KeepRow{AtenOp::cat_default, Keeps::kAll},
    KeepRow{AtenOp::stack_default, Keeps::kAll},
    KeepRow{AtenOp::maximum_default, Keeps::kAll},
    KeepRow{AtenOp::minimum_default, Keeps::kAll},
    KeepRow{AtenOp::where_self, Keeps::kAll},
    KeepRow{AtenOp::index_put_default, Keeps::kAll},
    KeepRow{AtenOp::slice_scatter_default, Keeps::kAll},
    KeepRow{AtenOp::select_scatter_default, Keeps::kAll},
};

std::optional<Keeps> keeps_of(const Node& node) {
  const auto* found = std::ranges::find(kRows, node.op.aten(), &KeepRow::op);
  return found == kRows.end() ? std::nullopt : std::optional(found->keeps);
}

class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t find(size_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void join(size_t a, size_t b) {
    const size_t x = find(a), y = find(b);
    parent_[std::max(x, y)] = std::min(x, y);
  }

 private:
  std::vector<size_t> parent_;
};

// The activation takes the place of the value before it: nobody else reads that value, and the node that makes it
// chooses its result's parameters freely.
bool fuses(const ir::Graph& graph, ValueId before, const std::vector<ir::NodeId>& producers,
           const std::vector<std::vector<ir::NodeId>>& users, const std::vector<bool>& is_output) {
  const ir::NodeId producer = producers[before.index()];
  if (!producer.valid() || users[before.index()].size() != 1 || is_output[before.index()]) return false;
  const std::optional<Keeps> keeps = keeps_of(graph[producer]);
  return !keeps || *keeps == Keeps::kActivation;
}

}  // namespace

std::optional<WeightRole> weight_role_of(const Node& node) {
  switch (node.op.aten()) {
    case AtenOp::conv1d_default:
    case AtenOp::conv2d_default:
    case AtenOp::conv3d_default:
    case AtenOp::linear_default:
      return WeightRole{};
    case AtenOp::convolution_default:
      return WeightRole{.axis =
                            node.attributes.get<bool>("transposed") && node.attributes.integer("groups") == 1 ? 1 : 0};
    case AtenOp::conv_transpose2d_input:
      return WeightRole{.axis = node.attributes.integer("groups") == 1 ? 1 : 0};
    default:
      return std::nullopt;
  }
}

Sharing sharing_of(const ir::Graph& graph, const std::vector<bool>& left_float) {
  const auto producers = ir::producers(graph);
  const auto users = ir::users(graph);
  const auto is_output = ir::is_output(graph);
  const auto is_real = [&](ValueId id) { return id.valid() && graph[id].dtype == DType::kFp32; };
  Groups groups(graph.values.size());
  Sharing sharing{.group = std::vector<size_t>(graph.values.size()),
                  .is_observed = std::vector<bool>(graph.values.size(), true)};
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::optional<Keeps> keeps = keeps_of(node);
    if (left_float[n] || !keeps || node.outputs.empty() || !is_real(node.outputs.front())) continue;
    const size_t result = node.outputs.front().index();
    for (const ValueId output : node.outputs) {
      if (is_real(output)) groups.join(result, output.index());
    }
    for (const ValueId input : node.inputs) {
      if (is_real(input)) groups.join(result, input.index());
      if (*keeps != Keeps::kAll) break;
    }
    const ValueId before = node.inputs.front();
    if (*keeps == Keeps::kActivation && is_real(before) && fuses(graph, before, producers, users, is_output))
      sharing.is_observed[before.index()] = false;
  }
  for (size_t v = 0; v < graph.values.size(); ++v) sharing.group[v] = groups.find(v);
  return sharing;
}

}  // namespace carina::quantize
