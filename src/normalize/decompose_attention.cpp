#include <algorithm>
#include <cmath>
#include <limits>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"
#include "tensor/elements.h"

// scaled_dot_product_attention becomes softmax(q x k^T * scale + mask) x v, with the mask as added numbers.
//   Example: a causal mask of 3 keys adds [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]] to the scores.
namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// A larger causal mask would take more memory than the model.
constexpr int64_t kMaxCausalMask = int64_t{1} << 26;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

// An attention mask. The scores of masked keys get minus infinity added. Integers have no infinity that a softmax could
// distinguish from a small number, and a softmax over infinities only is undefined for floats. Therefore a query
// without any visible key gets all keys, and its weights are set to 0 afterwards, as in PyTorch.
struct Mask {
  ValueId added;       // added to the scores; or flags: which keys a query sees
  ValueId shown = {};  // per query, whether it sees any key: flags, or constants 1 and 0; invalid: every query does
};

Tensor causal_mask(int64_t queries, int64_t keys) {
  std::vector<float> mask;
  for (int64_t q = 0; q < queries; ++q) {
    for (int64_t k = 0; k < keys; ++k) mask.push_back(k <= q ? 0 : kHidden);
  }
  return Tensor::of<float>(DType::kFp32, Shape{queries, keys}, mask);
}

Tensor mask_of_flags(const Tensor& flags) {
  std::vector<float> mask;
  for (const int64_t flag : integers_of(flags)) mask.push_back(flag != 0 ? 0 : kHidden);
  return Tensor::of<float>(DType::kFp32, flags.shape, mask);
}

Mask known_mask(Rewriter& in, const Node& node, const Tensor& mask) {
  const auto values = mask.values<float>();
  const size_t last = mask.shape.rank() - 1;
  const auto keys = static_cast<size_t>(mask.shape[last]);
  std::vector<float> added(values.begin(), values.end()), shown;
  for (size_t row = 0; row < values.size(); row += keys) {
    const bool hidden = std::ranges::all_of(values.subspan(row, keys), [](float v) { return v == kHidden; });
    shown.push_back(hidden ? 0.0F : 1.0F);
    if (hidden) std::fill_n(added.begin() + static_cast<ptrdiff_t>(row), keys, 0.0F);
  }
  Mask known{.added = in.constant(node.name + "_mask", Tensor::of<float>(DType::kFp32, mask.shape, added))};
  if (std::ranges::find(shown, 0.0F) == shown.end()) return known;
  Shape rows = mask.shape;
  rows[last] = 1;
  known.shown = in.constant(node.name + "_shown", Tensor::of<float>(DType::kFp32, rows, shown));
  return known;
}

ValueId flags(Rewriter& in, AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes, const Shape& shape) {
  ir::Value result{.name = "shown", .dtype = DType::kBool, .shape = shape, .quantization = {}, .constant = {}};
  return in.make_value(op, std::move(inputs), std::move(attributes), std::move(result));
}

ValueId chosen(Rewriter& in, ValueId flags, ValueId yes, ValueId no, const Shape& shape) {
  const DType type = in[yes].dtype;
  return in.make_value(AtenOp::where_self, {flags, yes, no}, {},
                       {.name = "chosen", .dtype = type, .shape = shape, .quantization = {}, .constant = {}});
}

// A mask whose content is not known at compile time.
Mask unknown_mask(Rewriter& in, ValueId given) {
  const Shape shape = in.shape(given);
  const std::vector<size_t> keys{shape.rank() - 1};
  const DType type = in[given].dtype;
  const auto any = [&](ValueId shown) {
    return flags(in, AtenOp::any_dims, {shown}, over_extremum(keys), kept_shape(shape, keys));
  };
  if (type == DType::kBool) {
    const ValueId shown = any(given);
    const ValueId none = flags(in, AtenOp::logical_not_default, {shown}, {}, in.shape(shown));
    return {.added = flags(in, AtenOp::logical_or_default, {given, none}, {}, shape), .shown = shown};
  }
  const ValueId shown = any(flags(in, AtenOp::gt_Tensor, {given, in.scalar(kHidden, type)}, {}, shape));
  return {.added = chosen(in, shown, given, in.scalar(0, type), shape), .shown = shown};
}

