#include <algorithm>

#include "facts/aten_traits.h"
#include "lower/prepare/decompose_internal.h"

namespace carina::lower {
namespace {

using ir::Attributes;
using ir::Node;
using ir::ValueId;

using Ints = std::vector<int64_t>;

// [..., L] -> [..., 1, L]: a one-dimensional window slides over an image of height 1.
Shape with_height(const Shape& shape) {
  Ints dims = dims_of(shape);
  dims.insert(dims.end() - 1, 1);
  return Shape(dims);
}

// A list for the width alone as a list for height and width.
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

// Weights get their height once, at compile time, when they are constant.
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
  if (in.shape(node.inputs[0]).rank() != 3) return false;
  Attributes attributes{{"stride", both(old.integers("stride"), 1)},
                        {"padding", both(old.integers("padding"), 0)},
                        {"output_padding", both(old.integers("output_padding"), 0)},
                        {"groups", old.integer("groups")},
                        {"dilation", both(old.integers("dilation"), 1)}};
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = with_height(in, inputs[1]);
  return as_image(in, node, AtenOp::conv_transpose2d_input, std::move(inputs), std::move(attributes));
}

// padding = "valid" or "same"; where "same" is uneven, PyTorch pads one more at the end.
Result<bool> conv2d_named_padding(Rewriter& in, const Node& node) {
  Attributes attributes = node.attributes;
  std::vector<ValueId> inputs = node.inputs;
  Ints begin{0, 0}, extra{0, 0};
  if (node.attributes.get<std::string>("padding") == "same") {
    const Shape kernel = in.shape(node.inputs[1]);
    for (size_t i = 0; i < 2; ++i) {
      const int64_t total = node.attributes.integers("dilation")[i] * (kernel[2 + i] - 1);
      begin[i] = total / 2;
      extra[i] = total % 2;
    }
  }
  if (extra[0] + extra[1] > 0) {
    Shape padded = in.shape(inputs[0]);
    padded[padded.rank() - 2] += extra[0];
    padded[padded.rank() - 1] += extra[1];
    inputs[0] = in.move(AtenOp::constant_pad_nd_default, {inputs[0]},
                        {{"pad", Ints{0, extra[1], 0, extra[0]}}, {"value", int64_t{0}}}, padded);
  }
  attributes.set("padding", begin);
  return rewritten(in.into(node.outputs[0], AtenOp::conv2d_default, std::move(inputs), std::move(attributes)));
}

Result<bool> convolution(Rewriter& in, const Node& node) {
  const Attributes& old = node.attributes;
  const size_t spatial = old.integers("stride").size();
  const bool transposed = old.get<bool>("transposed");
  if (spatial != 1 && spatial != 2) return false;
  Attributes attributes{{"stride", old.integers("stride")}, {"padding", old.integers("padding")}};
  if (transposed) attributes.set("output_padding", old.integers("output_padding"));
  if (transposed) attributes.set("groups", old.integer("groups"));
  attributes.set("dilation", old.integers("dilation"));
  if (!transposed) attributes.set("groups", old.integer("groups"));
  const AtenOp forward = spatial == 1 ? AtenOp::conv1d_default : AtenOp::conv2d_default;
  const AtenOp backward = spatial == 1 ? AtenOp::conv_transpose1d_default : AtenOp::conv_transpose2d_input;
  return rewritten(in.into(node.outputs[0], transposed ? backward : forward, node.inputs, std::move(attributes)));
}

// An image without a batch axis gets one.
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

Result<bool> conv2d(Rewriter& in, const Node& node) {
  return in.shape(node.inputs[0]).rank() == 3 ? with_batch(in, node) : Result<bool>(false);
}

// Strides spelled out; along an axis that one window fills the stride is 1, which every NPU can do.
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
  return rewritten(in.into(node.outputs[0], node.op.aten(), node.inputs, std::move(attributes)));
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
    {AtenOp::conv2d_default, conv2d},
    {AtenOp::conv_transpose1d_default, conv_transpose1d},
    {AtenOp::convolution_default, convolution},
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

}  // namespace carina::lower
