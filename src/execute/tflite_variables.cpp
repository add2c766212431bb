#include "execute/tflite_variables.h"
#include "base/memory/copy_bytes.h"

#include <fmt/format.h>

#include <algorithm>

namespace carina::execute {

namespace {

constexpr std::string_view kCallOnce = "CALL_ONCE", kHandle = "VAR_HANDLE", kRead = "READ_VARIABLE",
                           kAssign = "ASSIGN_VARIABLE";

Diagnostic about_variable(const std::string& where, const tflite::Operator& op, std::string what,
                          std::string expected = {}, std::string got = {}) {
  return {.where = fmt::format("{}: {}", where, op.name),
          .what = std::move(what),
          .expected = std::move(expected),
          .got = std::move(got)};
}

Result<void> check_operands(const tflite::Operator& op, const std::string& where) {
  const size_t inputs = op.name == kAssign ? 2 : op.name == kRead ? 1 : 0;
  const size_t outputs = op.name == kHandle || op.name == kRead ? 1 : 0;
  const bool is_complete = op.inputs.size() >= inputs && op.outputs.size() >= outputs &&
                           std::ranges::find(op.inputs, tflite::kAbsent) == op.inputs.end();
  if (is_complete) return {};
  return fail(about_variable(where, op, "operands are missing", fmt::format("{} and {} results", inputs, outputs)));
}

Result<void> check_initial_graph(const tflite::Subgraph& graph, const std::string& where) {
  for (const tflite::Operator& op : graph.operators) {
    if (op.name != kHandle && op.name != kAssign)
      return fail(about_variable(where, op, "an operator that is not supported in the graph of CALL_ONCE",
                                 "VAR_HANDLE and ASSIGN_VARIABLE"));
    CARINA_CHECKED(check_operands(op, where));
    if (op.name != kAssign) continue;
    const tflite::Tensor& value = graph.tensors[static_cast<size_t>(op.inputs[1])];
    if (!value.is_constant || value.data.size() == 0)
      return fail(about_variable(where, op, "the initial value of a variable is not a constant", {}, value.name));
  }
  return {};
}

}  // namespace

bool acts_on_variables(const tflite::Operator& op) {
  return op.name == kCallOnce || op.name == kHandle || op.name == kRead || op.name == kAssign;
}

Result<void> TfliteVariables::check(const tflite::Model& model, const std::string& where) {
  for (const tflite::Operator& op : model.subgraphs.front().operators) {
    if (!acts_on_variables(op)) continue;
    CARINA_CHECKED(check_operands(op, where));
    if (op.name != kCallOnce) continue;
    const int32_t graph = op.options.init_subgraph;
    if (graph < 1 || static_cast<size_t>(graph) >= model.subgraphs.size())
      return fail(about_variable(where, op, "a graph that does not exist",
                                 fmt::format("1 to {}", model.subgraphs.size() - 1), fmt::to_string(graph)));
    CARINA_CHECKED(check_initial_graph(model.subgraphs[static_cast<size_t>(graph)], where));
  }
  return {};
}

Result<void> TfliteVariables::initialize(const tflite::Model& model, const tflite::Operator& call,
                                         const std::string& where) {
  const int32_t index = call.options.init_subgraph;
  if (std::ranges::find(initialized_, index) != initialized_.end()) return {};
  initialized_.push_back(index);
  const tflite::Subgraph& graph = model.subgraphs[static_cast<size_t>(index)];
  std::map<int32_t, std::string> handles;
  for (const tflite::Operator& op : graph.operators) {
    if (op.name == kHandle) {
      handles[op.outputs[0]] = op.options.variable;
      continue;
    }
    const auto handle = handles.find(op.inputs[0]);
    if (handle == handles.end()) return fail(about_variable(where, op, "a tensor that is no handle of a variable"));
    const std::span<const std::byte> bytes = graph.tensors[static_cast<size_t>(op.inputs[1])].data.bytes();
    values_[handle->second].assign(bytes.begin(), bytes.end());
  }
  return {};
}

Result<void> TfliteVariables::run(const tflite::Model& model, const tflite::Operator& op,
                                  const tflite::TensorBytes& tensors, const std::string& where) {
  if (op.name == kCallOnce) return initialize(model, op, where);
  if (op.name == kHandle) {
    handles_[op.outputs[0]] = op.options.variable;
    return {};
  }
  const auto handle = handles_.find(op.inputs[0]);
  if (handle == handles_.end()) return fail(about_variable(where, op, "a tensor that is no handle of a variable"));
  if (op.name == kAssign) {
    const std::span<const std::byte> bytes = tensors.read(op.inputs[1]);
    values_[handle->second].assign(bytes.begin(), bytes.end());
    return {};
  }
  const auto value = values_.find(handle->second);
  if (value == values_.end())
    return fail(about_variable(where, op, "the variable has no value yet", "CALL_ONCE or ASSIGN_VARIABLE before",
                               handle->second));
  const std::span<std::byte> to = tensors.write(op.outputs[0]);
  if (to.size() != value->second.size())
    return fail(about_variable(where, op, "the variable has a value of another size",
                               fmt::format("{} bytes", to.size()), fmt::format("{} bytes", value->second.size())));
  copy_bytes(value->second, to);
  return {};
}

}  // namespace carina::execute
