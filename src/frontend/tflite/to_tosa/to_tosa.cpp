#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/tflite/reader.h"
#include "frontend/tflite/tflite.h"
#include "frontend/tflite/to_tosa/ops_internal.h"
#include "frontend/tflite/to_tosa/rules.h"
#include "frontend/tflite/to_tosa/state_internal.h"

// A model becomes a TOSA graph operator by operator: rules.def has the function of each. uint8 values are int8 between
// the operators, 128 less; only the graph's inputs and outputs keep their bits.
//   input: u8 -> RESCALE -128 -> i8 -> ... -> i8 -> RESCALE +128 -> u8: output
namespace carina::tflite {

namespace {

using ir::ValueId;

struct Rule {
  std::string_view name;
  Result<void> (*function)(Call& call);
};
constexpr auto kRules = std::to_array<Rule>({
#define CARINA_TFLITE_RULE(name, function) {#name, function},
#include "frontend/tflite/to_tosa/rules.def"
#undef CARINA_TFLITE_RULE
});

constexpr std::string_view kIntegerBorders =
    "--io int8 leaves out QUANTIZE and DEQUANTIZE at inputs and outputs; a model that is float inside must be "
    "quantized "
    "with LiteRT's converter";
constexpr std::array kBoundaries{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

const Rule* rule_of(const Operator& op) {
  const auto* found = std::ranges::find(kRules, op.name, &Rule::name);
  return found == kRules.end() ? nullptr : found;
}

// Adds 128 to a value of the graph or takes it away: to and from the bits of uint8.
ValueId moved(Builder& b, ValueId value, bool to_unsigned) {
  return b.emitter.rescale(value, {.scales = {1.0},
                                   .input_zp = to_unsigned ? 0 : 128,
                                   .output_zp = to_unsigned ? 128 : 0,
                                   .to = DType::kInt8,
                                   .from_unsigned = !to_unsigned,
                                   .to_unsigned = to_unsigned});
}

// Returns the errors of a tensor at the border of the graph, one for each of these operators that it concerns.
template <typename Concerns>
void add_boundary_errors(const Builder& b, const Tensor& tensor, std::string_view side, Concerns concerns,
                         Diagnostics& errors) {
  const bool is_float_type = tensor.dtype == DType::kFp32;
  Diagnostic error{.where = fmt::format("{}: {} {}", b.where, side, tensor.name),
                   .what = fmt::format("the type of an {} is not supported", side),
                   .expected = "int8, uint8, int16, int32 or bool",
                   .got = tensor.type_name,
                   .hint = is_float_type ? std::string(kIntegerBorders) : ""};
  for (size_t i = 0; i < b.from.operators.size(); ++i) {
    if (!concerns(b.from.operators[i])) continue;
    error.node = i;
    errors.push_back(error);
  }
  if (!error.node) errors.push_back(error);
}

void add_inputs(Builder& b, Diagnostics& errors) {
  for (const int32_t index : b.from.inputs) {
    const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)];
    if (!is_among(kBoundaries, tensor.dtype)) {
      const auto reads = [&](const Operator& op) { return is_among(op.inputs, index); };
      add_boundary_errors(b, tensor, "input", reads, errors);
      continue;
    }
    ValueId value = b.graph.add_value(tensor.name, Call::type_of(tensor), tensor.shape);
    b.graph.inputs.push_back(value);
    b.emitter.set_origin(tensor.name, {}, {});
    if (tensor.dtype == DType::kUInt8) value = moved(b, value, false);
    b.values[static_cast<size_t>(index)] = value;
  }
}

// Values for the results of an operator that failed, so that the operators after it are tried as well.
void add_stand_ins(Builder& b, const Operator& op) {
  for (const int32_t index : op.outputs) {
    const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)];
    if (tensor.dtype == DType::kUnknown) continue;
    b.values[static_cast<size_t>(index)] =
        b.graph.add_value(tensor.name, Call::type_of(tensor), Call::graph_shape(tensor));
  }
}

// Returns the first operand whose elements are pairs of int32, which only CAST takes.
const Tensor* pair_operand(const Builder& b, const Operator& op) {
  if (op.name == "CAST") return nullptr;
  for (const int32_t index : op.inputs) {
    if (index == kAbsent || !b.values[static_cast<size_t>(index)].valid()) continue;
    if (const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)]; Call::is_pair(tensor)) return &tensor;
  }
  return nullptr;
}

// Returns the first operand without a value: a variable, or the result of an operator that failed.
const Tensor* unknown_operand(const Builder& b, const Operator& op) {
  for (const int32_t index : op.inputs) {
    if (index == kAbsent) continue;
    const auto at = static_cast<size_t>(index);
    const Tensor& tensor = b.from.tensors[at];
    if (!b.values[at].valid() && !tensor.is_constant && tensor.shape.elements() != 0) return &tensor;
  }
  return nullptr;
}

// Returns a tensor without elements, which TOSA does not have. A list of axes or sizes may be empty.
const Tensor* empty_tensor(const Builder& b, const Operator& op) {
  const auto is_empty = [&](int32_t index) {
    return index != kAbsent && b.from.tensors[static_cast<size_t>(index)].shape.elements() == 0;
  };
  const auto is_list = [&](int32_t index) {
    const DType type = b.from.tensors[static_cast<size_t>(index)].dtype;
    const bool is_integer = type == DType::kInt32 || type == DType::kInt64;
    return is_integer && !b.values[static_cast<size_t>(index)].valid();
  };
  for (const int32_t index : op.inputs) {
    if (is_empty(index) && !is_list(index)) return &b.from.tensors[static_cast<size_t>(index)];
  }
  const auto empty = std::ranges::find_if(op.outputs, is_empty);
  return empty == op.outputs.end() ? nullptr : &b.from.tensors[static_cast<size_t>(*empty)];
}

