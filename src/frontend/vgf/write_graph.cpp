#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include "base/hash/content_hash.h"
#include "facts/vgf.h"
#include "facts/vgf_ops.h"
#include "frontend/vgf/element_bits_internal.h"
#include "frontend/vgf/spirv_builder_internal.h"
#include "frontend/vgf/write_graph_internal.h"
#include "ir/tosa_type.h"

namespace carina::vgf {

namespace {

// SPIR-V has no tensors of rank 0. A scalar becomes a tensor of shape [1].
Shape in_file(const Shape& shape) {
  return shape.rank() == 0 ? Shape{1} : shape;
}

DType in_file(DType dtype) {
  return dtype == DType::kInt4 ? DType::kInt8 : dtype;
}

bool takes_unsigned(const ir::Node& node) {
  return node.op == ir::Op(TosaOp::RESCALE) && node.attributes.get<bool>("input_unsigned");
}

class GraphWriter {
 public:
  GraphWriter(const ir::Graph& graph, const std::string& where)
      : graph_(graph),
        where_(where),
        ids_(graph.values.size(), 0),
        users_(ir::users(graph)),
        producers_(ir::producers(graph)) {}

  Result<GraphCode> write() {
    check_nodes();
    if (errors_.empty() && graph_.outputs.empty())
      errors_.push_back({.where = where_, .what = "the graph has no outputs"});
    if (!errors_.empty()) return fail(std::move(errors_));
    write_interface();
    for (const ir::Node& node : graph_.nodes) write_node(node);
    if (!errors_.empty()) return fail(std::move(errors_));
    for (size_t i = 0; i < distinct_outputs_.size(); ++i)
      spirv_.set_output(id_of(distinct_outputs_[i]), static_cast<uint32_t>(i));
    code_.words = spirv_.finish();
    return std::move(code_);
  }

 private:
  void reject(const ir::Node& node, std::string what, std::string hint = {}) {
    errors_.push_back({.where = fmt::format("{}: {}", where_, node.name),
                       .what = std::move(what),
                       .hint = std::move(hint),
                       .node = static_cast<size_t>(&node - graph_.nodes.data())});
  }

  // Reports all nodes that the instruction set does not support, before anything is written.
  void check_nodes() {
    for (const ir::Node& node : graph_.nodes) {
      const VgfForm& form = vgf_form_of(node.op.tosa());
      if (form.treatment == VgfTreatment::kRejected)
        reject(node, fmt::format("VGF has no {}: {}", node.op.name(), form.reason));
      check_constants(node);
    }
  }

  // TOSA's extension DYNAMIC allows run-time values for both operands. Neither model-converter nor the emulation layers
  // support zero points at run time.
  void check_constants(const ir::Node& node) {
    const auto& operands = row_of(node.op.tosa()).inputs;
    for (size_t i = 0; i < operands.size() && i < node.inputs.size(); ++i) {
      const bool is_shape = operands[i].kind == TosaOperandKind::kShape;
      if (graph_[node.inputs[i]].constant || !(is_shape || operands[i].name.ends_with("_zp"))) continue;
      reject(node, fmt::format("operand {} is known only while the graph runs", operands[i].name),
             is_shape ? "VGF's shapes are constants" : "VGF's zero points are constants");
    }
  }

  [[nodiscard]] TensorResource resource_of(ir::ValueId id, bool is_unsigned) const {
    return {.dtype = in_file(graph_[id].dtype), .shape = in_file(graph_[id].shape), .is_unsigned = is_unsigned};
  }
  uint32_t type_of(ir::ValueId id) { return spirv_.tensor_type(graph_[id].dtype, in_file(graph_[id].shape)); }

  [[nodiscard]] bool is_read_as_unsigned(ir::ValueId id) const {
    return std::ranges::any_of(users_[id.index()], [&](ir::NodeId node) { return takes_unsigned(graph_[node]); });
  }
  [[nodiscard]] bool is_made_as_unsigned(ir::ValueId id) const {
    const ir::NodeId producer = producers_[id.index()];
    return producer.valid() && graph_[producer].op == ir::Op(TosaOp::RESCALE) &&
           graph_[producer].attributes.get<bool>("output_unsigned");
  }
  // A constant is unsigned if all its readers treat it as unsigned; the constant itself does not say.
  [[nodiscard]] bool is_unsigned_constant(ir::ValueId id) const {
    const auto& users = users_[id.index()];
    return !users.empty() && std::ranges::all_of(users, [&](ir::NodeId node) {
      return takes_unsigned(graph_[node]) && graph_[node].inputs.front() == id;
    });
  }

