#include <algorithm>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"
#include "normalize/slices.h"
#include "tensor/permutation.h"

// Operators over volumes [N,C,D,H,W]: 3D transposed convolutions become 3D convolutions.
namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

// Reverses the taps of each pair of channels.
Tensor with_taps_reversed(const Tensor& weight) {
  MutableTensor reversed(weight.dtype, weight.shape);
  const size_t bytes = element_bytes(weight.dtype);
  const auto taps = static_cast<size_t>(weight.shape[2] * weight.shape[3] * weight.shape[4]);
  const auto from = weight.data.bytes();
  for (size_t at = 0; at * bytes < from.size(); ++at) {
    const size_t tap = at % taps, to = at - tap + (taps - 1 - tap);
    std::ranges::copy(from.subspan(at * bytes, bytes), reversed.bytes().begin() + static_cast<ptrdiff_t>(to * bytes));
  }
  return std::move(reversed).freeze();
}

// [I,O/G,KD,KH,KW] -> [O,I/G,KD,KH,KW] with reversed taps: the weights of the convolution that computes the same sums.
ValueId turned_weight(Rewriter& in, ValueId id, int64_t groups) {
  ir::Value turned = in[id];
  const Shape s = turned.shape;
  turned.name += "_turned";
  turned.shape = Shape{groups * s[1], s[0] / groups, s[2], s[3], s[4]};
  turned.constant->shape = Shape{groups, s[0] / groups, s[1], s[2], s[3], s[4]};
  turned.constant = permuted(*turned.constant, {0, 2, 1, 3, 4, 5});
  turned.constant->shape = turned.shape;
  turned.constant = with_taps_reversed(*turned.constant);
  if (turned.quantization && turned.quantization->per_channel()) turned.quantization->axis = 0;
  return in.graph().add_value(std::move(turned));
}

ValueId padded_after(Rewriter& in, ValueId x, size_t axis, int64_t before, int64_t after) {
  Shape shape = in.shape(x);
  Ints pad(2 * (shape.rank() - axis), 0);
  pad[pad.size() - 2] = before;
  pad.back() = after;
  shape[axis] += before + after;
  return in.move(AtenOp::constant_pad_nd_default, {x}, {{"pad", pad}, {"value", int64_t{0}}}, shape);
}

// Inserts step - 1 zeros between neighbors along an axis.
ValueId upsampled(Rewriter& in, ValueId x, size_t axis, int64_t step) {
  const Shape shape = in.shape(x);
  if (step == 1 || shape[axis] == 1) return x;
  const int64_t outer = Shape(shape.dims().first(axis)).elements();
  const Shape single{outer, shape[axis], 1, shape.elements() / outer / shape[axis]};
  const ValueId apart = padded_after(in, in.view(x, single), 2, 0, step - 1);
  Shape wide = shape;
  wide[axis] *= step;
  return slice(in, in.view(apart, wide), axis, 0, (shape[axis] - 1) * step + 1);
}

// Pads an axis. Negative `before` and `after` cut elements off.
ValueId padded(Rewriter& in, ValueId x, size_t axis, int64_t before, int64_t after) {
  const int64_t size = in.shape(x)[axis];
  x = slice(in, x, axis, std::max<int64_t>(-before, 0), size - std::max<int64_t>(-after, 0));
  before = std::max<int64_t>(before, 0);
  after = std::max<int64_t>(after, 0);
  return before + after == 0 ? x : padded_after(in, x, axis, before, after);
}

// TOSA has no 3D transposed convolution. It becomes a convolution with reversed taps of the volume with inserted zeros.
Result<bool> conv_transpose3d(Rewriter& in, const Node& node) {
  const ir::Value& weight = in[node.inputs[1]];
  const int64_t groups = node.attributes.integer("groups");
  if (in.shape(node.inputs[0]).rank() != 5 || !weight.constant) return false;
  if (weight.quantization && weight.quantization->per_channel() && (groups != 1 || weight.quantization->axis != 1))
    return false;
  const Ints &stride = node.attributes.integers("stride"), &padding = node.attributes.integers("padding"),
             &more = node.attributes.integers("output_padding"), &dilation = node.attributes.integers("dilation");
  ValueId x = node.inputs[0];
  for (size_t i = 0; i < 3; ++i) {
    const int64_t margin = dilation[i] * (in.shape(node.inputs[1])[2 + i] - 1) - padding[i];
    x = padded(in, upsampled(in, x, 2 + i, stride[i]), 2 + i, margin, margin + more[i]);
  }
  const ValueId turned = turned_weight(in, node.inputs[1], groups);
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  return rewritten(
      in.define(node.outputs[0], AtenOp::conv3d_default, {x, turned, bias},
                {{"stride", Ints{1, 1, 1}}, {"padding", Ints{0, 0, 0}}, {"dilation", dilation}, {"groups", groups}}));
}

constexpr RewriteRow kVolumeRewrites[] = {{AtenOp::conv_transpose3d_input, conv_transpose3d}};
static_assert(rewrites_what_becomes(kVolumeRewrites));

}  // namespace

std::span<const RewriteRow> volume_rewrites() {
  return kVolumeRewrites;
}

}  // namespace carina::normalize
