// COND_IF and WHILE_LOOP: they run other graphs of the module on the node's operands.

#include <fmt/format.h>

#include <cstring>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/checks_internal.h"
#include "interpret/program_internal.h"

namespace carina::interpret {

namespace {

// Checks that the graph's inputs and outputs have the types and shapes of the operands.
Result<void> check_signature(const NodePlan& plan, const ir::Graph& graph, std::span<const Operand> in,
                             std::span<const Operand> out) {
  Checks checks(plan);
  checks.require(graph.inputs.size() == in.size() && graph.outputs.size() == out.size(),
                 "graph " + graph.name + " has other inputs or outputs",
                 fmt::format("{} and {}", graph.inputs.size(), graph.outputs.size()));
  for (size_t i = 0; checks.good() && i < in.size(); ++i) {
    checks.same_type(in[i], graph[graph.inputs[i]].dtype).shape(in[i], graph[graph.inputs[i]].shape);
  }
  for (size_t i = 0; checks.good() && i < out.size(); ++i) {
    checks.same_type(out[i], graph[graph.outputs[i]].dtype).shape(out[i], graph[graph.outputs[i]].shape);
  }
  return checks.done();
}

Result<Program*> linked(const NodePlan& plan, std::string_view attribute, std::span<const Operand> in,
                        std::span<const Operand> out) {
  CARINA_TRY(Program * program, plan.linker.program(plan.node.attributes.get<std::string>(attribute), plan.where));
  CARINA_CHECKED(check_signature(plan, program->graph(), in, out));
  return program;
}

// The values of a loop, stored twice: each iteration reads one set and writes the other. Offsets are into the scratch.
struct LoopState {
  std::vector<size_t> bytes;
  std::vector<size_t> offsets;
  size_t side_bytes = 0;
  // The addresses of an iteration's values. They are members so that a run allocates nothing (a graph never runs
  // recursively).
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
};

Result<LoopState> loop_state(const NodePlan& plan) {
  LoopState state;
  for (const Operand& in : plan.in) {
    state.bytes.push_back(tensor_bytes(in.dtype, *in.shape));
    state.offsets.push_back(state.side_bytes);
    const auto next = checked_add(state.side_bytes, round_up(state.bytes.back(), kArenaAlignment));
    if (!next || *next > SIZE_MAX / 4) return fail(plan.diagnostic("the loop's values do not fit the memory"));
    state.side_bytes = *next;
  }
  state.in.resize(plan.in.size());
  state.out.resize(plan.in.size());
  return state;
}

Result<void> run_loop(LoopState& state, Program& condition, Program& body, int64_t limit, const Call& call) {
  auto& [bytes, offsets, side_bytes, in, out] = state;
  std::ranges::copy(call.in, in.begin());
  for (int64_t iteration = 0;; ++iteration) {
    uint8_t go_on = 0;
    std::byte* const go_on_at = reinterpret_cast<std::byte*>(&go_on);
    CARINA_CHECKED(condition.execute(in, {&go_on_at, 1}, call.runtime));
    if (go_on == 0) break;
    if (iteration == limit)
      return fail(
          {.where = std::string(call.where), .what = fmt::format("the loop has not ended after {} iterations", limit)});
    std::byte* side = call.scratch + static_cast<size_t>(iteration % 2) * side_bytes;
    for (size_t i = 0; i < out.size(); ++i) out[i] = side + offsets[i];
    CARINA_CHECKED(body.execute(in, out, call.runtime));
    std::ranges::copy(out, in.begin());
  }
  for (size_t i = 0; i < in.size(); ++i) {
    if (bytes[i] != 0) std::memcpy(call.out[i], in[i], bytes[i]);
  }
  return {};
}

}  // namespace

Result<Kernel> prepare_COND_IF(const NodePlan& plan) {
  Checks checks(plan);
  checks.at_least(1, 0);
  if (checks.good()) checks.scalar(plan.in[0]).same_type(plan.in[0], DType::kBool);
  CARINA_CHECKED(checks.done());
  const std::span<const Operand> arguments = std::span(plan.in).subspan(1);
  CARINA_TRY(Program * then_program, linked(plan, "then_graph", arguments, plan.out));
  CARINA_TRY(Program * else_program, linked(plan, "else_graph", arguments, plan.out));
  return Kernel{.run = [then_program, else_program](const Call& call) -> Result<void> {
    Program& chosen = *call.input<uint8_t>(0) != 0 ? *then_program : *else_program;
    return chosen.execute(call.in.subspan(1), call.out, call.runtime);
  }};
}

Result<Kernel> prepare_WHILE_LOOP(const NodePlan& plan) {
  CARINA_CHECKED(Checks(plan).operands(plan.in.size(), plan.in.size()).done());
  CARINA_TRY(Program * condition, plan.linker.program(plan.node.attributes.get<std::string>("cond_graph"), plan.where));
  const ir::Graph& cond_graph = condition->graph();
  const bool gives_bool = cond_graph.outputs.size() == 1 && cond_graph[cond_graph.outputs[0]].dtype == DType::kBool &&
                          cond_graph[cond_graph.outputs[0]].shape.elements() == 1;
  CARINA_CHECKED(Checks(plan).require(gives_bool, "graph " + cond_graph.name + " must give one bool").done());
  const Operand decision{.name = "condition",
                         .dtype = DType::kBool,
                         .shape = &cond_graph[cond_graph.outputs[0]].shape,
                         .constant = nullptr};
  CARINA_CHECKED(check_signature(plan, cond_graph, plan.in, {&decision, 1}));
  CARINA_TRY(Program * body, linked(plan, "body_graph", plan.in, plan.out));
  CARINA_TRY(LoopState state, loop_state(plan));
  const size_t scratch = 2 * state.side_bytes;
  return Kernel{.run = [state = std::move(state), condition, body, limit = plan.linker.loop_limit()](
                           const Call& call) mutable { return run_loop(state, *condition, *body, limit, call); },
                .scratch_bytes = scratch};
}

}  // namespace carina::interpret
