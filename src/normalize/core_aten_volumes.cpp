// Convolutions of volumes for the CPU, whose kernel has two axes. Each layer of the filter is a convolution of images
// in which the depth is part of the batch; the results of the layers are summed.
//   [N,C,D,H,W] -> [N,D,C,H,W] -> for each k of KD: slices of depth [N * OD, C, H, W] * weight[:,:,k]
//   -> sum -> [N,O,OD,OH,OW]

#include "normalize/core_aten_internal.h"
#include "normalize/slices.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;
using Ints = std::vector<int64_t>;

const Ints kDepthFirst{0, 2, 1, 3, 4};  // its own inverse

ValueId padded_depth(Rewriter& in, ValueId x, int64_t padding) {
  if (padding == 0) return x;
  Shape shape = in.shape(x);
  shape[2] += 2 * padding;
  return in.make(AtenOp::constant_pad_nd_default, {x},
                 {{"pad", Ints{0, 0, 0, 0, padding, padding}}, {"value", int64_t{0}}}, shape);
}

// Every `step`-th depth from `first` on, as a batch of images.
ValueId images_at(Rewriter& in, ValueId volume, int64_t first, int64_t step, int64_t count) {
  Shape shape = in.shape(volume);
  shape[1] = count;
  const ValueId depths =
      in.make(AtenOp::slice_Tensor, {volume},
              {{"dim", int64_t{1}}, {"start", first}, {"end", first + (count - 1) * step + 1}, {"step", step}}, shape);
  return in.view(depths, Shape{shape[0] * count, shape[2], shape[3], shape[4]});
}

Result<bool> conv3d(Rewriter& in, const Node& node) {
  const Shape result = in.shape(node.outputs[0]), weight = in.shape(node.inputs[1]);
  if (result.rank() != 5 || weight.rank() != 5) return false;
  const Ints &stride = node.attributes.integers("stride"), &padding = node.attributes.integers("padding"),
             &dilation = node.attributes.integers("dilation");
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  const ValueId volume = permuted_axes(in, padded_depth(in, node.inputs[0], padding[0]), kDepthFirst);
  const Shape images{result[0] * result[2], result[1], result[3], result[4]};
  ValueId sum;
  for (int64_t k = 0; k < weight[2]; ++k) {
    const ValueId layer =
        in.view(slice(in, node.inputs[1], 2, k, k + 1), Shape{weight[0], weight[1], weight[3], weight[4]});
    const ValueId part =
        in.make(AtenOp::convolution_default,
                {images_at(in, volume, k * dilation[0], stride[0], result[2]), layer, k == 0 ? bias : ValueId()},
                {{"stride", Ints{stride[1], stride[2]}},
                 {"padding", Ints{padding[1], padding[2]}},
                 {"dilation", Ints{dilation[1], dilation[2]}},
                 {"transposed", false},
                 {"output_padding", Ints{0, 0}},
                 {"groups", node.attributes.integer("groups")}},
                images);
    sum = sum.valid() ? in.make(AtenOp::add_Tensor, {sum, part}, no_alpha(), images) : part;
  }
  const ValueId apart = in.view(sum, Shape{result[0], result[2], result[1], result[3], result[4]});
  return rewritten(in.define(node.outputs[0], AtenOp::permute_default, {apart}, {{"dims", kDepthFirst}}));
}

constexpr RewriteRow kCoreAtenVolumeRows[] = {{AtenOp::conv3d_default, conv3d}};

}  // namespace

std::span<const RewriteRow> core_aten_volumes() {
  return kCoreAtenVolumeRows;
}

}  // namespace carina::normalize
