#include "frontend/vgf/read_graph_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "facts/vgf_ops.h"
#include "frontend/vgf/element_bits_internal.h"
#include "ir/tosa_node.h"
#include "ir/tosa_type.h"

namespace carina::vgf {

namespace {

std::string type_text(const TensorType& type) {
  return fmt::format("{} {}", name_of(type.dtype), to_string(type.shape));
}

class GraphReader {
 public:
  GraphReader(ir::Graph& graph, const SpirvModule& module, const Interface& interface, const std::string& where)
      : graph_(graph), module_(module), interface_(interface), where_(where), values_(module, where) {}

  Result<std::vector<ir::ValueId>> read() {
    CARINA_TRY(const Instruction* graph, values_.definition(interface_.graph, SpirvOp::OpGraphARM));
    CARINA_TRY(const Instruction* type, values_.definition(graph->type, SpirvOp::OpTypeGraphARM));
    types_ = type->operands.subspan(1);
    outputs_.resize(types_.size() - interface_.inputs);
    for (size_t at = module_.definitions.at(interface_.graph) + 1; at < module_.instructions.size(); ++at) {
      const Instruction& instruction = module_.instructions[at];
      if (instruction.is(SpirvOp::OpGraphEndARM)) return finish();
      CARINA_CHECKED(read_instruction(instruction));
    }
    return values_.error("the graph does not end", "OpGraphEndARM");
  }

