#include "interpret/interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/dev_checks.h"
#include "base/memory/copy_bytes.h"
#include "carina/check.h"
#include "interpret/other_ways_internal.h"
#include "interpret/program_internal.h"

namespace carina::interpret {

namespace {

// The most nested graphs that are planned. It is the specification's limit for the level "none".
constexpr size_t kMaxNesting = 256;

}  // namespace

struct Interpreter::Session final : Linker {
  Session(const ir::Module& a_module, const Options& an_options)
      : module(a_module), options(an_options), workers(an_options.threads) {}

  Result<Program*> program(const std::string& graph_name, const std::string& where) override;
  Result<Variable*> variable(const std::string& name, const Operand& like, const std::string& where) override;
  [[nodiscard]] int64_t loop_limit() const override { return options.loop_limit; }
  [[nodiscard]] size_t planned_bytes() const;
  Result<void> check_budget() const;
  void drop_packed();
  // Plans the main graph and allocates its memory.
  Result<void> prepare();
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  void compare_with_others(std::span<const Tensor> inputs, std::span<const Tensor> outputs);

  ir::Module module;
  Options options;
  Workers workers;
  std::map<std::string, std::unique_ptr<Program>> programs;
  std::vector<std::string> order;  // of planning, inner graphs first
  std::vector<std::string> being_planned;
  std::map<std::string, std::unique_ptr<Variable>> variables;
  Program* main = nullptr;
  // Development checks: the first run is repeated on these, which must give the same outputs.
  std::vector<std::unique_ptr<Session>> others;
};

Result<Program*> Interpreter::Session::program(const std::string& graph_name, const std::string& where) {
  if (const auto known = programs.find(graph_name); known != programs.end()) return known->second.get();
  if (std::ranges::find(being_planned, graph_name) != being_planned.end() || being_planned.size() >= kMaxNesting) {
    return fail(
        {.where = where, .what = fmt::format("graph {} runs itself, or control flow is nested too deep", graph_name)});
  }
  const ir::Graph* graph = module.find(graph_name);
  if (graph == nullptr) return fail({.where = where, .what = fmt::format("there is no graph {}", graph_name)});
  being_planned.push_back(graph_name);
  const bool is_watched = options.watch && graph == &module.main();
  auto planned = Program::plan(*graph, options, is_watched ? &*options.watch : nullptr, *this);
  being_planned.pop_back();
  if (!planned) return fail(std::move(planned).error());
  Program* result = planned->get();
  programs.emplace(graph_name, *std::move(planned));
  order.push_back(graph_name);
  CARINA_CHECKED(check_budget());
  return result;
}

Result<Variable*> Interpreter::Session::variable(const std::string& name, const Operand& like,
                                                 const std::string& where) {
  auto& slot = variables[name];
  if (slot == nullptr) {
    slot = std::make_unique<Variable>();
    slot->dtype = like.dtype;
    slot->shape = *like.shape;
    slot->bytes.resize(tensor_bytes(like.dtype, *like.shape));
  }
  if (slot->dtype != like.dtype || !(slot->shape == *like.shape)) {
    return fail({.where = where,
                 .what = fmt::format("variable {} has another type or shape here", name),
                 .expected = fmt::format("{} {}", name_of(slot->dtype), to_string(slot->shape)),
                 .got = fmt::format("{} {}", name_of(like.dtype), to_string(*like.shape))});
  }
  return slot.get();
}

size_t Interpreter::Session::planned_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, program] : programs) bytes += program->planned_bytes();
  for (const auto& [name, variable] : variables) bytes += variable->bytes.size() + variable->initial.size();
  return bytes;
}

Result<void> Interpreter::Session::check_budget() const {
  size_t bytes = planned_bytes();
  if (main != nullptr) {
    for (const ir::ValueId output : main->graph().outputs)
      bytes += tensor_bytes(main->graph()[output].dtype, main->graph()[output].shape);
  }
  if (bytes <= options.memory_budget_bytes) return {};
  return fail({.where = options.where,
               .what = "the graph does not fit the memory budget",
               .expected = fmt::format("at most {} bytes", options.memory_budget_bytes),
               .got = fmt::format("{}", bytes)});
}

// Releases the module's weights, because kernels hold copies.
void Interpreter::Session::drop_packed() {
  for (ir::Graph& graph : module.graphs) {
    const auto planned = programs.find(graph.name);
    if (planned == programs.end()) continue;
    for (const ir::ValueId value : planned->second->packed()) graph[value].constant.reset();
  }
}

Interpreter::Interpreter(std::unique_ptr<Session> session) : session_(std::move(session)) {}
Interpreter::Interpreter(Interpreter&&) noexcept = default;
Interpreter& Interpreter::operator=(Interpreter&&) noexcept = default;
Interpreter::~Interpreter() = default;

