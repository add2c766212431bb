#include "quantize/import.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "facts/aten_traits.h"
#include "quantize/parameters_internal.h"

namespace carina::quantize {

namespace {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Folder {
 public:
  explicit Folder(ir::Graph& graph)
      : graph_(graph),
        users_(ir::users(graph)),
        is_output_(ir::is_output(graph)),
        parameters_(graph.nodes.size()),
        now_(graph.values.size()) {
    for (size_t v = 0; v < now_.size(); ++v) now_[v] = ValueId(v);
  }

  Result<void> run() {
    CARINA_CHECKED(read_parameters());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) fold(NodeId(n));
    return finish();
  }

  Result<void> run_on_weights() {
    CARINA_CHECKED(read_parameters());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const NodeId id(n);
      if (is_role(id, Role::kDequantize) && reads_own_integers(id) && is_constant_operand(graph_[id].outputs.front()))
        fold_constant(graph_[id], *parameters_[n]);
      else
        keep(graph_[id]);
    }
    return finish();
  }

 private:
  Result<void> finish() {
    graph_.nodes = std::move(kept_);
    for (ValueId& output : graph_.outputs) {
      if (output.valid()) output = now_[output.index()];
    }
    ir::remove_dead(graph_);
    return {};
  }

  void keep(Node node) {
    for (ValueId& input : node.inputs) {
      if (input.valid()) input = now_[input.index()];
    }
    kept_.push_back(std::move(node));
  }

  // Returns whether the dequantize node reads a constant of integers.
  [[nodiscard]] bool reads_own_integers(NodeId dequantize) const {
    const ir::Value& integers = graph_[graph_[dequantize].inputs.front()];
    return integers.constant && integers.constant->dtype == parameters_[dequantize.index()]->dtype;
  }

  // Returns whether all readers of the value, also after data movement, are convolutions or matrix products that read
  // it as an operand other than the data, or divisions by it.
  [[nodiscard]] bool is_constant_operand(ValueId value) const {
    if (is_output_[value.index()] || users_[value.index()].empty()) return false;
    return std::ranges::all_of(users_[value.index()], [&](NodeId user) {
      const Node& node = graph_[user];
      if (!node.op.is_aten() || node.inputs.empty()) return false;
      const AtenTraits& traits = traits_of(node.op.aten());
      const size_t data = traits.family == AtenFamily::kProduct && node.inputs.size() == 3 ? 1 : 0;  // addmm
      if (traits.family == AtenFamily::kConvolution || traits.family == AtenFamily::kProduct)
        return node.inputs[data] != value;
      if (node.op == ir::Op(AtenOp::div_Tensor)) return node.inputs.front() != value;
      return traits.data == AtenData::kPermuted && node.inputs.front() == value &&
             std::ranges::all_of(node.outputs, [&](ValueId id) { return !id.valid() || is_constant_operand(id); });
    });
  }

