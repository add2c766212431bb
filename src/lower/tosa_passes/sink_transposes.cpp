// What:   transpositions move down through operators that do not depend on the order of axes, until they cancel.
//         Reshapes after transpositions move down through operators of one operand before.
// Before: %a = TRANSPOSE(%x) {[0,3,1,2]}; %b = CLAMP(%a); %c = TRANSPOSE(%b) {[0,2,3,1]}; %d = CONV2D(%c, ...)
// After:  %b = CLAMP(%x); %d = CONV2D(%b, ...)
// Needs:  constant shape operands.
// Gives:  no transposition between two convolutions. There are no more transpositions than before, or they move no more
//         elements. Graph outputs keep their axes.
// Legal:  f(transpose(x)) = transpose(f(x)) for elementwise f, and for reductions, slices, pads, tiles and
//         concatenations with their axes renamed.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ir/emitter.h"
#include "lower/tosa_passes/aliases_internal.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/elements.h"
#include "tensor/permutation.h"

namespace carina::lower {
namespace {

using ir::Node;
using ir::ValueId;

enum class Adjust : uint8_t { kNothing, kAxis, kShapes, kPadding };

struct LayoutRow {
  TosaOp op;
  size_t data_operands;  // number of leading operands with the axes of the result
  // adjusts what else depends on axes: the attribute "axis", or shape operands with one entry or one pair per axis
  Adjust adjust;
};

constexpr size_t kAll = 1000;
constexpr LayoutRow kSinkTransposesRows[] = {
    {TosaOp::RESCALE, 1, Adjust::kNothing},    {TosaOp::CLAMP, 1, Adjust::kNothing},
    {TosaOp::TABLE, 1, Adjust::kNothing},      {TosaOp::CAST, 1, Adjust::kNothing},
    {TosaOp::SIGMOID, 1, Adjust::kNothing},    {TosaOp::TANH, 1, Adjust::kNothing},
    {TosaOp::ERF, 1, Adjust::kNothing},        {TosaOp::EXP, 1, Adjust::kNothing},
    {TosaOp::LOG, 1, Adjust::kNothing},        {TosaOp::ABS, 1, Adjust::kNothing},
    {TosaOp::CEIL, 1, Adjust::kNothing},       {TosaOp::FLOOR, 1, Adjust::kNothing},
    {TosaOp::SIN, 1, Adjust::kNothing},        {TosaOp::COS, 1, Adjust::kNothing},
    {TosaOp::RECIPROCAL, 1, Adjust::kNothing}, {TosaOp::RSQRT, 1, Adjust::kNothing},
    {TosaOp::ADD, 2, Adjust::kNothing},        {TosaOp::SUB, 2, Adjust::kNothing},
    {TosaOp::MUL, 2, Adjust::kNothing},        {TosaOp::POW, 2, Adjust::kNothing},
    {TosaOp::MAXIMUM, 2, Adjust::kNothing},    {TosaOp::MINIMUM, 2, Adjust::kNothing},
    {TosaOp::REDUCE_SUM, 1, Adjust::kAxis},    {TosaOp::REDUCE_MAX, 1, Adjust::kAxis},
    {TosaOp::REDUCE_MIN, 1, Adjust::kAxis},    {TosaOp::CONCAT, kAll, Adjust::kAxis},
    {TosaOp::SLICE, 1, Adjust::kShapes},       {TosaOp::TILE, 1, Adjust::kShapes},
    {TosaOp::PAD, 1, Adjust::kPadding},
};

const LayoutRow* row_of(const Node& node) {
  const auto row = std::ranges::find(kSinkTransposesRows, node.op.tosa(), &LayoutRow::op);
  return row == std::end(kSinkTransposesRows) ? nullptr : &*row;
}

bool is_per_channel(const Node& node) {
  return node.op == ir::Op(TosaOp::RESCALE) && node.attributes.get<bool>("per_channel");
}

// Whether a transposition moves down if another operand then needs a new one. The number of transpositions stays equal
// at first, and may decrease further down.
enum class Evenly : uint8_t { kSinks, kStays };

class Sinking {
 public:
  Sinking(ir::Graph& graph, Evenly evenly) : graph_(graph), out_(graph), aliases_(graph), evenly_(evenly) {}