Result<Interpreter> Interpreter::create(const ir::Module& module, const Options& options) {
  CARINA_CHECK(options.threads >= 1, "{} threads", options.threads);
  if (module.graphs.empty()) return fail({.where = options.where, .what = "the module has no graph"});
  auto session = std::make_unique<Session>(module, options);
  CARINA_CHECKED(session->prepare());
  if (dev_checks_enabled()) {
    for (const Options& way : other_ways(module, options)) {
      session->others.push_back(std::make_unique<Session>(module, way));
      CARINA_CHECKED(session->others.back()->prepare());
    }
  }
  return Interpreter(std::move(session));
}

Result<void> Interpreter::Session::prepare() {
  CARINA_TRY(main, program(module.main().name, options.where));
  CARINA_CHECKED(check_budget());
  for (const auto& [name, planned] : programs) planned->allocate();
  drop_packed();
  return {};
}

namespace {

Result<void> check_inputs(const ir::Graph& graph, std::span<const Tensor> inputs, const std::string& where) {
  if (inputs.size() != graph.inputs.size()) {
    return fail({.where = where,
                 .what = "number of inputs",
                 .expected = fmt::format("{}", graph.inputs.size()),
                 .got = fmt::format("{}", inputs.size())});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = graph[graph.inputs[i]];
    const Tensor& tensor = inputs[i];
    if (tensor.dtype != value.dtype || !(tensor.shape == value.shape)) {
      return fail({.where = where,
                   .what = fmt::format("input {} ({})", i, value.name),
                   .expected = fmt::format("{} {}", name_of(value.dtype), to_string(value.shape)),
                   .got = fmt::format("{} {}", name_of(tensor.dtype), to_string(tensor.shape))});
    }
    if (tensor.data.size() != tensor_bytes(tensor.dtype, tensor.shape)) {
      return fail({.where = where,
                   .what = fmt::format("the data of input {} ({}) do not have the size of the tensor", i, value.name),
                   .expected = fmt::format("{} bytes", tensor_bytes(tensor.dtype, tensor.shape)),
                   .got = fmt::format("{} bytes", tensor.data.size())});
    }
  }
  return {};
}

// Readers may pass views of files that are not aligned for the type.
Tensor aligned(const Tensor& tensor) {
  if (reinterpret_cast<uintptr_t>(tensor.data.data()) % element_bytes(tensor.dtype) == 0) return tensor;
  return {.dtype = tensor.dtype, .shape = tensor.shape, .data = Buffer::copy_of(tensor.data.bytes())};
}

}  // namespace

Result<std::vector<Tensor>> Interpreter::Session::run(std::span<const Tensor> inputs) {
  const ir::Graph& graph = main->graph();
  std::vector<Tensor> held;
  std::vector<const std::byte*> in;
  for (const Tensor& tensor : inputs) {
    held.push_back(aligned(tensor));
    in.push_back(held.back().data.data());
  }
  std::vector<MutableTensor> made;
  std::vector<std::byte*> out;
  for (const ir::ValueId output : graph.outputs) {
    made.emplace_back(graph[output].dtype, graph[output].shape);
    out.push_back(made.back().bytes().data());
  }
  Runtime runtime{.workers = workers};
  CARINA_CHECKED(main->execute(in, out, runtime));
  std::vector<Tensor> outputs;
  for (MutableTensor& tensor : made) outputs.push_back(std::move(tensor).freeze());
  return outputs;
}

void Interpreter::Session::compare_with_others(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  for (const auto& other : std::exchange(others, {})) {
    const auto results = other->run(inputs);
    CARINA_CHECK(results, "a graph runs in one way and fails in another: {}", to_string(results.error()));
    check_same_outputs(main->graph(), outputs, options, *results, other->options);
  }
}

Result<std::vector<Tensor>> Interpreter::run(std::span<const Tensor> inputs) {
  CARINA_CHECKED(check_inputs(session_->main->graph(), inputs, session_->options.where));
  auto outputs = session_->run(inputs);
  // A run that failed may have left variables with other values than the other ways would.
  if (outputs)
    session_->compare_with_others(inputs, *outputs);
  else
    session_->others.clear();
  return outputs;
}

void Interpreter::reset_variables() {
  for (auto& [name, variable] : session_->variables) {
    variable->written = !variable->initial.empty();
    std::ranges::fill(variable->bytes, std::byte{0});
    copy_bytes(variable->initial, variable->bytes);
  }
}

size_t Interpreter::planned_bytes() const {
  return session_->planned_bytes();
}

std::vector<NodeTime> Interpreter::profile() const {
  std::vector<NodeTime> times;
  for (const std::string& name : session_->order) session_->programs.at(name)->add_times(times);
  return times;
}

void Interpreter::clear_profile() {
  for (auto& [name, program] : session_->programs) program->clear_times();
}

}  // namespace carina::interpret
