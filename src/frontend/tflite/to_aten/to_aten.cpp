#include "frontend/tflite/to_aten/to_aten.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "frontend/pt2/verify/verify.h"
#include "frontend/tflite/to_aten/aten_call_internal.h"
#include "tensor/elements.h"
#include "tensor/float_formats.h"

// A model of floats becomes an ATen graph operator by operator: aten_rules.def has the function of each. Tensors keep
// the file's axis order, so that reshapes and axes mean what the file says. A window operator permutes its input to
// NCHW and its result back; the permutations of neighbors are one value, and lowering removes the others.
//   CONV_2D (x: [1,49,10,1])   becomes   permute -> constant_pad_nd -> conv2d -> relu -> permute: [1,25,5,64]
namespace carina::tflite {

using ir::ValueId;

namespace {

struct AtenRule {
  std::string_view name;
  Result<void> (*function)(AtenCall& call);
};
constexpr auto kAtenRules = std::to_array<AtenRule>({
#define CARINA_TFLITE_ATEN_RULE(name, function) {#name, aten_##function},
#include "frontend/tflite/to_aten/aten_rules.def"
#undef CARINA_TFLITE_ATEN_RULE
});

bool is_float_type(DType type) {
  return type == DType::kFp32 || type == DType::kFp16;
}

// The floats of quantized integers.
std::vector<float> dequantized(const Tensor& tensor, const std::vector<int64_t>& integers) {
  const TensorQuantization& q = tensor.quantization;
  size_t inner = 1;
  for (size_t axis = q.axis + 1; axis < tensor.shape.rank(); ++axis) inner *= static_cast<size_t>(tensor.shape[axis]);
  std::vector<float> out;
  for (size_t i = 0; i < integers.size(); ++i) {
    const size_t channel = q.is_per_channel() ? i / inner % q.scales.size() : 0;
    out.push_back(q.scales[channel] * static_cast<float>(integers[i] - q.zero_points[channel]));
  }
  return out;
}

}  // namespace

Result<std::vector<float>> AtenCall::floats(size_t i) const {
  if (!has(i)) return reject(fmt::format("operand {} is missing", i));
  const Tensor& tensor = in(i);
  if (!tensor.is_constant || tensor.is_sparse) return reject("an operand is not a dense constant", {}, tensor.name);
  if (tensor.dtype == DType::kFp32) {
    const auto* from = reinterpret_cast<const float*>(tensor.data.data());
    return std::vector<float>(from, from + tensor.shape.elements());
  }
  if (tensor.dtype == DType::kFp16) {
    const auto* from = reinterpret_cast<const uint16_t*>(tensor.data.data());
    std::vector<float> out;
    for (int64_t k = 0; k < tensor.shape.elements(); ++k) out.push_back(fp16_to_fp32(from[k]));
    return out;
  }
  if (tensor.quantization.scales.empty()) return reject("a constant is neither floats nor quantized", {}, tensor.name);
  CARINA_TRY(const std::vector<int64_t> values, integers(i));
  return dequantized(tensor, values);
}

Result<std::vector<int64_t>> AtenCall::integers(size_t i) const {
  if (!has(i)) return reject(fmt::format("operand {} is missing", i));
  const Tensor& tensor = in(i);
  if (tensor.shape.elements() == 0) return std::vector<int64_t>();
  if (!tensor.is_constant || tensor.data.size() == 0) return reject("an operand is not constant", {}, tensor.name);
  auto values = integers_if_any({.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.data});
  if (!values) return reject("an operand does not have integers", {}, tensor.type_name);
  return *std::move(values);
}

Result<ValueId> AtenCall::value(size_t i) {
  if (!has(i)) return reject(fmt::format("operand {} is missing", i));
  ValueId& known = builder_.values[static_cast<size_t>(op_.inputs[i])];
  if (known.valid()) return known;
  CARINA_TRY(const std::vector<float> values, floats(i));
  known = builder_.graph.add_constant(in(i).name, carina::Tensor::of<float>(DType::kFp32, in(i).shape, values));
  return known;
}

ValueId AtenCall::make(AtenOp op, std::vector<ValueId> inputs, ir::Attributes attributes) {
  ir::Node node{.op = op,
                .name = result().name,
                .inputs = std::move(inputs),
                .outputs = {},
                .attributes = std::move(attributes),
                .source = {},
                .origin = ir::NodeId(index_)};
  const ValueId out = builder_.graph.add_value(fmt::format("{}.{}", result().name, node.op.name()), DType::kFp32,
                                               builder_.graph[node.inputs.front()].shape);
  node.outputs = {out};
  if (const auto made = aten::result_of(builder_.graph, node, 0)) builder_.graph[out].shape = made->shape;
  const Result<void> sound = aten::verify_node(builder_.graph, node, builder_.where);
  if (!broken_ && !sound) broken_ = sound.error();
  builder_.graph.add_node(std::move(node));
  return out;
}

ValueId AtenCall::constant(std::string_view suffix, const Shape& shape, const std::vector<float>& values) {
  return builder_.graph.add_constant(fmt::format("{}.{}", result().name, suffix),
                                     carina::Tensor::of<float>(DType::kFp32, shape, values));
}

ValueId AtenCall::view(ValueId input, const Shape& shape) {
  if (builder_.graph[input].shape == shape) return input;
  return make(AtenOp::view_default, {input},
              {{"size", std::vector<int64_t>(shape.dims().begin(), shape.dims().end())}});
}

ValueId AtenCall::to_nchw(ValueId input) {
  if (const auto known = builder_.channels_first.find(input); known != builder_.channels_first.end())
    return known->second;
  const ValueId made = make(AtenOp::permute_default, {input}, {{"dims", std::vector<int64_t>{0, 3, 1, 2}}});
  builder_.channels_first.emplace(input, made);
  return made;
}

ValueId AtenCall::to_nhwc(ValueId input) {
  const ValueId made = make(AtenOp::permute_default, {input}, {{"dims", std::vector<int64_t>{0, 2, 3, 1}}});
  builder_.channels_first.emplace(made, input);
  return made;
}

Result<ValueId> AtenCall::activated(ValueId value) {
  const auto limited = [&](double min, double max) {
    return make(AtenOp::hardtanh_default, {value}, {{"min_val", min}, {"max_val", max}});
  };
  switch (options().activation) {
    case Activation::kNone:
      return value;
    case Activation::kRelu:
      return make(AtenOp::relu_default, {value});
    case Activation::kReluN1To1:
      return limited(-1, 1);
    case Activation::kRelu6:
      return limited(0, 6);
    case Activation::kTanh:
      return make(AtenOp::tanh_default, {value});
    case Activation::kSignBit:
      break;
  }
  return reject("the fused activation is not supported");
}

Result<void> AtenCall::set(size_t i, ValueId value) {
  if (broken_) {
    Diagnostic why = broken_->front();
    return reject("the operator does not fit its tensors: " + why.what, why.expected, why.got);
  }
  if (builder_.graph[value].shape != result(i).shape)
    return reject("the result has another shape than the file declares", to_string(builder_.graph[value].shape),
                  to_string(result(i).shape));
  builder_.values[static_cast<size_t>(op_.outputs[i])] = value;
  if (builder_.graph[value].name.starts_with(result().name + ".")) builder_.graph.rename(value, result(i).name);
  return {};
}

Result<void> AtenCall::need(size_t n) const {
  if (op_.outputs.empty()) return reject("the operator has no result");
  for (size_t i = 0; i < n; ++i) {
    if (!has(i)) return reject(fmt::format("operand {} is missing", i));
  }
  return {};
}

Result<void> AtenCall::need_rank(size_t i, size_t rank) const {
  if (in(i).shape.rank() == rank) return {};
  return reject("a tensor has another rank", fmt::to_string(rank), to_string(in(i).shape));
}

std::unexpected<Diagnostics> AtenCall::reject(std::string what, std::string expected, std::string got) const {
  const std::string name = op_.outputs.empty() ? std::string() : " " + result().name;
  return fail({.where = fmt::format("{}: {}{}", builder_.where, op_.name, name),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .node = index_});
}

namespace {

bool graph_computes_in_floats(const Subgraph& graph) {
  if (is_compiled(graph)) return false;
  const auto is_float = [&](int32_t index) { return graph.tensors[static_cast<size_t>(index)].dtype == DType::kFp32; };
  const auto is_integer_value = [&](int32_t index) {
    if (index == kAbsent) return false;
    const Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
    return !tensor.is_constant && !is_float_type(tensor.dtype);
  };
  if (graph.inputs.empty() || !std::ranges::all_of(graph.inputs, is_float) ||
      !std::ranges::all_of(graph.outputs, is_float))
    return false;
  return std::ranges::none_of(graph.operators, [&](const Operator& op) {
    return std::ranges::any_of(op.inputs, is_integer_value) || std::ranges::any_of(op.outputs, is_integer_value);
  });
}

}  // namespace

bool computes_in_floats(const Model& model) {
  const auto is_called = [&](size_t graph) {
    return model.subgraphs.size() == 1 ||
           std::ranges::any_of(model.signatures, [&](const Signature& s) { return s.subgraph == graph; });
  };
  for (size_t i = 0; i < model.subgraphs.size(); ++i) {
    if (!is_called(i) || !graph_computes_in_floats(model.subgraphs[i])) return false;
  }
  return true;
}

namespace {

Result<void> add_operator(AtenBuilder& b, size_t index) {
  AtenCall call(b, index);
  const auto* rule = std::ranges::find(kAtenRules, call.op().name, &AtenRule::name);
  if (rule == kAtenRules.end()) return call.reject("the operator is not supported in a model of floats");
  CARINA_CHECKED(call.need(1));
  for (const int32_t given : call.op().inputs) {
    if (given != kAbsent && b.from.tensors[static_cast<size_t>(given)].is_variable)
      return call.reject("a tensor that keeps its value between runs is not supported");
  }
  return rule->function(call);
}

}  // namespace

Result<ir::Graph> to_aten(const Model& model, const std::string& where) {
  AtenBuilder b{.from = model.subgraphs.front(), .where = where};
  b.graph.name = "main";
  b.values.resize(b.from.tensors.size());
  for (const int32_t index : b.from.inputs) {
    const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)];
    const ValueId value = b.graph.add_value(tensor.name, DType::kFp32, tensor.shape);
    b.graph.inputs.push_back(value);
    b.values[static_cast<size_t>(index)] = value;
  }
  Diagnostics errors;
  for (size_t i = 0; i < b.from.operators.size(); ++i) {
    const Operator& op = b.from.operators[i];
    if (auto made = add_operator(b, i); !made) {
      for (Diagnostic& error : made.error()) {
        error.node = i;
        errors.push_back(std::move(error));
      }
    }
    // So that the operators after one that failed are tried as well.
    for (const int32_t output : op.outputs) {
      ValueId& value = b.values[static_cast<size_t>(output)];
      const Tensor& tensor = b.from.tensors[static_cast<size_t>(output)];
      if (!value.valid()) value = b.graph.add_value(tensor.name, DType::kFp32, tensor.shape);
    }
  }
  for (const int32_t index : b.from.outputs) {
    const ValueId value = b.values[static_cast<size_t>(index)];
    const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)];
    if (!value.valid()) {
      errors.push_back({.where = fmt::format("{}: output {}", where, tensor.name), .what = "no operator gives it"});
      continue;
    }
    if (std::ranges::find(b.graph.inputs, value) == b.graph.inputs.end() && b.graph[value].name != tensor.name)
      b.graph.rename(value, tensor.name);
    b.graph.outputs.push_back(value);
  }
  if (!errors.empty()) return std::unexpected(std::move(errors));
  ir::remove_dead(b.graph);
  return std::move(b.graph);
}

}  // namespace carina::tflite