 private:
  Result<std::vector<ir::ValueId>> finish() const {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i].valid()) return values_.error(fmt::format("the graph does not set its output {}", i));
    }
    return outputs_;
  }

  Result<void> read_instruction(const Instruction& instruction) {
    if (instruction.is(SpirvOp::OpGraphInputARM)) return read_input(instruction);
    if (instruction.is(SpirvOp::OpGraphSetOutputARM)) return read_output(instruction);
    if (instruction.is(SpirvOp::OpExtInst)) return read_operator(instruction);
    if (instruction.is(SpirvOp::OpCompositeExtract)) return read_extract(instruction);
    if (instruction.is(SpirvOp::OpLine) || instruction.is(SpirvOp::OpNoLine)) return {};
    return values_.error(
        "an instruction that graphs of TOSA operators do not have", "",
        instruction.row == nullptr ? fmt::format("opcode {}", instruction.opcode) : std::string(instruction.row->name));
  }

  Result<size_t> index_of(uint32_t id, size_t count, std::string_view what) const {
    CARINA_TRY(const int64_t index, values_.integer(id));
    if (index >= 0 && static_cast<size_t>(index) < count) return static_cast<size_t>(index);
    return values_.error(fmt::format("the index of {} is out of range", what), fmt::format("below {}", count),
                         std::to_string(index));
  }

  Result<void> read_input(const Instruction& instruction) {
    if (instruction.operands.size() != 1) return values_.error("inputs that are arrays of tensors are not supported");
    CARINA_TRY(const size_t position, index_of(instruction.operands[0], interface_.inputs, "input of the graph"));
    CARINA_TRY(const TensorType type, values_.tensor_type(instruction.type));
    return define(instruction.result, interface_.values[position], type);
  }

  // Defines the value of an id. The value must have the given type.
  Result<void> define(uint32_t id, ir::ValueId value, const TensorType& type) {
    const TensorType found{.dtype = graph_[value].dtype, .shape = graph_[value].shape};
    if (found != type)
      return values_.error(fmt::format("%{} is of another type than {}", id, graph_[value].name), type_text(type),
                           type_text(found));
    ids_[id] = value;
    return {};
  }

  Result<void> read_output(const Instruction& instruction) {
    if (instruction.operands.size() != 2) return values_.error("outputs that are arrays of tensors are not supported");
    CARINA_TRY(const size_t position, index_of(instruction.operands[1], outputs_.size(), "output of the graph"));
    CARINA_TRY(const TensorType type, values_.tensor_type(types_[interface_.inputs + position]));
    CARINA_TRY(const ir::ValueId value, value_of(instruction.operands[0]));
    const TensorType found{.dtype = graph_[value].dtype, .shape = graph_[value].shape};
    if (found != type)
      return values_.error(fmt::format("output {} of the graph is of another type", position), type_text(type),
                           type_text(found));
    if (outputs_[position].valid()) return values_.error(fmt::format("the graph sets its output {} twice", position));
    outputs_[position] = value;
    return {};
  }

  // The value of an id. A constant is added to the graph when it is first read.
  Result<ir::ValueId> value_of(uint32_t id) {
    if (const auto known = ids_.find(id); known != ids_.end()) return known->second;
    const Instruction* made = module_.find(id);
    std::optional<Tensor> constant;
    if (values_.is_constant_tensor(id)) {
      CARINA_TRY(constant, values_.tensor(id));
    } else if (made != nullptr && made->is(SpirvOp::OpGraphConstantARM)) {
      CARINA_TRY(constant, graph_constant(*made));
    } else {
      return values_.error(fmt::format("%{} is read before it is made", id));
    }
    return ids_[id] = graph_.add_constant(name_of_id(id, "constant"), *std::move(constant));
  }

  // If several ids have the same name, the id is appended. A search for a free number would take quadratic time.
  [[nodiscard]] std::string name_of_id(uint32_t id, std::string_view otherwise) {
    const auto found = module_.names.find(id);
    const bool named = found != module_.names.end() && !found->second.empty();
    const std::string name = named ? found->second : fmt::format("{}_{}", otherwise, id);
    return names_.insert(name).second ? name : fmt::format("{}_{}", name, id);
  }

  Result<Tensor> graph_constant(const Instruction& instruction) {
    const uint32_t number = instruction.operands[0];
    CARINA_TRY(const TensorType type, values_.tensor_type(instruction.type));
    const auto known = graph_constants_.find(number);
    if (known == graph_constants_.end()) {
      CARINA_TRY(Tensor tensor, read_graph_constant(number, type));
      return graph_constants_.emplace(number, std::move(tensor)).first->second;
    }
    const TensorType found{.dtype = known->second.dtype, .shape = known->second.shape};
    if (found == type) return known->second;
    return values_.error(fmt::format("graph constant {} has two types", number), type_text(found), type_text(type));
  }

  Result<Tensor> read_graph_constant(uint32_t number, const TensorType& type) const {
    const auto found = interface_.constants.find(number);
    if (found == interface_.constants.end())
      return values_.error(fmt::format("graph constant {} has no data in the file", number));
    const auto& [shape, data] = found->second;
    if (!std::ranges::equal(shape, type.shape.dims()))
      return values_.error(fmt::format("graph constant {} and its resource differ in shape", number),
                           to_string(type.shape));
    const auto needed = static_cast<uint64_t>(type.shape.elements()) * element_bytes(type.dtype);
    if (data.size() != needed)
      return values_.error(fmt::format("the data of graph constant {} are not of its type's size", number),
                           fmt::format("{} bytes", needed), std::to_string(data.size()));
    return checked_tensor(type, data, number);
  }

  // Returns a view if the data have the memory format of tensors, otherwise a copy.
  Result<Tensor> checked_tensor(const TensorType& type, const Buffer& data, uint32_t number) const {
    if (type.dtype == DType::kBool) return as_booleans(type.shape, data);
    const bool fits = reinterpret_cast<uintptr_t>(data.data()) % element_bytes(type.dtype) == 0;
    Tensor out{.dtype = type.dtype, .shape = type.shape, .data = fits ? data : Buffer::copy_of(data.bytes())};
    if (type.dtype != DType::kInt48) return out;
    for (const int64_t value : out.values<int64_t>()) {
      if (value < range_of(DType::kInt48).min || value > range_of(DType::kInt48).max)
        return values_.error(fmt::format("an element of graph constant {} does not fit i48", number), "",
                             std::to_string(value));
    }
    return out;
  }

  // model-converter writes true as a byte with the value 255.
  static Tensor as_booleans(const Shape& shape, const Buffer& data) {
    MutableTensor out(DType::kBool, shape);
    std::ranges::transform(data.bytes(), out.bytes().begin(),
                           [](std::byte value) { return value == std::byte{0} ? std::byte{0} : std::byte{1}; });
    return std::move(out).freeze();
  }

  // OpCompositeExtract: FFT2D and RFFT2D return a structure of two tensors.
  Result<void> read_extract(const Instruction& instruction) {
    const auto made = structures_.find(instruction.operands[0]);
    if (made == structures_.end() || instruction.operands.size() != 2 || instruction.operands[1] >= made->second.size())
      return values_.error("OpCompositeExtract of something other than an operator's results");
    const ir::ValueId value = made->second[instruction.operands[1]];
    CARINA_TRY(const TensorType type, values_.tensor_type(instruction.type));
    graph_.rename(value, name_of_id(instruction.result, graph_[value].name));
    return define(instruction.result, value, type);
  }

  // The row of the operator of an OpExtInst.
  Result<const TosaOpRow*> row_of_instruction(const Instruction& instruction) const {
    CARINA_TRY(const Instruction* set, values_.definition(instruction.operands[0], SpirvOp::OpExtInstImport));
    const std::string name = string_of(set->operands).text;
    if (name != kVgfInstructionSet) {
      return values_.error(fmt::format("an instruction of the set {} cannot be executed", name),
                           std::string(kVgfInstructionSet), fmt::format("number {}", instruction.operands[1]));
    }
    const TosaOpRow* row = find_vgf_instruction(instruction.operands[1]);
    if (row == nullptr)
      return values_.error(fmt::format("{} has no instruction {}", kVgfInstructionSet, instruction.operands[1]));
    return row;
  }

  Result<void> read_operator(const Instruction& instruction) {
    CARINA_TRY(const TosaOpRow* found, row_of_instruction(instruction));
    const TosaOpRow& row = *found;
    const std::string name = name_of_id(instruction.result, "value");
    const std::string here = fmt::format("{}: {} ({})", where_, name_of(row.op), name);
    const auto operands = instruction.operands.subspan(2);
    if (operands.size() < row.attributes.size())
      return fail({.where = here,
                   .what = "too few operands",
                   .expected = std::to_string(row.attributes.size() + row.inputs.size()),
                   .got = std::to_string(operands.size())});
    ir::Node node{.op = row.op, .name = name, .inputs = {}, .outputs = {}, .attributes = {}, .source = {}};
    for (size_t i = row.attributes.size(); i < operands.size(); ++i) {
      CARINA_TRY(node.inputs.emplace_back(), operand(row, i - row.attributes.size(), operands[i], here));
    }
    CARINA_CHECKED(read_attributes(row, operands, node, here));
    return add_node(std::move(node), row, instruction, here);
  }

  Result<ir::ValueId> operand(const TosaOpRow& row, size_t index, uint32_t id, const std::string& here) {
    const bool is_shape = index < row.inputs.size() && row.inputs[index].kind == TosaOperandKind::kShape;
    if (!is_shape) return value_of(id);
    if (!values_.is_constant_tensor(id))
      return fail({.where = here, .what = fmt::format("operand {} is not a constant", row.inputs[index].name)});
    CARINA_TRY(const Tensor tensor, values_.tensor(id));
    if (tensor.dtype != DType::kInt32 || tensor.shape.rank() != 1)
      return fail({.where = here,
                   .what = fmt::format("operand {} is not a list of numbers", row.inputs[index].name),
                   .expected = "i32 of rank 1",
                   .got = type_text({.dtype = tensor.dtype, .shape = tensor.shape})});
    return shape_value(id, tensor);
  }

  // In Carina's graphs a shape has its own type. The same constant may be a tensor for another operand.
  ir::ValueId shape_value(uint32_t id, const Tensor& tensor) {
    if (const auto known = shapes_.find(id); known != shapes_.end()) return known->second;
    MutableTensor wide(DType::kShape, tensor.shape);
    std::ranges::copy(tensor.values<int32_t>(), wide.values<int64_t>().begin());
    return shapes_[id] = graph_.add_constant(name_of_id(id, "shape"), std::move(wide).freeze());
  }

  Result<void> read_attributes(const TosaOpRow& row, std::span<const uint32_t> operands, ir::Node& node,
                               const std::string& here) {
    for (const TosaAttribute& attribute : row.attributes) {
      const auto position = std::ranges::find(row.vgf.attributes, attribute.name) - row.vgf.attributes.begin();
      auto value = read_attribute(attribute, operands[static_cast<size_t>(position)], node);
      if (!value) {
        for (Diagnostic& error : value.error()) error.where = fmt::format("{}: attribute {}", here, attribute.name);
        return fail(std::move(value).error());
      }
      node.attributes.set(attribute.name, *std::move(value));
    }
    return {};
  }

  Result<ir::Attribute> read_attribute(const TosaAttribute& row, uint32_t id, const ir::Node& node) {
    switch (row.kind) {
      case TosaAttributeKind::kBool: {
        CARINA_TRY(const bool value, values_.boolean(id));
        return value;
      }
      case TosaAttributeKind::kInt: {
        CARINA_TRY(const int64_t value, values_.integer(id));
        return value;
      }
      case TosaAttributeKind::kEnum:
        return enumerated(row, id);
      case TosaAttributeKind::kInts:
        return integers(id);
      case TosaAttributeKind::kType:
        return acc_type(id);
      case TosaAttributeKind::kScalar:
        return scalar(id, node);
      case TosaAttributeKind::kString:
      case TosaAttributeKind::kGraph:
      case TosaAttributeKind::kBytes:
        break;  // no operator that is an instruction has an attribute of this kind
    }
    CARINA_UNREACHABLE("attribute kind", row.kind);
  }

  Result<ir::Attribute> enumerated(const TosaAttribute& row, uint32_t id) const {
    CARINA_TRY(const int64_t value, values_.integer(id));
    if (std::ranges::find(row.values, value, &TosaEnumValue::value) != row.values.end()) return value;
    return values_.error("not one of its values", "", std::to_string(value));
  }

  Result<ir::Attribute> integers(uint32_t id) {
    CARINA_TRY(const Tensor tensor, values_.tensor(id));
    if (tensor.dtype != DType::kInt32 || tensor.shape.rank() != 1)
      return values_.error("not a list of numbers", "i32 of rank 1",
                           type_text({.dtype = tensor.dtype, .shape = tensor.shape}));
    const auto numbers = tensor.values<int32_t>();
    return std::vector<int64_t>(numbers.begin(), numbers.end());
  }

  Result<ir::Attribute> acc_type(uint32_t id) const {
    CARINA_TRY(const int64_t number, values_.integer(id));
    const auto row =
        std::ranges::find_if(kVgfAccTypes, [&](const VgfAccType& candidate) { return candidate.number == number; });
    if (row != kVgfAccTypes.end()) return ir::dtype_of(row->type);
    return values_.error("not a type of accumulators", fmt::format("1 to {}", kVgfAccTypes.size()),
                         std::to_string(number));
  }

  Result<ir::Attribute> scalar(uint32_t id, const ir::Node& node) const {
    if (node.inputs.empty()) return values_.error("the operator has no operand that gives its type");
    const DType dtype = graph_[node.inputs.front()].dtype;
    CARINA_TRY(const uint64_t bits, values_.scalar(id, dtype));
    return number_of_bits(dtype, bits);
  }

  Result<std::vector<TensorType>> result_types(const TosaOpRow& row, uint32_t type) const {
    std::vector<TensorType> out;
    if (row.outputs.size() == 1) {
      CARINA_TRY(out.emplace_back(), values_.tensor_type(type));
      return out;
    }
    CARINA_TRY(const Instruction* structure, values_.definition(type, SpirvOp::OpTypeStruct));
    for (const uint32_t member : structure->operands) {
      CARINA_TRY(out.emplace_back(), values_.tensor_type(member));
    }
    if (out.size() != row.outputs.size())
      return values_.error(fmt::format("{} has another number of results", name_of(row.op)),
                           std::to_string(row.outputs.size()), std::to_string(out.size()));
    return out;
  }

  Result<void> add_node(ir::Node node, const TosaOpRow& row, const Instruction& instruction, const std::string& here) {
    CARINA_TRY(const std::vector<TensorType> types, result_types(row, instruction.type));
    const bool makes_scalar = is_argmax_of_a_list(node, types.front());
    for (const TensorType& type : types)
      node.outputs.push_back(graph_.add_value(node.name, type.dtype, makes_scalar ? Shape{} : type.shape));
    CARINA_CHECKED(ir::check_row(node, here));
    const std::vector<ir::ValueId> results = node.outputs;
    graph_.add_node(std::move(node));
    if (results.size() > 1) {
      structures_[instruction.result] = results;
    } else {
      ids_[instruction.result] = makes_scalar ? as_list(results.front()) : results.front();
    }
    return {};
  }

  // ARGMAX of a vector is a scalar in TOSA. SPIR-V has no scalars and uses [1].
  [[nodiscard]] bool is_argmax_of_a_list(const ir::Node& node, const TensorType& result) const {
    return node.op == ir::Op(TosaOp::ARGMAX) && node.inputs.size() == 1 &&
           graph_[node.inputs.front()].shape.rank() == 1 && result.shape == Shape{1};
  }

  ir::ValueId as_list(ir::ValueId scalar) {
    const ir::ValueId one = graph_.add_constant(
        "shape_of_" + graph_[scalar].name, Tensor::of<int64_t>(DType::kShape, Shape{1}, std::array<int64_t, 1>{1}));
    const ir::ValueId list = graph_.add_value(graph_[scalar].name, graph_[scalar].dtype, Shape{1});
    graph_.add_node({.op = TosaOp::RESHAPE,
                     .name = graph_[list].name,
                     .inputs = {scalar, one},
                     .outputs = {list},
                     .attributes = {},
                     .source = {}});
    return list;
  }

  ir::Graph& graph_;
  const SpirvModule& module_;
  const Interface& interface_;
  const std::string& where_;
  SpirvValues values_;
  std::span<const uint32_t> types_;  // types of the graph's inputs and outputs
  std::unordered_map<uint32_t, ir::ValueId> ids_;
  std::unordered_map<uint32_t, ir::ValueId> shapes_;
  std::unordered_map<uint32_t, Tensor> graph_constants_;  // by graph constant id
  std::unordered_set<std::string> names_;
  std::unordered_map<uint32_t, std::vector<ir::ValueId>> structures_;  // results of operators with two outputs
  std::vector<ir::ValueId> outputs_;
};

