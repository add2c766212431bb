// int8 steps of pools, and of sums and means over images.
#include <algorithm>

#include "pte/integer_builder_internal.h"

namespace carina::pte {

namespace {

using ir::ValueId;

std::vector<int64_t> pair_of(const ir::Node& node, std::string_view name, const std::vector<int64_t>& otherwise) {
  const std::vector<int64_t>& list = node.attributes.integers(name);
  return list.empty() ? otherwise : both_axes(list);
}

bool is_image(const IntegerBuilder& builder, const ir::Node& node) {
  return builder.graph()[node.inputs[0]].shape.rank() == 4;
}

bool maximum(IntegerBuilder& builder, const Enclosed& enclosed) {
  const ir::Node& node = enclosed.node;
  const auto in = builder.integers_of(node.inputs[0]);
  const std::vector<int64_t> kernel = pair_of(node, "kernel_size", {});
  const std::vector<int64_t> dilation = pair_of(node, "dilation", {1, 1});
  const bool plain = dilation == std::vector<int64_t>{1, 1} && !node.attributes.get<bool>("ceil_mode");
  if (!in || in->quantization != enclosed.to || !plain || !is_image(builder, node)) return false;
  const ValueId from = builder.channels_last(in->value);
  const int64_t zero = enclosed.to.zero_point();
  builder.call("cortex_m::quantized_max_pool2d_nhwc",
               {from, kernel, pair_of(node, "stride", kernel), pair_of(node, "padding", {0, 0}), dilation, false, zero,
                zero, enclosed.low, enclosed.high},
               builder.written_channels_last(enclosed.output));
  return true;
}

bool average(IntegerBuilder& builder, const Enclosed& enclosed) {
  const ir::Node& node = enclosed.node;
  const std::vector<int64_t> kernel = pair_of(node, "kernel_size", {});
  const std::vector<int64_t> stride = pair_of(node, "stride", kernel);
  const bool plain = pair_of(node, "padding", {0, 0}) == std::vector<int64_t>{0, 0} &&
                     !node.attributes.get<bool>("ceil_mode") && node.attributes.is_none("divisor_override");
  if (!plain || !is_image(builder, node)) return false;
  return summed(builder, enclosed,
                {.height = kernel[0],
                 .width = kernel[1],
                 .row_stride = stride[0],
                 .column_stride = stride[1],
                 .factor = 1.0 / static_cast<double>(kernel[0] * kernel[1])});
}

// Adds an adaptive pool to one element per channel.
bool adaptive(IntegerBuilder& builder, const Enclosed& enclosed) {
  if (!is_image(builder, enclosed.node)) return false;
  const Shape in = builder.graph()[enclosed.node.inputs[0]].shape;
  const Shape out = builder.graph()[enclosed.output].shape;
  if (out[2] != 1 || out[3] != 1) return false;
  return summed(builder, enclosed,
                {.height = in[2], .width = in[3], .factor = 1.0 / static_cast<double>(in[2] * in[3])});
}

bool is_over_image(const ir::Node& node) {
  std::vector<int64_t> axes = node.attributes.is_none("dim") ? std::vector<int64_t>() : node.attributes.integers("dim");
  for (int64_t& axis : axes) axis = axis < 0 ? axis + 4 : axis;
  std::ranges::sort(axes);
  return axes == std::vector<int64_t>{2, 3};
}

bool reduction(IntegerBuilder& builder, const Enclosed& enclosed) {
  if (!is_image(builder, enclosed.node) || !is_over_image(enclosed.node)) return false;
  const Shape in = builder.graph()[enclosed.node.inputs[0]].shape;
  const bool is_mean = enclosed.node.op == ir::Op(AtenOp::mean_dim);
  const double factor = is_mean ? 1.0 / static_cast<double>(std::max<int64_t>(in[2] * in[3], 1)) : 1.0;
  return summed(builder, enclosed, {.height = in[2], .width = in[3], .factor = factor});
}

}  // namespace

IntegerKernel integer_pool(AtenOp op) {
  switch (op) {
    case AtenOp::max_pool2d_default:
      return maximum;
    case AtenOp::avg_pool2d_default:
      return average;
    case AtenOp::adaptive_avg_pool2d_default:
    case AtenOp::_adaptive_avg_pool2d_default:
      return adaptive;
    case AtenOp::mean_dim:
    case AtenOp::sum_dim_IntList:
      return reduction;
    default:
      return nullptr;
  }
}

}  // namespace carina::pte
