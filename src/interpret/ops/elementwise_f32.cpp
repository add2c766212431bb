#include "interpret/ops/elementwise_f32_internal.h"

#include <algorithm>
#include <array>

#include "base/checked_math.h"
#include "interpret/arena_internal.h"
#include "interpret/elementwise_blocks_internal.h"
#include "ir/tosa_node.h"

namespace carina::interpret {

namespace {

constexpr int64_t kBlock = 1024;  // elements that pass through all steps before the next block
constexpr size_t kMaxOperands = ElementwiseF32::kMaxOperands;

struct OpStep {
  TosaOp op;
  std::variant<kernels::Combine, kernels::Function> step;
};
constexpr auto kOps = std::to_array<OpStep>({
    {TosaOp::ADD, kernels::Combine::kAdd},
    {TosaOp::SUB, kernels::Combine::kSub},
    {TosaOp::MUL, kernels::Combine::kMul},
    {TosaOp::EXP, kernels::Function::kExp},
    {TosaOp::LOG, kernels::Function::kLog},
    {TosaOp::SIN, kernels::Function::kSin},
    {TosaOp::COS, kernels::Function::kCos},
    {TosaOp::TANH, kernels::Function::kTanh},
    {TosaOp::SIGMOID, kernels::Function::kSigmoid},
    {TosaOp::ERF, kernels::Function::kErf},
    {TosaOp::RSQRT, kernels::Function::kRsqrt},
});

struct Chain {
  std::vector<ElementwiseF32::Step> steps;
  size_t operands;
  Blocks<kMaxOperands> blocks;

  // Returns the bytes for the results of all steps but the last.
  [[nodiscard]] size_t slot_bytes() const { return (steps.size() - 1) * kBlock * sizeof(float); }

  void run_block(const Call& call, int64_t index, float* own) const {
    const Walk<kMaxOperands>& walk = blocks.walk;
    const auto [row, column, rows, columns] = blocks.at(index);
    // Only pointers change from block to block, because stores to parts followed by a load of the whole would stall.
    std::array<const float*, kMaxOperands> in;
    for (size_t n = 0; n < operands; ++n) in[n] = call.input<float>(n) + blocks.offset(n, row, column);
    const auto source = [&](const ElementwiseF32::Source& from) -> kernels::RowsF32 {
      const size_t n = from.index;
      if (from.is_step) return {.data = own + static_cast<int64_t>(n) * kBlock, .stride = columns, .repeats = false};
      return {.data = in[n], .stride = blocks.stride(n, columns), .repeats = walk.inner_stride[n] == 0};
    };
    for (size_t s = 0; s < steps.size(); ++s) {
      const ElementwiseF32::Step& step = steps[s];
      float* out = s + 1 == steps.size() ? call.output<float>(0) + row * walk.inner + column
                                         : own + static_cast<int64_t>(s) * kBlock;
      if (const auto* function = std::get_if<kernels::Function>(&step.op)) {
        kernels::apply(*function, source(step.a).data, out, rows * columns);
      } else {
        kernels::combine_f32({.op = std::get<kernels::Combine>(step.op),
                              .a = source(step.a),
                              .b = source(step.b),
                              .out = out,
                              .rows = rows,
                              .columns = columns});
      }
    }
  }

  Result<void> run(const Call& call) const {
    const bool is_slow =
        std::ranges::any_of(steps, [](const auto& step) { return std::holds_alternative<kernels::Function>(step.op); });
    split_slots(call.runtime.workers, blocks.count(), is_slow ? 2 : 8, [&](int64_t slot, int64_t begin, int64_t end) {
      auto* own = reinterpret_cast<float*>(call.scratch + static_cast<size_t>(slot) * slot_bytes());
      for (int64_t index = begin; index < end; ++index) run_block(call, index, own);
    });
    return {};
  }
};

}  // namespace

std::optional<ElementwiseF32::Step> elementwise_f32_step(const ir::Node& node, const ir::Graph& graph) {
  if (!node.op.is_tosa() || node.outputs.size() != 1 || graph[node.outputs.front()].dtype != DType::kFp32)
    return std::nullopt;
  const auto op = std::ranges::find(kOps, node.op.tosa(), &OpStep::op);
  if (op == kOps.end()) return std::nullopt;
  return ElementwiseF32::Step{.op = op->step, .a = {}, .b = {}};
}

Kernel elementwise_f32_kernel(const ElementwiseF32& chain, int threads) {
  // Unused operands get the shape of the result, so that they do not prevent merging axes.
  std::array<const Shape*, kMaxOperands> shapes;
  shapes.fill(&chain.shape);
  std::ranges::copy(chain.operands, shapes.begin());
  Chain made{.steps = chain.steps,
             .operands = chain.operands.size(),
             .blocks = Blocks<kMaxOperands>(plan_walk<kMaxOperands>(chain.shape, shapes), kBlock)};
  const size_t scratch = static_cast<size_t>(threads) * made.slot_bytes();
  return {.run = [made = std::move(made)](const Call& call) { return made.run(call); }, .scratch_bytes = scratch};
}

Kernel elementwise_f32(const NodePlan& plan) {
  ElementwiseF32 chain{.shape = *plan.out[0].shape, .operands = {}, .steps = {}};
  auto step = elementwise_f32_step(plan.node, plan.graph);
  const size_t sources = std::holds_alternative<kernels::Combine>(step->op) ? 2 : 1;
  for (size_t i = 0; i < sources; ++i) chain.operands.push_back(plan.in[i].shape);
  step->a = {.is_step = false, .index = 0};
  step->b = {.is_step = false, .index = sources - 1};
  chain.steps.push_back(*step);
  return elementwise_f32_kernel(chain, plan.threads);
}

}  // namespace carina::interpret
