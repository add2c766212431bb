#include "partition/split_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "facts/aten_traits.h"
#include "partition/grouping_internal.h"
#include "tensor/elements.h"

namespace carina::partition {

namespace {

using ir::Node;
using ir::ValueId;

// Returns a constant in the form that CPU kernels read.
Tensor dequantized_constant(const ir::Value& value) {
  const Tensor& tensor = *value.constant;
  return !value.quantization || is_float(tensor.dtype) ? tensor : dequantized(tensor, *value.quantization);
}

// Returns the integers of a state's initial value, as quantize_per_tensor gives them.
Tensor quantized(const Tensor& floats, const Quantization& q) {
  std::vector<int64_t> integers;
  const auto inverse = static_cast<float>(1.0 / q.scale());
  for (const float real : floats.values<float>()) {
    const double step = std::nearbyint(real * inverse) + static_cast<double>(q.zero_point());
    integers.push_back(
        static_cast<int64_t>(std::clamp(step, static_cast<double>(q.qmin), static_cast<double>(q.qmax))));
  }
  return integer_tensor(q.dtype, floats.shape, integers);
}

// The type in which delegates compute plain values of a type that they do not have, and the suffix of its values.
struct Narrow {
  DType dtype;
  const char* suffix;
};
std::optional<Narrow> narrowed(DType dtype) {
  if (dtype == DType::kInt64) return Narrow{.dtype = DType::kInt32, .suffix = "_int32"};
  if (dtype == DType::kFp64) return Narrow{.dtype = DType::kFp32, .suffix = "_float32"};
  return std::nullopt;
}

ir::Attributes quantize_attributes(const Quantization& q) {
  return {{"scale", q.scale()},
          {"zero_point", q.zero_point()},
          {"quant_min", q.qmin},
          {"quant_max", q.qmax},
          {"dtype", q.dtype}};
}

// Builds the program and the delegates. Each value of the original graph has up to three forms in the program: the
// floats that a CPU node computed, their integers, and the dequantized integers.
class Splitter {
 public:
  Splitter(const ir::Graph& graph, const ir::Graph& annotated, const std::vector<int>& group_of)
      : graph_(graph),
        annotated_(annotated),
        group_of_(group_of),
        users_(ir::users(graph)),
        outputs_(ir::is_output(graph)) {
    result_.program.name = graph.name;
    producer_ = ir::producers(graph);
  }

  Partitioned run() {
    for (size_t i = 0; i < graph_.inputs_without_state(); ++i) {
      const ValueId input = graph_.inputs[i];
      floats_[input] = program().add_value(graph_[input].name, graph_[input].dtype, graph_[input].shape);
      program().inputs.push_back(floats_[input]);
    }
    for (size_t i = 0; i < graph_.states.size(); ++i) add_state(i);
    for (const auto& members : ordered_groups(graph_, group_of_)) {
      if (group_of_[members.front()] == kOnCpu)
        add_cpu_node(ir::NodeId(members.front()));
      else
        add_delegate(members);
    }
    for (size_t i = 0; i < graph_.outputs_without_state(); ++i)
      program().outputs.push_back(output_form(graph_.outputs[i]));
    for (size_t i = 0; i < graph_.states.size(); ++i) program().outputs.push_back(state_output(i));
    ir::remove_dead(program());
    return std::move(result_);
  }

 private:
  ir::Graph& program() { return result_.program; }

  // Returns the parameters with which the program keeps a state as integers; nullptr: it keeps floats. Both ends of the
  // pair must have them.
  [[nodiscard]] const Quantization* kept_as(size_t state) const {
    const auto& before = annotated_[graph_.state_input(state)].quantization;
    const auto& after = annotated_[graph_.state_output(state)].quantization;
    const bool is_wanted =
        graph_[graph_.state_input(state)].quantization || graph_[graph_.state_output(state)].quantization;
    return is_wanted && before && before == after ? &*before : nullptr;
  }

