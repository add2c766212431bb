#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

// Small TOSA graphs for the planner's tests.
namespace carina::plan {

struct GraphBuilder {
  ir::Graph graph = {};

  ir::ValueId input(const std::string& name, DType dtype, const Shape& shape) {
    const ir::ValueId id = graph.add_value(name, dtype, shape);
    graph.inputs.push_back(id);
    return id;
  }
  template <typename T>
  ir::ValueId constant(DType dtype, const Shape& shape, const std::vector<T>& values) {
    return graph.add_constant("const", Tensor::of<T>(dtype, shape, values));
  }
  template <typename T>
  ir::ValueId scalar(DType dtype, T value) {
    return constant<T>(dtype, {1}, {value});
  }
  ir::ValueId op(TosaOp op, const std::vector<ir::ValueId>& inputs, DType dtype, const Shape& shape,
                 ir::Attributes attributes = {}) {
    const std::string name(name_of(op).substr(5));
    const ir::ValueId out = graph.add_value(name, dtype, shape);
    graph.add_node({.op = op,
                    .name = name + "_" + std::to_string(graph.nodes.size()),
                    .inputs = inputs,
                    .outputs = {out},
                    .attributes = std::move(attributes),
                    .source = "model.py:1"});
    return out;
  }

  // int8 convolution with stride 1 and `pad` on all sides, requantized to int8. Other seeds give other weights.
  ir::ValueId conv(ir::ValueId x, int64_t channels, int64_t kernel, int64_t pad, int8_t shift = 40, int seed = 0) {
    const Shape in = graph[x].shape;
    std::vector<int8_t> weights(static_cast<size_t>(channels * kernel * kernel * in[3]));
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<int8_t>((static_cast<int>(i * 37) + seed) % 251 - 125);
    const Shape out{in[0], in[1] + 2 * pad - kernel + 1, in[2] + 2 * pad - kernel + 1, channels};
    const ir::ValueId sum = op(
        TosaOp::CONV2D,
        {x, constant<int8_t>(DType::kInt8, {channels, kernel, kernel, in[3]}, weights),
         constant<int32_t>(DType::kInt32, {1}, {7}), scalar<int8_t>(DType::kInt8, 3), scalar<int8_t>(DType::kInt8, 0)},
        DType::kInt32, out,
        {{"pad", std::vector<int64_t>{pad, pad, pad, pad}},
         {"stride", std::vector<int64_t>{1, 1}},
         {"dilation", std::vector<int64_t>{1, 1}},
         {"local_bound", false},
         {"acc_type", DType::kInt32}});
    return rescale(sum, DType::kInt8, 1 << 30, shift);
  }
  ir::ValueId rescale(ir::ValueId x, DType to, int32_t multiplier, int8_t shift) {
    const DType from = graph[x].dtype;
    const Shape shape = graph[x].shape;  // adding values may move the existing ones
    const auto zero = [&](DType dtype) {
      if (dtype == DType::kInt16) return scalar<int16_t>(dtype, 0);
      return dtype == DType::kInt8 ? scalar<int8_t>(dtype, 0) : scalar<int32_t>(dtype, 0);
    };
    return op(
        TosaOp::RESCALE,
        {x, scalar<int32_t>(DType::kInt32, multiplier), scalar<int8_t>(DType::kInt8, shift), zero(from), zero(to)}, to,
        shape,
        {{"scale32", true},
         {"rounding_mode", int64_t{1}},
         {"per_channel", false},
         {"input_unsigned", false},
         {"output_unsigned", false}});
  }
};

}  // namespace carina::plan
