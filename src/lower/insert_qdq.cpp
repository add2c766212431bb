#include "lower/insert_qdq_internal.h"

#include <algorithm>
#include <map>
#include <utility>

#include "facts/aten_traits.h"
#include "lower/legality_internal.h"
#include "lower/ops/float_math_internal.h"

namespace carina::lower {

namespace {

using ir::Node;
using ir::ValueId;

bool has_no_integer_form(const Candidate& c) {
  if (c.target.keeps_integers) return false;
  const LoweringRow* row = lowering_of(c.node.op);
  return row != nullptr && works_on_quantized(c) && traits_of(c.node.op.aten()).family != AtenFamily::kQuantization &&
         row->legal(c).has_value();
}

Tensor dequantized_constant(const ir::Value& value) {
  MutableTensor floats(DType::kFp32, value.shape);
  std::ranges::transform(dequantized_values(value), floats.values<float>().begin(),
                         [](double number) { return static_cast<float>(number); });
  return std::move(floats).freeze();
}

class QdqInserter {
 public:
  explicit QdqInserter(const ir::Graph& annotated) : result_{.graph = annotated, .node_of = {}} {
    result_.graph.nodes.clear();
  }

  QdqGraph draw(const ir::Graph& annotated, const Target& target) && {
    for (size_t n = 0; n < annotated.nodes.size(); ++n) {
      const ir::NodeId id(n);
      if (!is_qdq(annotated[id]) && computes_in_float({.graph = annotated, .node = annotated[id], .target = target}))
        surround(annotated[id], id);
      else
        add(annotated[id], id);
    }
    return std::move(result_);
  }

 private:
  void add(Node node, ir::NodeId stands_for) {
    result_.graph.add_node(std::move(node));
    result_.node_of.push_back(stands_for);
  }

  ValueId float_value(ValueId of) {
    const ir::Value& value = result_.graph[of];
    return result_.graph.add_value(value.name + "_real", value.dtype, value.shape);
  }

  void surround(Node node, ir::NodeId id) {
    for (ValueId& input : node.inputs) {
      if (input.valid() && result_.graph[input].quantization) input = dequantize(input, node, id);
    }
    std::vector<std::pair<ValueId, ValueId>> made;
    for (ValueId& output : node.outputs) {
      if (!output.valid() || !result_.graph[output].quantization) continue;
      made.emplace_back(float_value(output), output);
      output = made.back().first;
    }
    const Node around = node;
    add(std::move(node), id);
    for (const auto& [floats, integers] : made)
      add_qdq(AtenOp::quantize_per_tensor_default, floats, integers, around, id);
  }

  // The float form of a quantized value. It is added once.
  ValueId dequantize(ValueId integers, const Node& reader, ir::NodeId id) {
    const auto [entry, is_new] = floats_.try_emplace(integers);
    if (!is_new) return entry->second;
    const ir::Value value = result_.graph[integers];
    if (value.constant)
      return entry->second = result_.graph.add_constant(value.name + "_real", dequantized_constant(value));
    entry->second = float_value(integers);
    add_qdq(AtenOp::dequantize_per_tensor_default, integers, entry->second, reader, id);
    return entry->second;
  }

  void add_qdq(AtenOp op, ValueId from, ValueId to, const Node& around, ir::NodeId id) {
    add({.op = op,
         .name = result_.graph[to].name,
         .inputs = {from},
         .outputs = {to},
         .attributes = {},
         .source = around.source,
         .origin = around.origin},
        id);
  }

  QdqGraph result_;
  std::map<ValueId, ValueId> floats_;
};

ValueId to_integers(Lowering& in, const Node& node) {
  FloatMath f(in.out);
  const Quantization& q = in.quantization(node.outputs.front());
  const auto zero = static_cast<double>(q.zero_point());
  const auto inverse = static_cast<double>(static_cast<float>(1.0 / q.scale()));
  const ValueId steps = f.mul(in.operand(node.inputs.front()), inverse);
  // The value is clamped before the cast, because TOSA's cast of an out-of-range float to 8 bits does not saturate.
  const ValueId within = f.clamp(steps, static_cast<double>(q.qmin) - zero, static_cast<double>(q.qmax) - zero);
  const ValueId whole = in.out.cast(within, DType::kInt32);
  const ValueId shifted =
      q.zero_point() == 0
          ? whole
          : in.out.binary(TosaOp::ADD, whole, in.out.splat(DType::kInt32, zero, in.out.shape(whole).rank()));
  return in.out.cast(shifted, q.dtype);
}

ValueId to_floats(Lowering& in, const Node& node) {
  FloatMath f(in.out);
  const Quantization& q = in.quantization(node.inputs.front());
  const ValueId floats = in.out.cast(in.operand(node.inputs.front()), DType::kFp32);
  const ValueId centered = q.zero_point() == 0 ? floats : f.add(floats, static_cast<double>(-q.zero_point()));
  return f.mul(centered, q.scale());
}

}  // namespace

bool mixes_floats_and_integers(const ir::Graph& annotated, const Node& node) {
  const bool has_weights = traits_of(node.op.aten()).family == AtenFamily::kConvolution;
  bool floats = false, integers = false;
  const auto look = [&](ValueId id, bool is_weight) {
    if (!id.valid()) return;
    const ir::Value& value = annotated[id];
    const bool of_lowering = value.constant && takes_float_constants(node.op.aten()) && !is_weight;
    integers = integers || value.quantization.has_value();
    floats = floats || (!value.quantization && is_float(value.dtype) && !of_lowering);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) look(node.inputs[i], has_weights && i == 1);
  for (const ValueId output : node.outputs) look(output, false);
  return floats && integers;
}

bool computes_in_float(const Candidate& node) {
  return mixes_floats_and_integers(node.graph, node.node) || has_no_integer_form(node);
}

QdqGraph insert_qdq(const ir::Graph& annotated, const Target& target) {
  return QdqInserter(annotated).draw(annotated, target);
}

// Q/DQ nodes of the model itself have their own parameters and plain integers (ops/quantization.cpp).
bool is_qdq(const Node& node) {
  const bool is_own = node.op == ir::Op(AtenOp::quantize_per_tensor_default) ||
                      node.op == ir::Op(AtenOp::dequantize_per_tensor_default);
  return is_own && node.attributes.find("scale") == nullptr;
}

ValueId lower_qdq(Lowering& in, const Node& node) {
  return node.op == ir::Op(AtenOp::quantize_per_tensor_default) ? to_integers(in, node) : to_floats(in, node);
}

}  // namespace carina::lower
