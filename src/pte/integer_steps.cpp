#include <algorithm>
#include <cmath>
#include <limits>

#include "facts/aten_traits.h"
#include "pte/integer_builder_internal.h"

// Replaces operators between dequantize and quantize nodes that stay on the CPU by kernels on integers.
//   Example: dequantize -> view -> quantize with equal parameters becomes a view of the integers.
namespace carina::pte {

namespace {

Quantization parameters_of(const ir::Node& qdq) {
  return {.dtype = qdq.attributes.get<DType>("dtype"),
          .scales = {qdq.attributes.number("scale")},
          .zero_points = {qdq.attributes.integer("zero_point")},
          .axis = Quantization::kPerTensor,
          .qmin = qdq.attributes.integer("quant_min"),
          .qmax = qdq.attributes.integer("quant_max")};
}

// The integer of a bound. An infinite bound becomes the limit of the integer range.
int64_t quantized_bound(double bound, const Quantization& q, int64_t otherwise) {
  if (!std::isfinite(bound)) return otherwise;
  const double integer = std::nearbyint(bound / q.scale()) + static_cast<double>(q.zero_point());
  return static_cast<int64_t>(std::clamp(integer, static_cast<double>(q.qmin), static_cast<double>(q.qmax)));
}

// Returns whether each output element is an element of an operand, or comes from a quantize or dequantize node that has
// an integer form.
bool is_passthrough(const ir::Node& node) {
  if (!node.op.is_aten()) return false;
  const AtenOp op = node.op.aten();
  return traits_of(op).data == AtenData::kPermuted || op == AtenOp::cat_default || op == AtenOp::stack_default ||
         op == AtenOp::constant_pad_nd_default;
}

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& graph)
      : graph_(graph),
        producers_(ir::producers(graph)),
        users_(ir::users(graph)),
        outputs_(ir::is_output(graph)),
        builder_(graph) {}

  Steps run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) step(ir::NodeId(n));
    return std::move(builder_).finish();
  }

 private:
  void step(ir::NodeId id) {
    const ir::Node& node = graph_[id];
    if (node.op == ir::Op(AtenOp::quantize_per_tensor_default) && is_rewritten(node)) return;
    builder_.keep(id);
    if (node.op == ir::Op(AtenOp::dequantize_per_tensor_default)) {
      builder_.set_integers(node.outputs[0],
                            {.value = builder_.resolved(node.inputs[0]), .quantization = parameters_of(node)});
    } else {
      move_integers(node);
    }
  }

  // Replaces a data-movement node on floats by the same node on their integers.
  void move_integers(const ir::Node& node) {
    if (!is_passthrough(node) || node.outputs.size() != 1 || node.inputs.empty()) return;
    std::vector<ir::ValueId> inputs;
    std::optional<Quantization> shared;
    for (const ir::ValueId input : node.inputs) {
      const auto integers = input.valid() ? builder_.integers_of(input) : std::nullopt;
      if (!integers || !is_int8(integers->quantization)) return;
      if (shared && *shared != integers->quantization) return;
      shared = integers->quantization;
      inputs.push_back(integers->value);
    }
    for (ir::ValueId& input : inputs) input = builder_.plain(input);
    ir::Node integer_node = node;
    if (node.op == ir::Op(AtenOp::constant_pad_nd_default))
      integer_node.attributes.set("value", quantized_bound(node.attributes.number("value"), *shared, shared->qmin));
    builder_.set_integers(node.outputs[0], {.value = builder_.moved(integer_node, inputs), .quantization = *shared});
  }

  [[nodiscard]] bool is_only_for(ir::ValueId value) const {
    return users_[value.index()].size() == 1 && !outputs_[value.index()];
  }

  // Returns whether the integers of a quantize node can be computed from integers.
  bool is_rewritten(const ir::Node& quantize) {
    const Quantization to = parameters_of(quantize);
    if (!is_int8(to)) return false;
    const ir::ValueId output = quantize.outputs[0];
    if (const auto from = builder_.integers_of(quantize.inputs[0])) {
      if (from->quantization != to) return requantized(builder_, *from, to, output);
      builder_.alias(output, from->value);
      return true;
    }
    return is_enclosed(quantize.inputs[0], to, output);
  }

  bool is_enclosed(ir::ValueId floats, const Quantization& to, ir::ValueId output) {
    int64_t low = to.qmin, high = to.qmax;
    for (;;) {
      const ir::NodeId producer = producers_[floats.index()];
      if (!producer.valid() || !is_only_for(floats)) return false;
      const ir::Node& node = graph_[producer];
      const Enclosed enclosed{.node = node, .to = to, .low = low, .high = high, .output = output};
      if (write(enclosed)) return true;
      const auto limits = limits_of(node);
      if (!limits) return false;
      low = std::max(low, quantized_bound(limits->low, to, to.qmin));
      high = std::min(high, quantized_bound(limits->high, to, to.qmax));
      if (low > high) return false;
      floats = node.inputs[0];
    }
  }

  bool write(const Enclosed& enclosed) {
    if (!enclosed.node.op.is_aten() || enclosed.node.outputs.size() != 1) return false;
    const AtenOp op = enclosed.node.op.aten();
    for (const IntegerKernel kernel : {integer_linear(op), integer_pool(op), integer_elementwise(op)}) {
      if (kernel != nullptr && kernel(builder_, enclosed)) return true;
    }
    return by_table(builder_, enclosed);
  }

  const ir::Graph& graph_;
  std::vector<ir::NodeId> producers_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> outputs_;
  IntegerBuilder builder_;
};

}  // namespace

Steps node_steps(const ir::Graph& graph) {
  Steps result{.graph = graph, .steps = {}};
  for (size_t n = 0; n < graph.nodes.size(); ++n) result.steps.emplace_back(ir::NodeId(n));
  return result;
}

Steps integer_steps(const ir::Graph& graph) {
  return Rewriter(graph).run();
}

}  // namespace carina::pte
