#include "plan/compile.h"

#include "base/parallel/parallel.h"
#include "npu/payload.h"
#include "plan/alternatives_internal.h"
#include "plan/cost/cost.h"
#include "plan/cost/timeline.h"
#include "plan/emit/stream.h"
#include "plan/emit/value_notes.h"
#include "plan/family/rules/rules.h"
#include "plan/finish_internal.h"
#include "plan/memory/allocate.h"
#include "plan/memory/shortage.h"
#include "plan/network/carried_inputs.h"
#include "plan/network/copied_constants.h"
#include "plan/network/step_order.h"
#include "plan/network/unsigned_borders.h"
#include "plan/optimize/blocks.h"
#include "plan/optimize/slice_cache.h"
#include "plan/optimize/transformations.h"
#include "plan/remedies_internal.h"
#include "plan/select/selection.h"

namespace carina::plan {
namespace {

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
  compiled.values = value_notes(what.schedule, what.material, *what.family.spaces(what.target));
  compiled.weights = std::move(constants);
  compiled.streams = std::move(streams);
  compiled.scratch_bytes = space_bytes(what.schedule, Space::kArena);
  compiled.fast_scratch_bytes = space_bytes(what.schedule, Space::kFastScratch);
  compiled.working_bound_bytes = lower_bound_bytes(what.schedule, working_space(what.target, what.family));
  for (const TensorId id : what.schedule.inputs) compiled.inputs.push_back(io_tensor(what.schedule, id));
  for (const TensorId id : what.schedule.outputs) compiled.outputs.push_back(io_tensor(what.schedule, id));
  return compiled;
}

// The best plan of a network from its chosen formats on.
Result<Finished> planned(const Schedule& whole, const Material& material, const ir::Graph& tosa, Context context,
                         ThreadPool& threads) {
  CARINA_TRY(Cascaded cascaded, form_cascades(whole, material, context, threads));
  log_phase(CompilePhase::kBlocks, context.log);
  Schedule schedule = checked("cascades", std::move(cascaded.schedule), context);
  context.working_bytes = cascaded.working_bytes;
  schedule = checked("stripes", cut_stripes(std::move(schedule), context), context);
  auto baseline = finish(schedule, material, context, threads);
  if (!baseline) {
    if (baseline.error().front().where != kShortage) return std::unexpected(std::move(baseline.error()));
    return std::unexpected(with_remedies(std::move(baseline.error()), tosa, context, cascaded.whole_bytes));
  }
  if (is_planned_once(material, context.options)) return baseline;
  Roomy roomy = with_room_for_repeated_weights(*std::move(baseline), schedule, material, context, threads);
  context.working_bytes = roomy.working_bytes;
  const StartingPoints starts{.whole = whole, .stripes = schedule, .material = material};
  return best_alternative(std::move(roomy.plan), starts, context, threads);
}

Context with_options(const Context& context, const Options& options) {
  return {.family = context.family,
          .target = context.target,
          .options = options,
          .log = context.log,
          .weights = context.weights,
          .equal = context.equal,
          .blocks = context.blocks,
          .slices = context.slices};
}

// Small constants are copied to the memory of intermediate tensors.
CopyOfConstants copy_of_constants(const Target& target, const Family& family) {
  const PortSpeed from = speed_of(Space::kConstants, family, target),
                  to = speed_of(working_space(target, family), family, target);
  return {.saved_per_read = from.read_latency_cycles - to.read_latency_cycles,
          .whole = from.read_latency_cycles + to.read_latency_cycles};
}

double cycles_of(const Finished& plan, const Context& context) {
  return cost_of(plan.schedule, context.family, context.target);
}

}  // namespace

Result<npu::CompiledNetwork> compile(const ir::Graph& tosa, const Target& target, const Options& given,
                                     const Log& log) {
  CARINA_TRY(const Family* const family, find_family(target));
  Options options = given;
  ThreadPool threads(options.threads);
  log_phase(CompilePhase::kSelect, log);
  Context context{.family = *family, .target = target, .options = options, .log = log};
  CARINA_TRY(Network network, Selection(tosa, rules_of(target.accelerator.product), context).run());
  if (options.uses(Optimization::kCarriedInputs)) carry_inputs(network);
  if (options.uses(Optimization::kUnsignedBorders)) fold_unsigned_borders(network);
  if (options.uses(Optimization::kCopiedConstants)) copy_constants(network, copy_of_constants(target, *family));
  if (working_space(target, *family) == Space::kArena && options.uses(Optimization::kStepOrder))
    lower_peak(network, options.optimize == Optimize::kSize
                            ? 0
                            : working_limit_bytes(target, *family, options.arena_budget_bytes));
  SliceCache slices;
  if (shares_encoded_weights(network.material, options)) context.slices = &slices;
  const std::vector<WeightFacts> facts = weight_facts(network.material, threads);
  context.weights = facts;
  const std::vector<EqualWeights> equal = equal_weights(network.material);
  context.equal = equal;
  BlockCache blocks;
  context.blocks = &blocks;
  log_phase(CompilePhase::kBlocks, log);
  Schedule whole = checked("selection", first_schedule(network), context);
  whole = checked("formats", choose_formats(std::move(whole), context), context);
  CARINA_TRY(Finished finished, planned(whole, network.material, tosa, context, threads));
  if (options.optimize == Optimize::kSearch) {
    // The longer search may end in a slower plan than the shorter one.
    Options shorter = options;
    shorter.optimize = Optimize::kSpeed;
    auto other = planned(whole, network.material, tosa, with_options(context, shorter), threads);
    if (other && cycles_of(*other, context) < cycles_of(finished, context)) finished = *std::move(other);
  }
  publish(finished, context);
  log_phase(CompilePhase::kEmit, log);
  return assemble({.schedule = finished.schedule,
                   .material = network.material,
                   .graph = tosa,
                   .family = *family,
                   .target = target,
                   .overlap = options.variation.overlap,
                   .writes = options.uses(Optimization::kOmittedWrites) ? options.variation.writes
                                                                        : npu::StreamWriter::Writes::kAll},
                  std::move(finished.constants), std::move(finished.streams));
}

}  // namespace carina::plan