constexpr std::array<std::string_view, 3> kControlFlow{"IF", "WHILE", "CALL"};

std::unexpected<Diagnostics> no_rule(const Call& call) {
  if (call.op().name == kNpuOperator)
    return call.reject("the file has been compiled for an NPU already", {}, {}, "give the file that Vela was given");
  if (call.op().name == "DEQUANTIZE")
    return call.reject("floats at the model's borders are not supported", {}, {}, std::string(kIntegerBorders));
  if (std::ranges::find(kControlFlow, call.op().name) != kControlFlow.end())
    return call.reject("control flow is not supported", {}, {},
                       "a .tflite that is written keeps the operator for the CPU; `carina run` does not evaluate it");
  return call.reject("the operator is not supported");
}

void add_operators(Builder& b, State& state, Diagnostics& errors) {
  for (size_t i = 0; i < b.from.operators.size(); ++i) {
    const Operator& op = b.from.operators[i];
    const Tensor* unknown = unknown_operand(b, op);
    const bool is_after_error = unknown != nullptr && !unknown->is_variable && !errors.empty();
    if (is_after_error && !state.is_rejected(op)) {
      add_stand_ins(b, op);
      continue;
    }
    const std::string name = op.outputs.empty() ? op.name : b.from.tensors[static_cast<size_t>(op.outputs[0])].name;
    b.emitter.set_origin(name, {}, ir::NodeId(i));
    Call call(b, op);
    const Rule* rule = rule_of(op);
    Result<void> made;
    if (State::has_part_in(op))
      made = state.run(call);
    else if (rule == nullptr)
      made = no_rule(call);
    else if (unknown != nullptr)
      made = call.reject("a tensor that keeps its value between runs is not supported", {}, unknown->name);
    else if (const Tensor* pair = pair_operand(b, op))
      made = call.reject("an int64 operand that is not constant", {}, pair->name);
    else if (const Tensor* empty = empty_tensor(b, op))
      made = call.reject("a tensor without elements", {}, empty->name);
    else
      made = rule->function(call);
    if (made) continue;
    for (Diagnostic& error : made.error()) {
      error.node = i;
      errors.push_back(std::move(error));
    }
    add_stand_ins(b, op);
  }
}

void add_outputs(Builder& b, Diagnostics& errors) {
  for (const int32_t index : b.from.outputs) {
    const Tensor& tensor = b.from.tensors[static_cast<size_t>(index)];
    ValueId value = b.values[static_cast<size_t>(index)];
    if (!is_among(kBoundaries, tensor.dtype) && !(value.valid() && Call::is_pair(tensor))) {
      const auto gives = [&](const Operator& op) { return is_among(op.outputs, index); };
      add_boundary_errors(b, tensor, "output", gives, errors);
      continue;
    }
    b.emitter.set_origin(tensor.name, {}, {});
    if (!value.valid() && tensor.is_constant)
      value = b.graph.add_constant(tensor.name, {.dtype = tensor.dtype, .shape = tensor.shape, .data = tensor.data});
    else if (value.valid() && tensor.dtype == DType::kUInt8) {
      if (b.graph[value].name == tensor.name) b.graph.rename(value, tensor.name + ".int8");
      value = moved(b, value, true);
    }
    if (!value.valid()) {
      // Behind an error; or a variable, or a tensor without elements.
      if (errors.empty())
        errors.push_back({.where = fmt::format("{}: output {}", b.where, tensor.name), .what = "no operator gives it"});
      continue;
    }
    const bool is_made = !b.graph[value].constant && !is_among(b.graph.inputs, value);
    const bool is_next = tensor.is_variable && is_among(b.from.inputs, index);
    const std::string name = is_next ? tensor.name + ".next" : tensor.name;
    if (!is_made || b.graph[value].name != name) {
      if (!is_made || is_among(b.graph.outputs, value)) value = b.emitter.unary(TosaOp::IDENTITY, value);
      b.graph.rename(value, name);
    }
    b.graph.outputs.push_back(value);
  }
}

}  // namespace

Result<ir::Module> to_tosa(const Model& model, const std::string& where) {
  Builder b{.from = model.subgraphs.front(), .where = where};
  b.graph.name = "main";
  b.values.resize(b.from.tensors.size());
  Diagnostics errors;
  State state(model, b);
  if (const Subgraph* other = state.unused_graph())
    errors.push_back({.where = where,
                      .what = "a subgraph that is neither the first one nor the initial state of variables",
                      .got = fmt::format("subgraph {} of {}{}{}", other - model.subgraphs.data(),
                                         model.subgraphs.size(), other->name.empty() ? "" : ", ", other->name),
                      .hint = "control flow is not supported; a .pte has a method for each signature"});
  add_inputs(b, errors);
  state.read_tensors();
  add_operators(b, state, errors);
  add_outputs(b, errors);
  if (errors.empty()) state.write();
  if (!errors.empty()) return std::unexpected(std::move(errors));
  ir::remove_dead(b.graph);
  ir::Module module;
  module.graphs.push_back(std::move(b.graph));
  return module;
}

Result<ir::Module> read_tflite(const Buffer& file, const std::string& where) {
  CARINA_TRY(const Model model, read_model(file, where));
  return to_tosa(model, where);
}

std::vector<std::string_view> operators_with_rules() {
  std::vector<std::string_view> names;
  for (const Rule& rule : kRules) names.push_back(rule.name);
  return names;
}

}  // namespace carina::tflite