  // Adds the input of a state. Quantized state stays integers from run to run, so that a delegate reads and writes it
  // without conversions.
  void add_state(size_t index) {
    const ValueId input = graph_.state_input(index);
    const ir::Value& value = graph_[input];
    const Quantization* q = kept_as(index);
    const ValueId added = program().add_value(value.name, q == nullptr ? value.dtype : q->dtype, value.shape);
    (q == nullptr ? floats_ : integers_)[input] = added;
    program().inputs.push_back(added);
    ir::State state = graph_.states[index];
    if (q != nullptr) state.initial = quantized(state.initial, *q);
    program().states.push_back(std::move(state));
  }

  ValueId state_output(size_t index) {
    const ValueId output = graph_.state_output(index);
    if (kept_as(index) == nullptr) return output_form(output);
    if (graph_[output].constant) cpu_form(output);
    return integers(output);
  }

  // Inserts a Q/DQ node between floats and integers.
  ValueId insert_qdq(AtenOp op, ValueId from, const ir::Value& original, const Quantization& q, DType to,
                     std::string_view suffix) {
    const ValueId result = program().add_value(fmt::format("{}_{}", original.name, suffix), to, original.shape);
    ir::Attributes attributes = quantize_attributes(q);
    if (op == AtenOp::dequantize_per_tensor_default) attributes.set("out_dtype", std::monostate());
    program().add_node({.op = op,
                        .name = program()[result].name,
                        .inputs = {from},
                        .outputs = {result},
                        .attributes = std::move(attributes),
                        .source = {}});
    return result;
  }

  // Inserts a conversion between a type that delegates do not have and its narrow one.
  ValueId converted(ValueId from, std::string name, DType to) {
    const ValueId result = program().add_value(name, to, Shape(program()[from].shape));
    program().add_node({.op = AtenOp::_to_copy_default,
                        .name = std::move(name),
                        .inputs = {from},
                        .outputs = {result},
                        .attributes = {{"dtype", to}},
                        .source = {}});
    return result;
  }

  // Returns the integers of a value, with its parameters inside delegates. Plain values are returned unchanged, except
  // that int64 and fp64 become narrow.
  ValueId integers(ValueId id) {
    const auto& q = annotated_[id].quantization;
    const std::optional<Narrow> narrow = narrowed(graph_[id].dtype);
    if (!q && !narrow) return floats_.at(id);
    if (const auto known = integers_.find(id); known != integers_.end()) return known->second;
    if (!q) return integers_[id] = converted(floats_.at(id), graph_[id].name + narrow->suffix, narrow->dtype);
    return integers_[id] =
               insert_qdq(AtenOp::quantize_per_tensor_default, floats_.at(id), graph_[id], *q, q->dtype, "quantized");
  }

  // Adds the dequantized values of a constant, with the parameters of its integers.
  ValueId add_constant(const ir::Value& value) {
    const ValueId constant = program().add_constant(value.name, dequantized_constant(value));
    program()[constant].quantization = value.quantization;
    return constant;
  }

  // Returns the form that CPU kernels read: for a quantized value, its dequantized integers.
  ValueId cpu_form(ValueId id) {
    if (!id.valid()) return id;
    if (const auto known = rounded_.find(id); known != rounded_.end()) return known->second;
    const ir::Value& value = graph_[id];
    if (value.constant) return rounded_[id] = add_constant(value);
    const bool from_delegate = !floats_.contains(id);
    const auto& q = from_delegate ? annotated_[id].quantization : value.quantization;
    if (!q || (!from_delegate && is_representable(id))) return rounded_[id] = floats_.at(id);
    return rounded_[id] =
               insert_qdq(AtenOp::dequantize_per_tensor_default, integers(id), value, *q, value.dtype, "dequantized");
  }

  // Returns whether a CPU node only moved floats that integers with the same parameters represent. They need not be
  // rounded again.
  [[nodiscard]] bool is_representable(ValueId id) const {
    const ir::NodeId producer = producer_[id.index()];
    if (!producer.valid() || !is_data_movement(graph_[producer].op.aten())) return false;
    return std::ranges::all_of(graph_[producer].inputs, [&](ValueId input) {
      return input.valid() && graph_[input].quantization == graph_[id].quantization;
    });
  }

  ValueId output_form(ValueId id) {
    const bool made_as_floats = floats_.contains(id) && !graph_[id].quantization;
    return made_as_floats ? floats_.at(id) : cpu_form(id);
  }

