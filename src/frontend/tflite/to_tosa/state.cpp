#include "frontend/tflite/to_tosa/state_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tflite/signatures.h"
#include "tensor/elements.h"

// A subgraph that CALL_ONCE runs assigns constants: these are the initial values. Without control flow, the value of a
// variable at each operator is known, so that VAR_HANDLE, READ_VARIABLE and ASSIGN_VARIABLE are no nodes.
namespace carina::tflite {

using ir::ValueId;

namespace {

constexpr std::string_view kCallOnce = "CALL_ONCE", kHandle = "VAR_HANDLE", kRead = "READ_VARIABLE",
                           kAssign = "ASSIGN_VARIABLE";
constexpr int64_t kMaxStateBytes = int64_t{1} << 28;  // of a variable tensor, of which a file holds no bytes
constexpr std::array kTypes{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

}  // namespace

bool State::has_part_in(const Operator& op) {
  return op.name == kCallOnce || op.name == kHandle || op.name == kRead || op.name == kAssign;
}

State::Variable& State::variable_of(const std::string& name) {
  // Containers are mostly without a name.
  const auto found = resources_.find(name);
  if (found != resources_.end()) return found->second;
  return resources_.emplace(name, Variable{.name = name.starts_with('/') ? name.substr(1) : name, .initial = {}})
      .first->second;
}

State::State(const Model& model, Builder& builder) : model_(model), b_(builder) {
  const auto has_form = [](DType type) {
    return type == DType::kInt8 || type == DType::kUInt8 || type == DType::kBool;
  };
  for (const Tensor& tensor : b_.from.tensors)
    are_inputs_ = are_inputs_ || (tensor.is_variable && is_among(kTypes, tensor.dtype) && !has_form(tensor.dtype));
  for (const Subgraph& graph : model.subgraphs) {
    for (const Operator& op : graph.operators) {
      if (op.name != kAssign || op.inputs.size() < 2 || op.inputs[1] == kAbsent) continue;
      are_inputs_ = are_inputs_ || !has_form(graph.tensors[static_cast<size_t>(op.inputs[1])].dtype);
    }
  }
  const auto uses = [](const Subgraph& graph, const std::string& variable) {
    return std::ranges::any_of(
        graph.operators, [&](const Operator& op) { return op.name == kHandle && op.options.variable == variable; });
  };
  const std::vector<const Subgraph*> others = graphs_of_others(model);
  for (const Operator& op : b_.from.operators) {
    const auto also_uses = [&](const Subgraph* graph) { return uses(*graph, op.options.variable); };
    if (op.name == kHandle && std::ranges::any_of(others, also_uses)) shared_.insert(op.options.variable);
  }
  are_inputs_ = are_inputs_ || !shared_.empty();
}

void State::read_before(Variable& variable) {
  const Shape shape = variable.initial.shape;
  const DType type = variable.initial.dtype;
  b_.emitter.set_origin(variable.name, {}, {});
  if (are_inputs_) {
    variable.before = b_.graph.add_value(variable.name + ".before", type, shape);
  } else {
    const ir::Attribute name = variable.name;
    b_.emitter.emit(
        TosaOp::VARIABLE, {b_.graph.add_constant(variable.name + ".initial", variable.initial)},
        {{"name", name}, {"var_shape", std::vector<int64_t>(shape.dims().begin(), shape.dims().end())}, {"type", type}},
        std::span<const ir::Emitter::Made>());
    variable.before = b_.emitter.emit(TosaOp::VARIABLE_READ, {}, {{"name", name}},
                                      {.dtype = type, .shape = shape, .suffix = "before"});
  }
  variable.now = variable.before;
}

void State::read_tensors() {
  for (size_t i = 0; i < b_.from.tensors.size(); ++i) {
    const Tensor& tensor = b_.from.tensors[i];
    if (!tensor.is_variable || b_.values[i].valid() || !is_among(kTypes, tensor.dtype)) continue;
    if (tensor.bytes() > kMaxStateBytes) continue;  // an error of the operator that reads it
    const auto reads = [&](const Operator& op) { return is_among(op.inputs, static_cast<int32_t>(i)); };
    if (std::ranges::none_of(b_.from.operators, reads)) continue;
    const std::vector<int64_t>& zeros = tensor.quantization.zero_points;
    const DType type = Call::type_of(tensor);
    const IntegerRange range = range_of(type);
    const int64_t zero = zeros.empty() ? 0 : zeros.front() - (tensor.dtype == DType::kUInt8 ? 128 : 0);
    const std::vector<int64_t> values(static_cast<size_t>(tensor.shape.elements()),
                                      std::clamp(zero, range.min, range.max));
    // Signatures do not share tensors, whose names may be equal.
    const std::string name = model_.signature.empty() ? tensor.name : model_.signature + "." + tensor.name;
    Variable variable{.name = name, .initial = integer_tensor(type, tensor.shape, values)};
    read_before(variable);
    b_.values[i] = variable.now;
    tensors_.emplace(static_cast<int32_t>(i), std::move(variable));
  }
}

Result<void> State::run(Call& call) {
  const Operator& op = call.op();
  if (is_rejected(op)) return call.reject("variables stay on the CPU of a .tflite");
  if (op.name == kCallOnce) return initialize(call);
  if (op.name == kHandle) {
    if (op.outputs.empty()) return call.reject("the operator has no result");
    handles_[op.outputs[0]] = op.options.variable;
    return {};
  }
  const auto handle = call.has(0) ? handles_.find(op.inputs[0]) : handles_.end();
  if (handle == handles_.end()) return call.reject("the first operand is no handle of a variable");
  Variable& variable = variable_of(handle->second);
  return op.name == kRead ? read(call, variable) : assign(call, variable);
}

const Subgraph* State::unused_graph() const {
  for (size_t i = 1; i < model_.subgraphs.size(); ++i) {
    const auto runs = [&](const Operator& op) {
      return op.name == kCallOnce && op.options.init_subgraph == static_cast<int32_t>(i);
    };
    const auto is_one_or_runs = [&](const Subgraph* graph) {
      return graph == &model_.subgraphs[i] || std::ranges::any_of(graph->operators, runs);
    };
    if (std::ranges::none_of(b_.from.operators, runs) && std::ranges::none_of(graphs_of_others(model_), is_one_or_runs))
      return &model_.subgraphs[i];
  }
  return nullptr;
}

Result<void> State::initialize(Call& call) {
  const int32_t index = call.options().init_subgraph;
  if (index < 1 || static_cast<size_t>(index) >= model_.subgraphs.size())
    return call.reject("a graph that does not exist", fmt::format("1 to {}", model_.subgraphs.size() - 1),
                       fmt::to_string(index));
  if (is_among(initialized_, index)) return {};
  initialized_.push_back(index);
  const Subgraph& graph = model_.subgraphs[static_cast<size_t>(index)];
  std::map<int32_t, std::string> handles;
  for (const Operator& op : graph.operators) {
    if (op.name == kHandle && !op.outputs.empty()) {
      handles[op.outputs[0]] = op.options.variable;
      continue;
    }
    const bool is_complete = op.name == kAssign && op.inputs.size() >= 2 && handles.contains(op.inputs[0]);
    if (!is_complete || op.inputs[1] == kAbsent)
      return call.reject("an operator that is not supported in the graph of CALL_ONCE",
                         "VAR_HANDLE and ASSIGN_VARIABLE", op.name);
    const Tensor& value = graph.tensors[static_cast<size_t>(op.inputs[1])];
    if (!value.is_constant || value.data.size() == 0 || !is_among(kTypes, value.dtype))
      return call.reject("the initial value of a variable is not a constant of integers", {},
                         fmt::format("{} {}", value.type_name, value.name));
    Variable& variable = variable_of(handles[op.inputs[0]]);
    if (variable.now.valid()) return call.reject("the variable is used before CALL_ONCE", {}, variable.name);
    variable.initial = Call::graph_constant(value);
    if (shared_.contains(handles[op.inputs[0]])) read_before(variable);
  }
  return {};
}

Result<void> State::read(Call& call, Variable& variable) {
  if (call.results() == 0) return call.reject("the operator has no result");
  CARINA_CHECKED(call.need_type(call.result(), kTypes));
  if (!variable.now.valid()) {
    if (variable.initial.data.size() == 0)
      return call.reject("the variable has no value yet", "CALL_ONCE or ASSIGN_VARIABLE before", variable.name);
    read_before(variable);
  }
  return call.set(variable.now);
}

Result<void> State::assign(Call& call, Variable& variable) {
  if (!call.has(1)) return call.reject("operand 1 is missing");
  CARINA_CHECKED(call.need_type(call.in(1), kTypes));
  const bool is_known = b_.values[static_cast<size_t>(call.op().inputs[1])].valid() || call.in(1).is_constant;
  if (!is_known) return call.reject("the operand has no value", {}, call.in(1).name);
  if (shared_.contains(handles_[call.op().inputs[0]]) && !variable.before.valid())
    return call.reject("signatures share the variable, and this one does not initialize it", "CALL_ONCE before",
                       variable.name);
  const ValueId value = call.value(1);
  const ir::Value& given = b_.graph[value];
  if (variable.initial.data.size() != 0 &&
      (given.dtype != variable.initial.dtype || given.shape != variable.initial.shape))
    return call.reject("the value has another type or shape than the variable",
                       fmt::format("{}{}", name_of(variable.initial.dtype), to_string(variable.initial.shape)),
                       fmt::format("{}{}", name_of(given.dtype), to_string(given.shape)));
  // Without control flow nothing can read what a run leaves in a variable that it writes first.
  variable.now = value;
  return {};
}

void State::write_one(const Variable& variable) {
  if (!variable.before.valid()) return;
  b_.emitter.set_origin(variable.name, {}, {});
  if (are_inputs_) {
    // A node gives each output, and no other output.
    const ValueId now = variable.now;
    const bool is_made = !b_.graph[now].constant && !is_among(b_.graph.inputs, now) && now != variable.before;
    const bool is_own = is_made && !is_among(b_.graph.outputs, now);
    b_.graph.inputs.push_back(variable.before);
    b_.graph.outputs.push_back(is_own ? now : b_.emitter.unary(TosaOp::IDENTITY, now));
    b_.graph.states.push_back({.name = variable.name, .initial = variable.initial});
  } else if (variable.now != variable.before) {
    b_.emitter.emit(TosaOp::VARIABLE_WRITE, {variable.now}, {{"name", ir::Attribute(variable.name)}},
                    std::span<const ir::Emitter::Made>());
  }
}

void State::write() {
  for (const auto& [name, variable] : resources_) write_one(variable);
  for (auto& [tensor, variable] : tensors_) {
    variable.now = b_.values[static_cast<size_t>(tensor)];
    write_one(variable);
  }
}

}  // namespace carina::tflite
