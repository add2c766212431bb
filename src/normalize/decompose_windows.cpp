#include <algorithm>
#include <array>
#include <utility>

#include "facts/aten_traits.h"
#include "normalize/decompose_internal.h"

// Convolutions and pools over lines become those over images of height 1; padding "same" and "valid" becomes numbers.
//   Example: conv1d of [N,C,L] is a conv2d of [N,C,1,L] with a kernel of height 1, viewed as [N,O,L'].
namespace carina::normalize {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

using Ints = std::vector<int64_t>;

// [..., L] -> [..., 1, L]: a line as an image of height 1.
Shape with_height(const Shape& shape) {
  Ints dims = dims_of(shape);
  dims.insert(dims.end() - 1, 1);
  return Shape(dims);
}

// Extends a list for the width to a list for height and width.
Ints both(const Ints& list, int64_t height) {
  if (list.empty()) return {};
  return {height, list.front()};
}

// The same op on an image of height 1.
Result<bool> as_image(Rewriter& in, const Node& node, AtenOp op, std::vector<ValueId> inputs, Attributes attributes) {
  inputs[0] = in.view(inputs[0], with_height(in.shape(inputs[0])));
  const ir::Value& result = in[node.outputs[0]];
  ir::Value image{.name = node.name + "_2d",
                  .dtype = result.dtype,
                  .shape = with_height(result.shape),
                  .quantization = result.quantization,
                  .constant = {}};
  return rewritten(
      in.view_into(node.outputs[0], in.make_value(op, std::move(inputs), std::move(attributes), std::move(image))));
}

// Adds the height axis to the weights, at compile time if they are constant.
ValueId with_height(Rewriter& in, ValueId weight) {
  const Shape shape = with_height(in.shape(weight));
  if (!in[weight].constant) return in.view(weight, shape);
  ir::Value image = in[weight];
  image.name += "_2d";
  image.shape = shape;
  image.constant->shape = shape;
  return in.graph().add_value(std::move(image));
}

Result<bool> conv1d(Rewriter& in, const Node& node) {
  const Attributes& old = node.attributes;
  const ir::Attribute& padding = *old.find("padding");
  Attributes attributes{{"stride", both(old.integers("stride"), 1)},
                        {"padding", padding},
                        {"dilation", both(old.integers("dilation"), 1)},
                        {"groups", old.integer("groups")}};
  if (const auto* list = std::get_if<Ints>(&padding)) attributes.set("padding", both(*list, 0));
  const AtenOp op = std::holds_alternative<Ints>(padding) ? AtenOp::conv2d_default : AtenOp::conv2d_padding;
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = with_height(in, inputs[1]);
  return as_image(in, node, op, std::move(inputs), std::move(attributes));
}

Result<bool> conv_transpose1d(Rewriter& in, const Node& node) {
  const Attributes& old = node.attributes;
  Attributes attributes{{"stride", both(old.integers("stride"), 1)},
                        {"padding", both(old.integers("padding"), 0)},
                        {"output_padding", both(old.integers("output_padding"), 0)},
                        {"groups", old.integer("groups")},
                        {"dilation", both(old.integers("dilation"), 1)}};
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = with_height(in, inputs[1]);
  return as_image(in, node, AtenOp::conv_transpose2d_input, std::move(inputs), std::move(attributes));
}

// padding = "valid" or "same", for two or three axes. If the padding of "same" is odd, PyTorch adds the extra element
// at the end.
Result<bool> convolution_named_padding(Rewriter& in, const Node& node, AtenOp op) {
  const Shape kernel = in.shape(node.inputs[1]);
  const bool same = node.attributes.get<std::string>("padding") == "same";
  std::vector<ValueId> inputs = node.inputs;
  Shape padded = in.shape(inputs[0]);
  Ints begin, extra;  // extra: as constant_pad_nd has it, last axis first
  for (size_t i = 0; i + 2 < kernel.rank(); ++i) {
    const int64_t total = same ? node.attributes.integers("dilation")[i] * (kernel[2 + i] - 1) : 0;
    begin.push_back(total / 2);
    extra.insert(extra.begin(), {0, total % 2});
    padded[padded.rank() - kernel.rank() + 2 + i] += total % 2;
  }
  if (padded != in.shape(inputs[0])) {
    inputs[0] = in.move(AtenOp::constant_pad_nd_default, {inputs[0]}, {{"pad", extra}, {"value", int64_t{0}}}, padded);
  }
  Attributes attributes = node.attributes;
  attributes.set("padding", begin);
  return rewritten(in.define(node.outputs[0], op, std::move(inputs), std::move(attributes)));
}

Result<bool> conv2d_named_padding(Rewriter& in, const Node& node) {
  return convolution_named_padding(in, node, AtenOp::conv2d_default);
}
Result<bool> conv3d_named_padding(Rewriter& in, const Node& node) {
  return convolution_named_padding(in, node, AtenOp::conv3d_default);
}

// The convolution operator for this number of spatial axes.
AtenOp convolution_over(size_t axes, bool transposed) {
  constexpr std::array kForward{AtenOp::conv1d_default, AtenOp::conv2d_default, AtenOp::conv3d_default};
  constexpr std::array kBackward{AtenOp::conv_transpose1d_default, AtenOp::conv_transpose2d_input,
                                 AtenOp::conv_transpose3d_input};
  return transposed ? kBackward[axes - 1] : kForward[axes - 1];
}

Result<bool> convolution(Rewriter& in, const Node& node) {
  const Attributes& old = node.attributes;
  const size_t axes = in.shape(node.inputs[1]).rank() - 2;
  const bool transposed = old.get<bool>("transposed");
  if (axes < 1 || axes > 3) return false;
  const auto per_axis = [&](std::string_view name) {
    const Ints& list = old.integers(name);
    return list.size() == axes ? list : Ints(axes, list.front());
  };
  Attributes attributes{{"stride", per_axis("stride")}, {"padding", per_axis("padding")}};
  if (transposed) attributes.set("output_padding", per_axis("output_padding"));
  if (transposed) attributes.set("groups", old.integer("groups"));
  attributes.set("dilation", per_axis("dilation"));
  if (!transposed) attributes.set("groups", old.integer("groups"));
  return rewritten(in.define(node.outputs[0], convolution_over(axes, transposed), node.inputs, std::move(attributes)));
}

// Adds a batch axis to an image that has none.
Result<bool> with_batch(Rewriter& in, const Node& node) {
  const auto batched = [](const Shape& shape) {
    Ints dims = dims_of(shape);
    dims.insert(dims.begin(), 1);
    return Shape(dims);
  };
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = in.view(inputs[0], batched(in.shape(inputs[0])));
  const ir::Value& result = in[node.outputs[0]];
  ir::Value image{.name = node.name + "_batched",
                  .dtype = result.dtype,
                  .shape = batched(result.shape),
                  .quantization = result.quantization,
                  .constant = {}};
  return rewritten(in.view_into(node.outputs[0],
                                in.make_value(node.op.aten(), std::move(inputs), node.attributes, std::move(image))));
}

// A bias that is computed at run time is added after the convolution.
Result<bool> with_added_bias(Rewriter& in, const Node& node) {
  const Shape out = in.shape(node.outputs[0]);
  std::vector<ValueId> inputs = node.inputs;
  const ValueId bias = std::exchange(inputs[2], ValueId());
  Ints per_channel(out.rank(), 1);
  per_channel[1] = out[1];
  const ValueId sum = in.make(node.op.aten(), std::move(inputs), node.attributes, out);
  return rewritten(
      in.define(node.outputs[0], AtenOp::add_Tensor, {sum, in.view(bias, Shape(per_channel))}, no_alpha()));
}

// Converts aten.convolution to the operator for two or three axes, transposed or not.
Result<bool> spelled_out_convolution(Rewriter& in, const Node& node) {
  if (in.shape(node.inputs[0]).rank() + 1 == in.shape(node.inputs[1]).rank()) return with_batch(in, node);
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  if (bias.valid() && !in[bias].constant && !in[node.outputs[0]].quantization) return with_added_bias(in, node);
  return false;
}

// Makes strides explicit. Along an axis with a single window the stride becomes 1, which every NPU supports.
Result<bool> pool2d(Rewriter& in, const Node& node) {
  const Shape shape = in.shape(node.inputs[0]);
  if (shape.rank() == 3) return with_batch(in, node);
  if (shape.rank() != 4) return false;
  const Ints& kernel = node.attributes.integers("kernel_size");
  const Ints& padding = node.attributes.integers("padding");
  const Ints& old = node.attributes.integers("stride");
  Ints stride = old.empty() ? kernel : old;
  for (size_t i = 0; i < 2; ++i) {
    if (shape[2 + i] + 2 * padding[i] == kernel[i]) stride[i] = 1;
  }
  if (stride == old) return false;
  Attributes attributes = node.attributes;
  attributes.set("stride", stride);
  return rewritten(in.define(node.outputs[0], node.op.aten(), node.inputs, std::move(attributes)));
}

Attributes pool_attributes_2d(const Attributes& old) {
  Attributes attributes{{"kernel_size", both(old.integers("kernel_size"), 1)},
                        {"stride", both(old.integers("stride"), 1)},
                        {"padding", both(old.integers("padding"), 0)}};
  if (old.find("dilation") != nullptr) attributes.set("dilation", both(old.integers("dilation"), 1));
  attributes.set("ceil_mode", old.get<bool>("ceil_mode"));
  return attributes;
}

Result<bool> max_pool1d(Rewriter& in, const Node& node) {
  return as_image(in, node, AtenOp::max_pool2d_default, node.inputs, pool_attributes_2d(node.attributes));
}

Result<bool> avg_pool1d(Rewriter& in, const Node& node) {
  Attributes attributes = pool_attributes_2d(node.attributes);
  attributes.set("count_include_pad", node.attributes.get<bool>("count_include_pad"));
  attributes.set("divisor_override", std::monostate());
  return as_image(in, node, AtenOp::avg_pool2d_default, node.inputs, std::move(attributes));
}

constexpr RewriteRow kDecomposeWindowsRows[] = {
    {AtenOp::conv1d_default, conv1d},
    {AtenOp::conv1d_padding, conv1d},
    {AtenOp::conv2d_padding, conv2d_named_padding},
    {AtenOp::conv3d_padding, conv3d_named_padding},
    {AtenOp::conv2d_default, spelled_out_convolution},
    {AtenOp::conv3d_default, spelled_out_convolution},
    {AtenOp::conv_transpose1d_default, conv_transpose1d},
    {AtenOp::conv_transpose2d_input, spelled_out_convolution},
    {AtenOp::convolution_default, convolution},
    {AtenOp::_convolution_default, convolution},
    {AtenOp::_convolution_deprecated, convolution},
    {AtenOp::max_pool2d_default, pool2d},
    {AtenOp::avg_pool2d_default, pool2d},
    {AtenOp::max_pool1d_default, max_pool1d},
    {AtenOp::avg_pool1d_default, avg_pool1d},
};
static_assert(rewrites_what_becomes(kDecomposeWindowsRows));

}  // namespace

std::span<const RewriteRow> window_rows() {
  return kDecomposeWindowsRows;
}

}  // namespace carina::normalize