  void add_cpu_node(ir::NodeId node_id) {
    const Node& node = graph_[node_id];
    Node copy = node;
    copy.origin = node_id;
    std::ranges::transform(node.inputs, copy.inputs.begin(), [&](ValueId id) { return cpu_form(id); });
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (!output.valid()) continue;
      copy.outputs[i] = floats_[output] =
          program().add_value(graph_[output].name, graph_[output].dtype, graph_[output].shape);
    }
    program().add_node(std::move(copy));
  }

  [[nodiscard]] bool leaves(ValueId id, int group) const {
    return outputs_[id.index()] ||
           std::ranges::any_of(users_[id.index()], [&](ir::NodeId user) { return group_of_[user.index()] != group; });
  }

  void add_delegate(const std::vector<size_t>& members) {
    const int group = group_of_[members.front()];
    const size_t index = result_.delegates.size();
    ir::Graph delegate;
    delegate.name = fmt::format("delegate_{}", index);
    Node call{.op = AtenOp::executorch_call_delegate_default,
              .name = delegate.name,
              .inputs = {},
              .outputs = {},
              .attributes = {{"delegate", static_cast<int64_t>(index)}},
              .source = {}};
    std::map<ValueId, ValueId> inside;
    const auto take = [&](ValueId id) {
      if (!id.valid()) return id;
      const auto [entry, is_new] = inside.try_emplace(id);
      if (!is_new) return entry->second;
      ir::Value value = annotated_[id];
      const ValueId taken = entry->second = delegate.add_value(std::move(value));
      if (!annotated_[id].constant) {
        delegate.inputs.push_back(taken);
        call.inputs.push_back(integers(id));
      }
      return taken;
    };
    for (const size_t n : members) {
      Node copy = graph_.nodes[n];
      copy.origin = ir::NodeId(n);
      std::ranges::transform(copy.inputs, copy.inputs.begin(), take);
      for (ValueId& output : copy.outputs) {
        if (!output.valid()) continue;
        const ValueId original = output;
        output = inside[original] = delegate.add_value(annotated_[original]);
        if (!leaves(original, group)) continue;
        delegate.outputs.push_back(output);
        call.outputs.push_back(add_delegate_output(original));
      }
      delegate.add_node(std::move(copy));
    }
    program().add_node(std::move(call));
    widen_outputs(members);
    result_.delegates.push_back(std::move(delegate));
  }

  // Adds the output of a delegate. A quantized result is passed as integers, a plain one unchanged.
  ValueId add_delegate_output(ValueId original) {
    const ir::Value& value = annotated_[original];
    const std::optional<Narrow> narrow = narrowed(value.dtype);
    if (!value.quantization && !narrow)
      return floats_[original] = program().add_value(value.name, value.dtype, value.shape);
    if (!value.quantization)
      return integers_[original] = program().add_value(value.name + narrow->suffix, narrow->dtype, value.shape);
    return integers_[original] = program().add_value(value.name + "_quantized", value.quantization->dtype, value.shape);
  }

  // Converts narrow results of a delegate to int64 and fp64 for their readers outside.
  void widen_outputs(const std::vector<size_t>& members) {
    for (const size_t n : members) {
      for (const ValueId id : graph_.nodes[n].outputs) {
        const bool widened = id.valid() && narrowed(graph_[id].dtype) && !annotated_[id].quantization;
        if (widened && integers_.contains(id))
          floats_[id] = converted(integers_.at(id), graph_[id].name, graph_[id].dtype);
      }
    }
  }

  const ir::Graph& graph_;
  const ir::Graph& annotated_;
  const std::vector<int>& group_of_;
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<bool> outputs_;
  std::vector<ir::NodeId> producer_;
  Partitioned result_;
  std::map<ValueId, ValueId> floats_;    // as computed (floats or plain integers)
  std::map<ValueId, ValueId> integers_;  // integers of quantized values, int32 of int64, fp32 of fp64
  std::map<ValueId, ValueId> rounded_;   // the form that CPU kernels read
};

}  // namespace

Partitioned split(const ir::Graph& graph, const ir::Graph& annotated, const std::vector<int>& group_of) {
  return Splitter(graph, annotated, group_of).run();
}

}  // namespace carina::partition
