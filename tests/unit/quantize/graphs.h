#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

// Builds small ATen graphs.
namespace carina::quantize {

struct Steps {
  double scale;
  int64_t zero_point = 0;
};

class GraphBuilder {
 public:
  ir::Graph graph;

  ir::ValueId input(const std::string& name, const Shape& shape, DType dtype = DType::kFp32) {
    const ir::ValueId id = graph.add_value(name, dtype, shape);
    graph.inputs.push_back(id);
    return id;
  }
  template <typename T>
  ir::ValueId constant(const std::string& name, const Shape& shape, const std::vector<T>& values) {
    return graph.add_constant(name, Tensor::of<T>(kDTypeOf<T>, shape, values));
  }
  ir::ValueId node(AtenOp op, const std::string& name, std::vector<ir::ValueId> inputs, const Shape& shape,
                   ir::Attributes attributes = {}, DType dtype = DType::kFp32) {
    const ir::ValueId id = graph.add_value(name, dtype, shape);
    graph.add_node({.op = op,
                    .name = name,
                    .inputs = std::move(inputs),
                    .outputs = {id},
                    .attributes = std::move(attributes),
                    .source = "model.py:1"});
    return id;
  }
  ir::ValueId quantize(const std::string& name, ir::ValueId input, Steps steps) {
    return node(AtenOp::quantize_per_tensor_default, name, {input}, Shape(graph[input].shape), attributes(steps),
                DType::kInt8);
  }
  ir::ValueId dequantize(const std::string& name, ir::ValueId input, Steps steps) {
    ir::Attributes all = attributes(steps);
    all.set("out_dtype", std::monostate());
    return node(AtenOp::dequantize_per_tensor_default, name, {input}, Shape(graph[input].shape), std::move(all));
  }
  ir::ValueId dequantize_channels(const std::string& name, ir::ValueId input, ir::ValueId scales,
                                  ir::ValueId zero_points, int64_t axis) {
    return node(AtenOp::dequantize_per_channel_default, name, {input, scales, zero_points}, Shape(graph[input].shape),
                {{"axis", axis},
                 {"quant_min", int64_t{-127}},
                 {"quant_max", int64_t{127}},
                 {"dtype", DType::kInt8},
                 {"out_dtype", std::monostate()}});
  }
  ir::ValueId pair(const std::string& name, ir::ValueId input, Steps steps) {
    return dequantize(name + "_dq", quantize(name + "_q", input, steps), steps);
  }
  ir::ValueId unary(AtenOp op, const std::string& name, ir::ValueId input) {
    return node(op, name, {input}, Shape(graph[input].shape));
  }
  ir::ValueId relu(const std::string& name, ir::ValueId input) {
    return node(AtenOp::relu_default, name, {input}, Shape(graph[input].shape));
  }
  ir::ValueId add(const std::string& name, ir::ValueId a, ir::ValueId b) {
    return node(AtenOp::add_Tensor, name, {a, b}, Shape(graph[a].shape), {{"alpha", int64_t{1}}});
  }
  ir::ValueId linear(const std::string& name, ir::ValueId x, ir::ValueId weight, ir::ValueId bias) {
    return node(AtenOp::linear_default, name, {x, weight, bias}, Shape{graph[x].shape[0], graph[weight].shape[0]});
  }

  [[nodiscard]] std::vector<std::string> ops() const {
    std::vector<std::string> names;
    for (const ir::Node& each : graph.nodes) names.emplace_back(each.op.name());
    return names;
  }
  [[nodiscard]] const ir::Value& value(const std::string& name) const { return graph[*graph.find_value(name)]; }
  [[nodiscard]] const Quantization& quantization(const std::string& name) const {
    return value(name).quantization.value();
  }

 private:
  static ir::Attributes attributes(Steps steps) {
    return {{"scale", steps.scale},
            {"zero_point", steps.zero_point},
            {"quant_min", int64_t{-128}},
            {"quant_max", int64_t{127}},
            {"dtype", DType::kInt8}};
  }
};

}  // namespace carina::quantize