  void run() {
    std::vector<Node> nodes = std::exchange(graph_.nodes, {});
    for (Node& node : nodes) {
      for (ValueId& input : node.inputs) input = aliases_(input);
      if (node.op == ir::Op(TosaOp::TRANSPOSE))
        transpose(std::move(node));
      else if (!sink(node))
        keep(std::move(node));
    }
    ir::remove_dead(graph_);
  }

 private:
  // value = TRANSPOSE(source) {perms}
  struct Origin {
    ValueId source;
    Perms perms;
  };

  void keep(Node node) {
    producer_[node.outputs[0]] = graph_.nodes.size();
    graph_.add_node(std::move(node));
  }

  // Merges two adjacent transpositions.
  void transpose(Node node) {
    Origin origin{.source = node.inputs[0], .perms = node.attributes.integers("perms")};
    const ValueId output = node.outputs[0];
    if (const auto before = origins_.find(origin.source); before != origins_.end()) {
      origin = {.source = before->second.source, .perms = composed(before->second.perms, origin.perms)};
    }
    if (is_identity(origin.perms) && aliases_.may_replace(output, origin.source)) {
      aliases_.replace(output, origin.source);
      return;
    }
    node.inputs[0] = origin.source;
    node.attributes.set("perms", origin.perms);
    if (is_identity(origin.perms)) {
      node.op = TosaOp::IDENTITY;
      node.attributes = {};
    } else {
      origins_[output] = origin;
    }
    keep(std::move(node));
  }

  // The permutation that can move below a node. It must pay: more operands have this transposition (or can be
  // transposed for free) than would need a new one.
  [[nodiscard]] std::optional<Perms> common_perms(const Node& node, size_t count) const {
    std::optional<Perms> perms;
    for (size_t i = 0; i < count && !perms; ++i) {
      if (const auto origin = origins_.find(node.inputs[i]); origin != origins_.end()) perms = origin->second.perms;
    }
    if (!perms) return std::nullopt;
    if (is_per_channel(node) && perms->back() != static_cast<int64_t>(perms->size()) - 1) return std::nullopt;
    int score = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto origin = origins_.find(node.inputs[i]);
      if (origin != origins_.end() && origin->second.perms == *perms)
        ++score;
      else if (!graph_[node.inputs[i]].constant &&
               !keeps_element_order(graph_[node.inputs[i]].shape, inverse_of(*perms)))
        --score;
    }
    return score > 0 || (score == 0 && evenly_ == Evenly::kSinks) ? perms : std::nullopt;
  }

  bool sink(const Node& node) {
    const LayoutRow* row = row_of(node);
    if (row == nullptr) return false;
    const size_t count = std::min(row->data_operands, node.inputs.size());
    const auto perms = common_perms(node, count);
    if (!perms) return false;
    Node moved = node;
    out_.set_origin_of(node);
    for (size_t i = 0; i < count; ++i) moved.inputs[i] = untransposed(node.inputs[i], *perms);
    adjust(moved, *row, *perms);
    const ir::Value result = graph_[node.outputs[0]];
    moved.outputs[0] =
        graph_.add_value(reordered_name(result.name), result.dtype, permuted(result.shape, inverse_of(*perms)));
    const ValueId source = moved.outputs[0];
    keep(std::move(moved));
    keep({.op = TosaOp::TRANSPOSE,
          .name = node.name,
          .inputs = {source},
          .outputs = node.outputs,
          .attributes = {{"perms", *perms}},
          .source = node.source});
    origins_[node.outputs[0]] = {.source = source, .perms = *perms};
    return true;
  }

