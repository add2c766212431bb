// What:   transpositions of five or more axes get as few axes as possible: axes of size 1 are dropped, and axes that
//         stay adjacent are merged.
// Before: %y = TRANSPOSE(%x [1,197,3,6,64]) {[2,0,3,1,4]}
// After:  %a = RESHAPE(%x) [197,18,64]; %b = TRANSPOSE(%a) {[1,0,2]}; %y = RESHAPE(%b) [3,1,6,197,64]
// Needs:  nothing.
// Gives:  transpositions that other compilers support: for small NPUs, Vela limits the product of all axes but two to
//         2^16, unless there are three axes.
// Legal:  the elements have the same order, which axes of size 1 do not affect.

#include <algorithm>

#include "ir/emitter.h"
#include "lower/tosa_passes/passes.h"
#include "tensor/permutation.h"

namespace carina::lower {
namespace {

using ir::Node;

constexpr size_t kManyAxes = 5;

// An equivalent transposition with fewer axes.
struct Move {
  std::vector<int64_t> sizes = {};  // of the input's merged axes
  Perms perms = {};
};

Move with_fewest_axes(const Shape& shape, const Perms& perms) {
  std::vector<int64_t> index(shape.rank(), -1), sizes;  // index among the axes whose size is not 1
  for (size_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    index[axis] = static_cast<int64_t>(sizes.size());
    sizes.push_back(shape[axis]);
  }
  struct Run {
    int64_t first;  // index of its first axis in the input
    int64_t size;
  };
  std::vector<Run> runs;  // runs of axes that are adjacent in the input too, in the order of the result
  int64_t next = -1;
  for (const int64_t axis : perms) {
    const int64_t at = index[static_cast<size_t>(axis)];
    if (at < 0) continue;
    const int64_t size = sizes[static_cast<size_t>(at)];
    if (at == next) {
      runs.back().size *= size;
    } else {
      runs.push_back({.first = at, .size = size});
    }
    next = at + 1;
  }
  std::vector<Run> given = runs;
  std::ranges::sort(given, {}, &Run::first);
  Move move;
  for (const Run& run : given) move.sizes.push_back(run.size);
  for (const Run& run : runs) move.perms.push_back(std::ranges::find(given, run.first, &Run::first) - given.begin());
  return move;
}

}  // namespace

Result<void> merge_axes(ir::Graph& graph, const Log&) {
  ir::Emitter out(graph);
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    const ir::ValueId input = node.inputs.empty() ? ir::ValueId() : node.inputs[0];
    if (node.op == ir::Op(TosaOp::TRANSPOSE) && graph[input].shape.rank() >= kManyAxes) {
      const Move move = with_fewest_axes(graph[input].shape, node.attributes.integers("perms"));
      if (move.sizes.size() > 1 && move.sizes.size() < graph[input].shape.rank()) {
        out.set_origin_of(node);
        const ir::ValueId moved = out.transpose(out.reshape(input, Shape(move.sizes)), move.perms);
        node.op = TosaOp::RESHAPE;
        node.attributes = {};
        node.inputs = {moved, out.shape_constant(graph[node.outputs[0]].shape.dims())};
      }
    }
    graph.add_node(std::move(node));
  }
  ir::remove_dead(graph);
  return {};
}

}  // namespace carina::lower