  Result<void> read_parameters() {
    Diagnostics problems;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (role_of(node) == Role::kNone || !has_constant_parameters(graph_, node)) continue;
      Result<Quantization> parameters = parameters_of(graph_, node);
      if (parameters) {
        parameters_[n] = *std::move(parameters);
      } else {
        for (Diagnostic& problem : parameters.error()) problems.push_back(std::move(problem));
      }
    }
    if (!problems.empty()) return fail(std::move(problems));
    return {};
  }

  [[nodiscard]] bool is_role(NodeId node, Role role) const {
    return parameters_[node.index()] && role_of(graph_[node]) == role;
  }

  // Returns whether the integers of this quantize node are only dequantized, with the same parameters.
  [[nodiscard]] bool only_dequantized(NodeId quantize) const {
    const ValueId integers = graph_[quantize].outputs.front();
    if (is_output_[integers.index()]) return false;
    return std::ranges::all_of(users_[integers.index()], [&](NodeId user) {
      return is_role(user, Role::kDequantize) && parameters_[user.index()] == parameters_[quantize.index()] &&
             graph_[graph_[user].outputs.front()].dtype == graph_[graph_[quantize].inputs.front()].dtype;
    });
  }

  // Returns whether all readers of the value are quantize nodes with these parameters.
  [[nodiscard]] bool only_quantized(ValueId value, const Quantization& parameters) const {
    if (is_output_[value.index()]) return false;
    return std::ranges::all_of(users_[value.index()], [&](NodeId user) {
      return is_role(user, Role::kQuantize) && parameters_[user.index()] == parameters;
    });
  }

  void fold(NodeId id) {
    Node node = graph_[id];
    const std::optional<Quantization>& parameters = parameters_[id.index()];
    if (is_role(id, Role::kQuantize) && only_dequantized(id)) return fold_pair(node, *parameters);
    if (is_role(id, Role::kQuantize)) {
      // Other nodes read the integers, so the quantize node stays. Its operand gets the parameters nevertheless.
      ir::Value& input = graph_[now_[node.inputs.front().index()]];
      if (!input.quantization && !parameters->per_channel() && only_quantized(node.inputs.front(), *parameters))
        input.quantization = parameters;
    }
    if (is_role(id, Role::kDequantize)) {
      if (folded(node.outputs.front())) return;
      if (reads_own_integers(id)) return fold_constant(node, *parameters);
      graph_[node.outputs.front()].quantization = parameters;
    }
    if (parameters && !parameters->per_channel()) spell_out(node, *parameters);
    keep(std::move(node));
  }

  // Canonicalizes a node: its parameters become attributes instead of tensors.
  static void spell_out(Node& node, const Quantization& parameters) {
    const bool is_quantize = role_of(node) == Role::kQuantize;
    node.op = is_quantize ? AtenOp::quantize_per_tensor_default : AtenOp::dequantize_per_tensor_default;
    node.inputs.resize(1);
    node.attributes.set("scale", parameters.scale());
    node.attributes.set("zero_point", parameters.zero_point());
  }

  [[nodiscard]] bool folded(ValueId value) const { return now_[value.index()] != value; }

  // Folds x -> quantize -> dequantize, dequantize ...: all results become one value.
  void fold_pair(const Node& quantize, const Quantization& parameters) {
    const ValueId original = quantize.inputs.front();
    const ValueId quantized = with_parameters(original, now_[original.index()], quantize, parameters);
    for (const NodeId dequantize : users_[quantize.outputs.front().index()])
      now_[graph_[dequantize].outputs.front().index()] = quantized;
  }

  ValueId with_parameters(ValueId original, ValueId value, const Node& quantize, const Quantization& parameters) {
    if (graph_[value].quantization == parameters) return value;
    if (!graph_[value].quantization && only_quantized(original, parameters)) {
      graph_[value].quantization = parameters;
      return value;
    }
    ir::Value copy{.name = graph_[quantize.outputs.front()].name,
                   .dtype = graph_[value].dtype,
                   .shape = graph_[value].shape,
                   .quantization = parameters,
                   .constant = {}};
    if (graph_[value].constant && !graph_[value].quantization) {
      copy.constant = graph_[value].constant;
      return graph_.add_value(std::move(copy));
    }
    const ValueId result = graph_.add_value(std::move(copy));
    kept_.push_back({.op = AtenOp::clone_default,
                     .name = quantize.name,
                     .inputs = {value},
                     .outputs = {result},
                     .attributes = {{"memory_format", std::monostate()}},
                     .source = quantize.source,
                     .origin = quantize.origin});
    return result;
  }

  // Folds an integer constant and its dequantize node into one quantized constant. A constant with several dequantize
  // nodes becomes several values, which share their bytes.
  void fold_constant(const Node& dequantize, const Quantization& parameters) {
    const ValueId integers = dequantize.inputs.front();
    const ValueId result = dequantize.outputs.front();
    const DType logical = graph_[result].dtype;
    ValueId& value = now_[result.index()];
    for (const ValueId reading : readings_[integers.index()]) {
      if (graph_[reading].quantization == parameters && graph_[reading].dtype == logical) {
        value = reading;
        return;
      }
    }
    if (only_dequantized_as(integers, parameters, logical)) {
      graph_[integers].quantization = parameters;
      graph_[integers].dtype = logical;
      value = integers;
    } else {
      value = graph_.add_value({.name = graph_[integers].name,
                                .dtype = logical,
                                .shape = graph_[integers].shape,
                                .quantization = parameters,
                                .constant = graph_[integers].constant});
    }
    readings_[integers.index()].push_back(value);
  }

  [[nodiscard]] bool only_dequantized_as(ValueId integers, const Quantization& parameters, DType logical) const {
    if (is_output_[integers.index()]) return false;
    return std::ranges::all_of(users_[integers.index()], [&](NodeId user) {
      return is_role(user, Role::kDequantize) && parameters_[user.index()] == parameters &&
             graph_[graph_[user].outputs.front()].dtype == logical;
    });
  }

  ir::Graph& graph_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_output_;
  // per node, if it quantizes or dequantizes with constant parameters
  std::vector<std::optional<Quantization>> parameters_;
  std::unordered_map<size_t, std::vector<ValueId>> readings_;  // per constant of integers: the values made from it
  std::vector<ValueId> now_;                                   // the current replacement of each original value
  std::vector<Node> kept_;
};

}  // namespace

Result<void> fold_imported_weights(ir::Graph& aten) {
  return Folder(aten).run_on_weights();
}

Result<void> fold_imported(ir::Graph& aten, const Log& /*log*/) {
  return Folder(aten).run();
}

}  // namespace carina::quantize