  void adjust(Node& node, const LayoutRow& row, const Perms& perms) {
    const Perms inverse = inverse_of(perms);
    if (row.adjust == Adjust::kAxis)
      node.attributes.set("axis", perms[static_cast<size_t>(node.attributes.integer("axis"))]);
    if (row.adjust == Adjust::kShapes) {
      for (size_t i = 1; i < node.inputs.size(); ++i) {
        node.inputs[i] = out_.shape_constant(permuted(integers_of(*graph_[node.inputs[i]].constant), inverse));
      }
    }
    if (row.adjust == Adjust::kPadding) {
      const std::vector<int64_t> pairs = integers_of(*graph_[node.inputs[1]].constant);
      std::vector<int64_t> moved;
      for (const int64_t axis : inverse)
        moved.insert(moved.end(), {pairs[static_cast<size_t>(2 * axis)], pairs[static_cast<size_t>(2 * axis + 1)]});
      node.inputs[1] = out_.shape_constant(moved);
    }
  }

  // A value v with value = TRANSPOSE(v) {perms}. It is known, or a new transposition is added. The new one is placed as
  // high among the elementwise operators above as possible, where elements are still narrow. Not above a RESCALE of
  // int48 sums, which TOSA neither transposes nor reshapes.
  ValueId untransposed(ValueId value, const Perms& perms) {
    if (const auto origin = origins_.find(value); origin != origins_.end() && origin->second.perms == perms)
      return origin->second.source;
    const auto [known, is_new] = untransposed_.try_emplace({value, perms});
    if (!is_new) return known->second;
    const ValueId result = make_untransposed(value, perms);
    return untransposed_[{value, perms}] = result;
  }

  ValueId make_untransposed(ValueId value, const Perms& perms) {
    const Perms inverse = inverse_of(perms);
    if (graph_[value].constant) {
      const Tensor tensor = permuted(*graph_[value].constant, inverse);
      return graph_.add_constant(reordered_name(graph_[value].name), tensor);
    }
    const auto producer = producer_.find(value);
    if (producer != producer_.end()) {
      Node above = graph_.nodes[producer->second];
      const LayoutRow* row = row_of(above);
      if (row != nullptr && row->data_operands == 1 && row->adjust == Adjust::kNothing && !is_per_channel(above) &&
          graph_[above.inputs[0]].dtype != DType::kInt48) {
        above.inputs[0] = untransposed(above.inputs[0], perms);
        const ir::Value result = graph_[value];
        above.outputs = {graph_.add_value(reordered_name(result.name), result.dtype, permuted(result.shape, inverse))};
        const ValueId output = above.outputs[0];
        keep(std::move(above));
        return output;
      }
    }
    return out_.transpose(value, inverse);
  }

  ir::Graph& graph_;
  ir::Emitter out_;
  Aliases aliases_;
  Evenly evenly_;
  std::map<ValueId, Origin> origins_;
  std::map<ValueId, size_t> producer_;
  std::map<std::pair<ValueId, Perms>, ValueId> untransposed_;
};

// Moves reshapes after transpositions down through operators of one operand, so that the transpositions can follow.
//   Example: conv1d and its activation, which are an image until the reshape:
//   %t = TRANSPOSE(%conv [1,1,128,32]); %r = RESHAPE(%t) [1,32,128]; %y = TABLE(%r)
//   %t = TRANSPOSE(%conv [1,1,128,32]); %u = TABLE(%t); %y = RESHAPE(%u) [1,32,128]
class ReshapeSinking {
 public:
  explicit ReshapeSinking(ir::Graph& graph) : graph_(graph) {}

