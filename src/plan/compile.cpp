#include "plan/compile.h"

#include <fmt/format.h>

#include "base/parallel.h"
#include "npu/payload.h"
#include "plan/block.h"
#include "plan/emit_stream.h"
#include "plan/encode.h"
#include "plan/layout.h"
#include "plan/place.h"
#include "plan/program.h"
#include "plan/schedule.h"
#include "plan/select/selection.h"
#include "plan/stage.h"

namespace carina::plan {
namespace {

Result<void> check_target(const Target& target) {
  if (!compiles_for(target.accelerator.product)) {
    return fail({.where = "target",
                 .what = fmt::format("compiling for {} is not supported", target.accelerator.name),
                 .expected = "an ethos-u55",
                 .fault = Fault::kUsage});
  }
  if (target.memory.arena_port != 0) {
    return fail({.where = "target",
                 .what = fmt::format("memory mode {} is not supported for ethos-u55", target.memory.name),
                 .expected = "Shared_Sram or Sram_Only",
                 .fault = Fault::kUsage});
  }
  return {};
}

Result<void> choose_blocks(Program& program, const Target& target, const Variation& variation, ThreadPool& threads) {
  const auto& operations = program.network.operations;
  program.blocks.resize(operations.size());
  std::vector<char> fits(operations.size(), 1);
  threads.parallel_for(operations.size(), [&](size_t i) {
    if (operations[i].kind == OperationKind::kDma) return;
    const auto block = choose_block(operations[i], target, variation);
    fits[i] = block.has_value();
    program.blocks[i] = block.value_or(BlockConfig{});
  });
  for (size_t i = 0; i < operations.size(); ++i) {
    if (!fits[i])
      return fail({.where = operations[i].name, .what = "no block of this operation fits the NPU's shared buffer"});
  }
  return {};
}

// Staging is a wish: where the arena then does not fit, it goes without.
Result<void> place_all(Program& program, const Target& target, const Options& options) {
  stage_weights(program, target, options);
  schedule(program, target);
  if (place_tensors(program, options)) return {};
  stage_nothing(program);
  program.commands.clear();
  schedule(program, target);
  return place_tensors(program, options);
}

npu::IoTensor io_tensor(const PlanTensor& tensor) {
  npu::IoTensor io{.element_bytes = static_cast<int32_t>(tensor.element_bytes), .offset = tensor.address};
  // Ranks above six keep their elements and lose their outermost axes.
  const size_t rank = tensor.shape.rank();
  for (size_t i = 0; i < rank; ++i) {
    const size_t place = i + io.shape.size() >= rank ? i + io.shape.size() - rank : 0;
    io.shape[place] *= static_cast<int32_t>(tensor.shape[i]);
  }
  return io;
}

npu::CompiledNetwork assemble(Program& program, const ir::Graph& graph, const Target& target,
                              const Variation& variation) {
  npu::CompiledNetwork compiled;
  const std::vector<uint32_t> stream = emit_stream(program, graph, target, variation, compiled.layers);
  compiled.command_payload = npu::build_payload(target.accelerator, stream);
  compiled.weights = std::move(program.constants);
  compiled.scratch_bytes = program.arena_bytes;
  for (const TensorId id : program.network.inputs) compiled.inputs.push_back(io_tensor(program.network[id]));
  for (const TensorId id : program.network.outputs) compiled.outputs.push_back(io_tensor(program.network[id]));
  return compiled;
}

}  // namespace

bool compiles_for(npu::Product product) {
  return product == npu::Product::kU55;
}

Result<npu::CompiledNetwork> compile(const ir::Graph& tosa, const Target& target, const Options& options,
                                     const Log& log) {
  CARINA_CHECKED(check_target(target));
  ThreadPool threads(options.threads);
  constexpr size_t kSteps = 5;
  log.progress("select", 0, kSteps);
  Program program;
  CARINA_TRY(program.network, Selection(tosa, target).run());
  log.progress("blocks", 1, kSteps);
  choose_formats(program.network, options.variation);
  CARINA_CHECKED(choose_blocks(program, target, options.variation, threads));
  log.progress("weights", 2, kSteps);
  CARINA_CHECKED(encode_weights(program, target, threads));
  place_constants(program);
  log.progress("memory", 3, kSteps);
  CARINA_CHECKED(place_all(program, target, options));
  log.progress("emit", 4, kSteps);
  return assemble(program, tosa, target, options.variation);
}

}  // namespace carina::plan