// Finds an entry point by name. Its operands are the graph, the words of the name, and the variables.
Result<const Instruction*> find_entry(const SpirvModule& module, const std::string& name, const SpirvValues& values) {
  for (const Instruction& instruction : module.instructions) {
    if (instruction.is(SpirvOp::OpGraphEntryPointARM) && string_of(instruction.operands.subspan(1)).text == name)
      return &instruction;
  }
  return values.error(fmt::format("the SPIR-V has no graph with entry point \"{}\"", name));
}

}  // namespace

Result<Interface> interface_of(const SpirvModule& module, const std::string& entry_point, const std::string& where) {
  const SpirvValues values(module, where);
  CARINA_TRY(const Instruction* entry, find_entry(module, entry_point, values));
  Interface out{.graph = entry->operands[0], .bindings = {}};
  CARINA_TRY(const Instruction* graph, values.definition(out.graph, SpirvOp::OpGraphARM));
  CARINA_TRY(const Instruction* type, values.definition(graph->type, SpirvOp::OpTypeGraphARM));
  out.inputs = type->operands[0];
  const auto variables = entry->operands.subspan(1 + string_of(entry->operands.subspan(1)).words);
  if (variables.size() != type->operands.size() - 1 || out.inputs > variables.size())
    return values.error("the entry point has another number of variables than its graph inputs and outputs",
                        std::to_string(type->operands.size() - 1), std::to_string(variables.size()));
  for (const uint32_t variable : variables) {
    CARINA_CHECKED(values.definition(variable, SpirvOp::OpVariable));
    const auto binding = module.bindings.find(variable);
    const auto set = module.descriptor_sets.find(variable);
    if (binding == module.bindings.end() || set == module.descriptor_sets.end())
      return values.error(fmt::format("the variable %{} of the interface has no binding", variable));
    out.bindings.emplace_back(set->second, binding->second);
  }
  return out;
}

Result<std::vector<ir::ValueId>> read_graph(ir::Graph& graph, const SpirvModule& module, const Interface& interface,
                                            const std::string& where) {
  return GraphReader(graph, module, interface, where).read();
}

}  // namespace carina::vgf