  void write_interface() {
    std::vector<uint32_t> interface;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
    const auto declare = [&](ir::ValueId id, std::vector<uint32_t>& types) {
      types.push_back(type_of(id));
      interface.push_back(spirv_.variable(types.back(), static_cast<uint32_t>(interface.size())));
      spirv_.name(interface.back(), graph_[id].name);
    };
    for (const ir::ValueId id : graph_.inputs) {
      declare(id, inputs);
      code_.inputs.push_back(resource_of(id, is_read_as_unsigned(id)));
    }
    for (const ir::ValueId id : graph_.outputs) {
      const auto found = std::ranges::find(distinct_outputs_, id);
      code_.output_of.push_back(static_cast<size_t>(found - distinct_outputs_.begin()));
      if (found != distinct_outputs_.end()) continue;
      distinct_outputs_.push_back(id);
      declare(id, outputs);
      code_.outputs.push_back(resource_of(id, is_made_as_unsigned(id)));
    }
    spirv_.entry_point(graph_.name, spirv_.graph_type(inputs, outputs), interface);
    for (size_t i = 0; i < inputs.size(); ++i)
      ids_[graph_.inputs[i].index()] = spirv_.graph_input(inputs[i], static_cast<uint32_t>(i));
  }

  // The id of a value that is computed already or is a constant.
  uint32_t id_of(ir::ValueId id) {
    uint32_t& known = ids_[id.index()];
    if (known == 0) known = constant(id);
    return known;
  }

  uint32_t constant(ir::ValueId id) {
    const Tensor& tensor = *graph_[id].constant;
    if (tensor.dtype == DType::kShape || tensor.elements() <= kVgfMaxInlineElements)
      return spirv_.tensor(tensor.dtype, in_file(tensor.shape), element_bits(tensor));
    return spirv_.graph_constant(type_of(id), graph_constant(resource_of(id, is_unsigned_constant(id)), tensor));
  }

  // The id of a graph constant. Equal data are stored once.
  uint32_t graph_constant(const TensorResource& resource, const Tensor& tensor) {
    const Buffer data = tensor.data.slice(0, tensor_bytes(tensor.dtype, tensor.shape));
    const uint64_t hash = content_hash(data.bytes());
    const auto [first, last] = constants_of_hash_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      const GraphCode::Constant& other = code_.constants[known->second];
      if (other.resource.dtype == resource.dtype && other.resource.shape == resource.shape &&
          other.resource.is_unsigned == resource.is_unsigned && std::ranges::equal(other.data.bytes(), data.bytes()))
        return known->second;
    }
    const auto number = static_cast<uint32_t>(code_.constants.size());
    code_.constants.push_back({.resource = resource, .data = data});
    constants_of_hash_.emplace(hash, number);
    return number;
  }

  void write_node(const ir::Node& node) {
    if (forwards(node)) {
      ids_[node.outputs.front().index()] = id_of(node.inputs.front());
      return;
    }
    std::vector<uint32_t> operands;
    const VgfForm& form = vgf_form_of(node.op.tosa());
    for (const std::string_view name : form.attributes) operands.push_back(attribute(node, name));
    for (size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(operand(node, i));
    // The instruction would exceed SPIR-V's word limit. Only CONCAT has a variable number of operands.
    if (operands.size() + 5 > kSpirvMaxWords) return reject(node, "too many operands for an instruction of SPIR-V");
    write_results(node, form.instruction, operands);
  }

  // Returns whether a node has no effect in the file. Scalars have shape [1] there, so a RESHAPE from a scalar to [1]
  // is dropped.
  [[nodiscard]] bool forwards(const ir::Node& node) const {
    if (vgf_form_of(node.op.tosa()).treatment == VgfTreatment::kForwarded) return true;
    return node.op == ir::Op(TosaOp::RESHAPE) &&
           in_file(graph_[node.inputs.front()].shape) == in_file(graph_[node.outputs.front()].shape);
  }

  void write_results(const ir::Node& node, uint32_t instruction, std::span<const uint32_t> operands) {
    std::vector<uint32_t> types;
    for (const ir::ValueId output : node.outputs) types.push_back(type_of(output));
    if (types.size() == 1) {
      const uint32_t id = spirv_.tosa(types.front(), instruction, operands);
      return set(node.outputs.front(), id);
    }
    const uint32_t all = spirv_.tosa(spirv_.struct_of(types), instruction, operands);
    for (size_t i = 0; i < types.size(); ++i)
      set(node.outputs[i], spirv_.extract(types[i], all, static_cast<uint32_t>(i)));
  }

  void set(ir::ValueId value, uint32_t id) {
    ids_[value.index()] = id;
    spirv_.name(id, graph_[value].name);
  }

  uint32_t operand(const ir::Node& node, size_t index) {
    const ir::Value& value = graph_[node.inputs[index]];
    if (value.dtype != DType::kShape) return id_of(node.inputs[index]);
    // The shape operand of a RESHAPE to a scalar. No other shape may be empty.
    if (value.shape.elements() == 0) return spirv_.tensor(DType::kShape, Shape{1}, std::array<uint64_t, 1>{1});
    const auto numbers = value.constant->values<int64_t>().first(static_cast<size_t>(value.shape.elements()));
    for (const int64_t number : numbers) {
      if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) continue;
      reject(node, fmt::format("a number of operand {} does not fit 32 bits: {}", index, number));
    }
    return id_of(node.inputs[index]);
  }