// No value if PyTorch does not support this kind of mask.
std::optional<Mask> mask_of(Rewriter& in, const Node& node, int64_t queries, int64_t keys) {
  const ValueId given = node.inputs[3];
  if (node.attributes.get<bool>("is_causal")) {
    if (given.valid() || queries > kMaxCausalMask || keys > kMaxCausalMask || queries * keys > kMaxCausalMask)
      return std::nullopt;
    return Mask{.added = in.constant(node.name + "_mask", causal_mask(queries, keys))};
  }
  if (!given.valid()) return Mask{};
  if (in.shape(given).rank() == 0) return std::nullopt;
  const auto& constant = in[given].constant;
  if (constant && constant->dtype == DType::kBool) return known_mask(in, node, mask_of_flags(*constant));
  if (constant && constant->dtype == DType::kFp32 && !in[given].quantization) return known_mask(in, node, *constant);
  return unknown_mask(in, given);
}

ValueId masked(Rewriter& in, ValueId scores, const Mask& mask) {
  if (!mask.added.valid()) return scores;
  const Shape shape = in.shape(scores);
  if (in[mask.added].dtype != DType::kBool) return in.make(AtenOp::add_Tensor, {scores, mask.added}, no_alpha(), shape);
  return chosen(in, mask.added, scores, in.scalar(kHidden, in[scores].dtype), shape);
}

ValueId softmax_of_rows(Rewriter& in, ValueId scores) {
  return in.make(AtenOp::softmax_int, {scores}, {{"dim", int64_t{-1}}, {"dtype", std::monostate()}}, in.shape(scores));
}

// Sets the weights of queries without a visible key to 0.
ValueId of_shown(Rewriter& in, ValueId weights, const Mask& mask) {
  if (!mask.shown.valid()) return weights;
  const Shape shape = in.shape(weights);
  if (in[mask.shown].constant) return in.make(AtenOp::mul_Tensor, {weights, mask.shown}, {}, shape);
  return chosen(in, mask.shown, weights, in.scalar(0, in[weights].dtype), shape);
}

// Repeats the heads of keys and values for groups of query heads, in order.
ValueId with_heads(Rewriter& in, ValueId x, int64_t heads) {
  const size_t axis = in.shape(x).rank() - 3;
  return repeat_each(in, x, axis, heads / in.shape(x)[axis]);
}

// softmax(q @ k^T * scale + mask) @ v
Result<bool> attention(Rewriter& in, const Node& node) {
  const ir::Attributes& attributes = node.attributes;
  const Shape q = in.shape(node.inputs[0]), k = in.shape(node.inputs[1]);
  const size_t rank = q.rank();
  if (attributes.number("dropout_p") != 0 || rank < 2 || k.rank() != rank) return false;
  const auto mask = mask_of(in, node, q[rank - 2], k[rank - 2]);
  if (!mask) return false;
  ValueId keys = node.inputs[1], values = node.inputs[2];
  if (attributes.get<bool>("enable_gqa") && rank > 2) {
    keys = with_heads(in, keys, q[rank - 3]);
    values = with_heads(in, values, q[rank - 3]);
  }
  const DType type = in[node.inputs[0]].dtype;
  const double scale =
      attributes.is_none("scale") ? 1 / std::sqrt(static_cast<double>(q[rank - 1])) : attributes.number("scale");
  Shape scores = in.shape(node.outputs[0]);
  scores[rank - 1] = k[rank - 2];
  ValueId score =
      in.make(AtenOp::matmul_default, {node.inputs[0], permuted_axes(in, keys, transposed_axes(in.shape(keys).rank()))},
              {}, scores);
  score = masked(in, in.make(AtenOp::mul_Tensor, {score, in.scalar(scale, type)}, {}, scores), *mask);
  const ValueId weights = of_shown(in, softmax_of_rows(in, score), *mask);
  return rewritten(in.define(node.outputs[0], AtenOp::matmul_default, {weights, values}, {}));
}

constexpr RewriteRow kDecomposeAttentionRows[] = {
    {AtenOp::scaled_dot_product_attention_default, attention},
};
static_assert(rewrites_what_becomes(kDecomposeAttentionRows));

}  // namespace

std::span<const RewriteRow> attention_rows() {
  return kDecomposeAttentionRows;
}

}  // namespace carina::normalize
