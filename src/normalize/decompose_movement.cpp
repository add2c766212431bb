// Decomposes padding with existing elements, rolls, shuffles, windows, triangles and gathers with constant indices. The
// results are slices, views and permutations, which every target supports.

#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

using Ints = std::vector<int64_t>;

// Longer lists of indices and larger masks would take more memory than the model: such nodes stay on the CPU.
constexpr int64_t kMaxIndices = int64_t{1} << 22;
constexpr int64_t kMaxMask = int64_t{1} << 25;

enum class Edge { kReflected, kRepeated, kWrapped };

// The source index of each element of an axis of `size`, padded with `before` and `after` elements.
Ints padded_indices(int64_t size, int64_t before, int64_t after, Edge edge) {
  Ints indices;
  for (int64_t i = -before; i < size + after; ++i) {
    int64_t from = i;
    if (edge == Edge::kRepeated) from = std::clamp<int64_t>(i, 0, size - 1);
    if (edge == Edge::kWrapped) from = (i % size + size) % size;
    if (edge == Edge::kReflected && i < 0) from = -i;
    if (edge == Edge::kReflected && i >= size) from = 2 * (size - 1) - i;
    indices.push_back(from);
  }
  return indices;
}

// `padding` has the sizes before and after the last axis, then those of the previous axis, and so on.
Result<bool> padded(Rewriter& in, const Node& node, const Ints& padding, Edge edge) {
  ValueId x = node.inputs[0];
  for (size_t i = 0; i + 1 < padding.size(); i += 2) {
    if (padding[i] == 0 && padding[i + 1] == 0) continue;
    const size_t axis = in.shape(x).rank() - 1 - i / 2;
    const int64_t size = in.shape(x)[axis];
    if (padding[i] < 0 || padding[i + 1] < 0 || size < 1 || size + padding[i] + padding[i + 1] > kMaxIndices)
      return false;
    x = take_or_gather(in, x, axis, padded_indices(size, padding[i], padding[i + 1], edge));
  }
  return rewritten(in.view_into(node.outputs[0], x));
}

template <Edge kEdge>
Result<bool> pad_edges(Rewriter& in, const Node& node) {
  return padded(in, node, node.attributes.integers("padding"), kEdge);
}

Result<bool> pad(Rewriter& in, const Node& node) {
  const auto& mode = node.attributes.get<std::string>("mode");
  const Ints& amounts = node.attributes.integers("pad");
  if (mode == "reflect") return padded(in, node, amounts, Edge::kReflected);
  if (mode == "replicate") return padded(in, node, amounts, Edge::kRepeated);
  if (mode == "circular") return padded(in, node, amounts, Edge::kWrapped);
  return false;
}

Result<bool> roll(Rewriter& in, const Node& node) {
  const Ints& shifts = node.attributes.integers("shifts");
  const Ints& dims = node.attributes.integers("dims");
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.elements() == 0 || (dims.empty() && shifts.size() != 1)) return false;
  ValueId x = dims.empty() ? in.view(node.inputs[0], Shape{shape.elements()}) : node.inputs[0];
  for (size_t i = 0; i < shifts.size(); ++i) {
    const size_t axis = dims.empty() ? 0 : axis_of(dims[i], shape.rank());
    const int64_t size = in.shape(x)[axis], cut = ((-shifts[i]) % size + size) % size;
    if (cut != 0) x = join(in, {slice(in, x, axis, cut, size), slice(in, x, axis, 0, cut)}, axis);
  }
  return rewritten(in.view_into(node.outputs[0], x));
}

// [..., C*r*r, H, W] -> [..., C, H*r, W*r]
Result<bool> pixel_shuffle(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const int64_t r = node.attributes.integer("upscale_factor");
  const size_t rank = shape.rank();
  if (rank < 3 || shape.elements() == 0) return false;
  const int64_t images = result.elements() / (result[rank - 2] * result[rank - 1]);
  const ValueId blocks = in.view(node.inputs[0], Shape{images, r, r, shape[rank - 2], shape[rank - 1]});
  return rewritten(in.view_into(node.outputs[0], permuted_axes(in, blocks, {0, 3, 1, 4, 2})));
}