  const TosaAttribute& row_of_attribute(const ir::Node& node, std::string_view name) const {
    return *std::ranges::find(row_of(node.op.tosa()).attributes, name, &TosaAttribute::name);
  }

  uint32_t attribute(const ir::Node& node, std::string_view name) {
    const ir::Attribute& value = *node.attributes.find(name);
    switch (row_of_attribute(node, name).kind) {
      case TosaAttributeKind::kBool:
        return spirv_.boolean(std::get<bool>(value));
      case TosaAttributeKind::kInt:
      case TosaAttributeKind::kEnum:
        return number(node, name, DType::kInt32, value);
      case TosaAttributeKind::kInts:
        return numbers(node, name, std::get<std::vector<int64_t>>(value));
      case TosaAttributeKind::kType:
        return acc_type(node, name, std::get<DType>(value));
      case TosaAttributeKind::kScalar:
        return number(node, name, graph_[node.inputs.front()].dtype, value);
      case TosaAttributeKind::kString:
      case TosaAttributeKind::kGraph:
      case TosaAttributeKind::kBytes:
        break;  // only rejected operators have attributes of this kind
    }
    CARINA_UNREACHABLE("attribute kind", row_of_attribute(node, name).kind);
  }

  uint32_t number(const ir::Node& node, std::string_view name, DType dtype, const ir::Attribute& value) {
    const auto bits = bits_of_number(dtype, value);
    if (!bits) reject(node, fmt::format("attribute {} does not fit {}", name, carina::name_of(dtype)));
    return spirv_.scalar(dtype, bits.value_or(0));
  }

  uint32_t numbers(const ir::Node& node, std::string_view name, const std::vector<int64_t>& values) {
    if (values.empty()) {
      reject(node, fmt::format("attribute {} is empty", name));
      return 0;
    }
    std::vector<uint64_t> bits;
    for (const int64_t value : values) {
      const auto word = bits_of_number(DType::kInt32, value);
      if (!word) reject(node, fmt::format("attribute {} does not fit 32 bits", name));
      bits.push_back(word.value_or(0));
    }
    return spirv_.tensor(DType::kInt32, Shape{static_cast<int64_t>(bits.size())}, bits);
  }

  uint32_t acc_type(const ir::Node& node, std::string_view name, DType dtype) {
    const auto row = std::ranges::find_if(
        kVgfAccTypes, [&](const VgfAccType& candidate) { return ir::dtype_of(candidate.type) == dtype; });
    if (row == kVgfAccTypes.end()) reject(node, fmt::format("attribute {} cannot be {}", name, carina::name_of(dtype)));
    return spirv_.word(row == kVgfAccTypes.end() ? 0 : row->number);
  }

  const ir::Graph& graph_;
  const std::string& where_;
  std::vector<uint32_t> ids_;  // by value; 0: not computed yet
  std::vector<std::vector<ir::NodeId>> users_;
  std::vector<ir::NodeId> producers_;
  std::vector<ir::ValueId> distinct_outputs_;
  std::unordered_multimap<uint64_t, uint32_t> constants_of_hash_;
  SpirvBuilder spirv_;
  GraphCode code_;
  Diagnostics errors_;
};

}  // namespace

Result<GraphCode> write_graph(const ir::Graph& graph, const std::string& where) {
  return GraphWriter(graph, where).write();
}

}  // namespace carina::vgf
