#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "interpret/interpreter.h"
#include "ir/graph.h"

namespace carina::interpret::testing {

template <typename T>
Tensor tensor(DType dtype, const Shape& shape, std::initializer_list<T> values) {
  return Tensor::of<T>(dtype, shape, std::span<const T>(values.begin(), values.size()));
}
inline Tensor f32(const Shape& shape, std::initializer_list<float> values) {
  return tensor<float>(DType::kFp32, shape, values);
}
inline Tensor i32(const Shape& shape, std::initializer_list<int32_t> values) {
  return tensor<int32_t>(DType::kInt32, shape, values);
}
inline Tensor i16(const Shape& shape, std::initializer_list<int16_t> values) {
  return tensor<int16_t>(DType::kInt16, shape, values);
}
inline Tensor i8(const Shape& shape, std::initializer_list<int8_t> values) {
  return tensor<int8_t>(DType::kInt8, shape, values);
}
inline Tensor boolean(const Shape& shape, std::initializer_list<uint8_t> values) {
  return tensor<uint8_t>(DType::kBool, shape, values);
}
inline Tensor shape_of(std::initializer_list<int64_t> values) {
  return tensor<int64_t>(DType::kShape, {static_cast<int64_t>(values.size())}, values);
}
inline Tensor zero_point(DType dtype) {
  const std::vector<std::byte> zero(element_bytes(dtype));
  return {.dtype = dtype, .shape = {1}, .data = Buffer::copy_of(zero)};
}

// Builds one graph node by node.
struct Builder {
  ir::Module module;
  Builder() { module.graphs.emplace_back().name = "main"; }
  ir::Graph& graph() { return module.graphs.front(); }

  ir::ValueId input(const std::string& name, DType dtype, const Shape& shape) {
    const ir::ValueId id = graph().add_value(name, dtype, shape);
    graph().inputs.push_back(id);
    return id;
  }
  ir::ValueId constant(Tensor tensor) { return graph().add_constant("constant", std::move(tensor)); }
  ir::ValueId add(TosaOp op, std::vector<ir::ValueId> inputs, DType dtype, const Shape& shape,
                  ir::Attributes attributes = {}) {
    const ir::ValueId out = graph().add_value("value", dtype, shape);
    graph().add_node({.op = op,
                      .name = "node_" + std::to_string(graph().nodes.size()),
                      .inputs = std::move(inputs),
                      .outputs = {out},
                      .attributes = std::move(attributes),
                      .source = {}});
    return out;
  }
  void output(ir::ValueId value) { graph().outputs.push_back(value); }
};

// Runs one node. All operands are graph inputs, except `constants`, which come after the inputs.
inline Result<std::vector<Tensor>> run_one(TosaOp op, const std::vector<Tensor>& inputs,
                                           const std::vector<Tensor>& constants,
                                           const std::vector<std::pair<DType, Shape>>& outputs,
                                           ir::Attributes attributes = {}) {
  Builder b;
  std::vector<ir::ValueId> operands;
  for (const Tensor& tensor : inputs) operands.push_back(b.input("input", tensor.dtype, tensor.shape));
  for (const Tensor& tensor : constants) operands.push_back(b.constant(tensor));
  ir::Node node{
      .op = op, .name = "node", .inputs = operands, .outputs = {}, .attributes = std::move(attributes), .source = {}};
  for (const auto& [dtype, shape] : outputs) {
    node.outputs.push_back(b.graph().add_value("output", dtype, shape));
    b.output(node.outputs.back());
  }
  b.graph().add_node(std::move(node));
  CARINA_TRY(Interpreter interpreter, Interpreter::create(b.module, Options{}));
  return interpreter.run(inputs);
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  const auto span = tensor.values<T>();
  return {span.begin(), span.end()};
}

}  // namespace carina::interpret::testing