Result<bool> repeat_interleave(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const int64_t times = node.attributes.integer("repeats");
  if (times < 1 || shape.rank() == 0 || shape.rank() > 5) return false;
  const bool flat = node.attributes.is_none("dim");
  const ValueId x = flat ? in.view(node.inputs[0], Shape{shape.elements()}) : node.inputs[0];
  const size_t axis = flat ? 0 : axis_of(node.attributes.integer("dim"), shape.rank());
  return rewritten(in.view_into(node.outputs[0], repeat_each(in, x, axis, times)));
}

// [..., C, H, W] -> [..., C*r*r, H/r, W/r]
Result<bool> pixel_unshuffle(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]), result = in.shape(node.outputs[0]);
  const int64_t r = node.attributes.integer("downscale_factor");
  const size_t rank = shape.rank();
  if (rank < 3 || shape.elements() == 0) return false;
  const int64_t height = result[rank - 2], width = result[rank - 1];
  const Shape blocks{shape.elements() / (height * r * width * r), height, r, width, r};
  return rewritten(in.view_into(node.outputs[0], permuted_axes(in, in.view(node.inputs[0], blocks), {0, 2, 4, 1, 3})));
}

Result<bool> channel_shuffle(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const int64_t groups = node.attributes.integer("groups");
  if (shape.rank() < 3 || shape[1] % groups != 0 || shape.elements() == 0) return false;
  const Shape grouped{shape[0], groups, shape[1] / groups, shape.elements() / shape[0] / shape[1]};
  return rewritten(in.view_into(node.outputs[0], permuted_axes(in, in.view(node.inputs[0], grouped), {0, 2, 1, 3})));
}

// A product with ones and zeros. A constant may contain infinities, whose product with 0 is NaN, so a constant uses a
// selection.
template <bool kUpper>
Result<bool> triangle(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  const DType type = in[node.inputs[0]].dtype;
  if (shape.rank() < 2) return false;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  const int64_t diagonal = node.attributes.integer("diagonal");
  if (rows > kMaxMask || columns > kMaxMask || rows * columns > kMaxMask) return false;
  std::vector<float> mask;
  std::vector<uint8_t> chosen;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const bool kept = kUpper ? c - r >= diagonal : c - r <= diagonal;
      mask.push_back(kept ? 1 : 0);
      chosen.push_back(kept ? 1 : 0);
    }
  }
  const Shape matrix{rows, columns};
  if (in[node.inputs[0]].constant || type != DType::kFp32) {
    const ValueId where = in.constant(node.name + "_mask", Tensor::of<uint8_t>(DType::kBool, matrix, chosen));
    return rewritten(in.define(node.outputs[0], AtenOp::where_self, {where, node.inputs[0], in.scalar(0, type)}, {}));
  }
  const ValueId factor = in.constant(node.name + "_mask", Tensor::of<float>(DType::kFp32, matrix, mask));
  return rewritten(in.define(node.outputs[0], AtenOp::mul_Tensor, {node.inputs[0], factor}, {}));
}

constexpr RewriteRow kDecomposeMovementRows[] = {
    {AtenOp::pad_default, pad},
    {AtenOp::reflection_pad1d_default, pad_edges<Edge::kReflected>},
    {AtenOp::reflection_pad2d_default, pad_edges<Edge::kReflected>},
    {AtenOp::reflection_pad3d_default, pad_edges<Edge::kReflected>},
    {AtenOp::replication_pad1d_default, pad_edges<Edge::kRepeated>},
    {AtenOp::replication_pad2d_default, pad_edges<Edge::kRepeated>},
    {AtenOp::replication_pad3d_default, pad_edges<Edge::kRepeated>},
    {AtenOp::roll_default, roll},
    {AtenOp::pixel_shuffle_default, pixel_shuffle},
    {AtenOp::pixel_unshuffle_default, pixel_unshuffle},
    {AtenOp::repeat_interleave_self_int, repeat_interleave},
    {AtenOp::channel_shuffle_default, channel_shuffle},
    {AtenOp::tril_default, triangle<false>},
    {AtenOp::triu_default, triangle<true>},
};
static_assert(rewrites_what_becomes(kDecomposeMovementRows));

}  // namespace

std::span<const RewriteRow> movement_rewrites() {
  return kDecomposeMovementRows;
}

}  // namespace carina::normalize