  void run() {
    find_narrowed();
    for (Node& node : std::exchange(graph_.nodes, {})) {
      if (node.op == ir::Op(TosaOp::TRANSPOSE)) transposed_.insert(node.outputs[0]);
      const auto reshape = node.inputs.empty() ? reshapes_.end() : reshapes_.find(node.inputs[0]);
      if (reshape != reshapes_.end() && moves_up(node)) {
        sink(std::move(node), Node(reshape->second));
      } else {
        keep(std::move(node));
      }
    }
  }

 private:
  [[nodiscard]] static bool has_one_operand(const Node& node) {
    const LayoutRow* row = row_of(node);
    return row != nullptr && row->data_operands == 1 && row->adjust == Adjust::kNothing && !is_per_channel(node);
  }
  // Finds the values that only one node reads, which moves up behind their producer, and how wide its result is.
  void find_narrowed() {
    const auto users = ir::users(graph_);
    const std::vector<bool> is_output = ir::is_output(graph_);
    for (const Node& node : graph_.nodes) {
      if (!has_one_operand(node) || is_output[node.inputs[0].index()] || users[node.inputs[0].index()].size() != 1)
        continue;
      narrowed_[node.inputs[0]] = element_bytes(graph_[node.outputs[0]].dtype);
    }
  }
  // Wider results would make the transposition longer, unless they are narrowed at once, as those of a table of 16 bits
  // are.
  [[nodiscard]] bool moves_up(const Node& node) const {
    if (!has_one_operand(node)) return false;
    const auto next = narrowed_.find(node.outputs[0]);
    const size_t result = element_bytes(graph_[node.outputs[0]].dtype);
    return std::min(result, next == narrowed_.end() ? result : next->second) <=
           element_bytes(graph_[node.inputs[0]].dtype);
  }
  void keep(Node node) {
    if (node.op == ir::Op(TosaOp::RESHAPE) && transposed_.contains(node.inputs[0]))
      reshapes_.emplace(node.outputs[0], node);
    graph_.add_node(std::move(node));
  }
  void sink(Node node, Node reshape) {
    const ir::Value result = graph_[node.outputs[0]];
    const ValueId source = reshape.inputs[0],
                  image = graph_.add_value(reordered_name(result.name), result.dtype, Shape(graph_[source].shape));
    reshape.inputs[0] = image;
    reshape.outputs[0] = std::exchange(node.outputs[0], image);
    node.inputs[0] = source;
    transposed_.insert(image);
    keep(std::move(node));
    keep(std::move(reshape));
  }

  ir::Graph& graph_;
  std::set<ValueId> transposed_;  // TRANSPOSEs, and results of nodes that have moved up to them
  std::map<ValueId, Node> reshapes_;
  std::map<ValueId, size_t> narrowed_;  // by value with one reader: bytes of an element of the reader's result
};

// The cost of the transpositions of a graph that move data.
struct TransposeCost {
  int64_t count = 0;
  int64_t elements = 0;
};
TransposeCost transposes_of(const ir::Graph& graph) {
  TransposeCost cost;
  for (const Node& node : graph.nodes) {
    if (node.op != ir::Op(TosaOp::TRANSPOSE)) continue;
    const Shape& shape = graph[node.inputs[0]].shape;
    if (keeps_element_order(shape, node.attributes.integers("perms"))) continue;
    ++cost.count;
    cost.elements += shape.elements();
  }
  return cost;
}

}  // namespace

Result<void> sink_transposes(ir::Graph& graph, const Log&) {
  // A transposition that moves far down may not meet its inverse: in a network with few convolutions, each linear layer
  // would need a new one. So the result is used only if its cost is lower.
  const TransposeCost before = transposes_of(graph);
  for (const Evenly evenly : {Evenly::kSinks, Evenly::kStays}) {
    ir::Graph sunk = graph;
    ReshapeSinking(sunk).run();
    Sinking(sunk, evenly).run();
    const TransposeCost cost = transposes_of(sunk);
    if (cost.count > before.count && cost.elements > before.elements) continue;
    graph = std::move(sunk);
    break;
  }
  return {};
}

}  // namespace carina::lower
