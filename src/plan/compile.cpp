#include "plan/compile.h"

#include "base/dev_checks.h"
#include "base/parallel/parallel.h"
#include "npu/payload.h"
#include "plan/emit/stream.h"
#include "plan/family/rules/rules.h"
#include "plan/memory/allocate.h"
#include "plan/optimize/transformations.h"
#include "plan/select/selection.h"
#include "plan/verify/verify.h"
#include "plan/ways_out_internal.h"

namespace carina::plan {
namespace {

// Runs after every transformation: it calls the user's watcher and, in development builds, verifies the rules.
Schedule checked(std::string_view transformation, Schedule schedule, const Context& context) {
  if (context.options.watch) context.options.watch(transformation, schedule);
  if (dev_checks_enabled()) {
    const Diagnostics broken = verify(schedule, context.family, context.target);
    CARINA_CHECK(broken.empty(), "after {}: {}", transformation, to_string(broken));
  }
  return schedule;
}

npu::IoTensor io_tensor(const Schedule& schedule, TensorId id) {
  const PlanTensor& tensor = schedule[id];
  npu::IoTensor io{.element_bytes = static_cast<int32_t>(tensor.element_bytes), .offset = schedule.address_of(id)};
  // Shapes of more than six axes keep their elements and lose their outermost axes.
  const size_t rank = tensor.shape.rank();
  for (size_t i = 0; i < rank; ++i) {
    const size_t index = i + io.shape.size() >= rank ? i + io.shape.size() - rank : 0;
    io.shape[index] *= static_cast<int32_t>(tensor.shape[i]);
  }
  return io;
}

npu::CompiledNetwork assemble(const Emission& what, std::vector<std::byte> constants,
                              std::vector<npu::StreamNote> streams) {
  npu::CompiledNetwork compiled;
  Stream stream = emit_stream(what);
  compiled.command_payload = npu::build_payload(what.target.accelerator, stream.words);
  compiled.layers = std::move(stream.notes);
  compiled.weights = std::move(constants);
  compiled.streams = std::move(streams);
  compiled.scratch_bytes = space_bytes(what.schedule, Space::kArena);
  compiled.fast_scratch_bytes = space_bytes(what.schedule, Space::kFastScratch);
  compiled.working_bound_bytes = lower_bound_bytes(what.schedule, working_space(what.target, what.family));
  for (const TensorId id : what.schedule.inputs) compiled.inputs.push_back(io_tensor(what.schedule, id));
  for (const TensorId id : what.schedule.outputs) compiled.outputs.push_back(io_tensor(what.schedule, id));
  return compiled;
}

}  // namespace

Result<npu::CompiledNetwork> compile(const ir::Graph& tosa, const Target& target, const Options& options,
                                     const Log& log) {
  CARINA_TRY(const Family* const family, find_family(target));
  ThreadPool threads(options.threads);
  say(CompilePhase::kSelect, log);
  Context context{.family = *family, .target = target, .options = options, .log = log};
  CARINA_TRY(Network network, Selection(tosa, rules_of(target.accelerator.product), context).run());
  const std::vector<WeightFacts> facts = weight_facts(network.material, threads);
  context.weights = facts;
  say(CompilePhase::kBlocks, log);
  Schedule schedule = checked("selection", first_schedule(network), context);
  schedule = checked("formats", choose_formats(std::move(schedule), context), context);
  CARINA_TRY(Cascaded cascaded, form_cascades(std::move(schedule), network.material, context, threads));
  say(CompilePhase::kBlocks, log);
  schedule = checked("cascades", std::move(cascaded.schedule), context);
  context.working_bytes = cascaded.working_bytes;
  schedule = checked("stripes", cut_stripes(std::move(schedule), context), context);
  CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  schedule = checked("blocks", std::move(schedule), context);
  if (working_space(target, *family) != Space::kArena) {
    schedule = checked("spaces", choose_spaces(std::move(schedule), context), context);
    CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  }
  schedule = checked("depth", cut_depth(std::move(schedule), context, threads), context);
  schedule = checked("weight_orders", order_weights(std::move(schedule), context, threads), context);
  say(CompilePhase::kWeights, log);
  CARINA_TRY(Encoded encoded, encode_slices(std::move(schedule), network.material, context, threads));
  schedule = checked("slices", std::move(encoded.schedule), context);
  say(CompilePhase::kMemory, log);
  schedule = checked("order", load_tables(std::move(schedule), context), context);
  auto staged = stage_weights(std::move(schedule), context);
  if (!staged) return std::unexpected(with_ways_out(std::move(staged.error()), tosa, context, cascaded.whole_bytes));
  schedule = checked("finished", std::move(*staged), context);
  say(CompilePhase::kEmit, log);
  return assemble({.schedule = schedule,
                   .material = network.material,
                   .graph = tosa,
                   .family = *family,
                   .target = target,
                   .overlap = options.variation.overlap},
                  std::move(encoded.constants), std::move(encoded.streams));
}

}  // namespace carina::plan
