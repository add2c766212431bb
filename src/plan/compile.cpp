#include "plan/compile.h"

#include "base/dev_checks.h"
#include "base/parallel/parallel.h"
#include "npu/payload.h"
#include "plan/emit/stream.h"
#include "plan/family/rules/rules.h"
#include "plan/memory/allocate.h"
#include "plan/memory/shortage.h"
#include "plan/optimize/transformations.h"
#include "plan/select/selection.h"
#include "plan/verify/verify.h"
#include "plan/ways_out_internal.h"
#include "plan/worst_ratio_internal.h"

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

// The end of planning: everything after the stripes.
struct Finished {
  Schedule schedule;
  std::vector<std::byte> constants;
  std::vector<npu::StreamNote> streams;
};

Result<Finished> finish(Schedule schedule, const Network& network, const Context& context, ThreadPool& threads) {
  CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  schedule = checked("blocks", std::move(schedule), context);
  if (working_space(context.target, context.family) != Space::kArena) {
    schedule = checked("spaces", choose_spaces(std::move(schedule), context), context);
    CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  }
  schedule = checked("depth", cut_depth(std::move(schedule), context, threads), context);
  schedule = checked("weight_orders", order_weights(std::move(schedule), context, threads), context);
  say(CompilePhase::kWeights, context.log);
  CARINA_TRY(Encoded encoded, encode_slices(std::move(schedule), network.material, context, threads));
  schedule = checked("slices", std::move(encoded.schedule), context);
  say(CompilePhase::kMemory, context.log);
  schedule = checked("order", load_tables(std::move(schedule), context), context);
  CARINA_TRY(schedule, stage_weights(std::move(schedule), context));
  return Finished{.schedule = checked("finished", std::move(schedule), context),
                  .constants = std::move(encoded.constants),
                  .streams = std::move(encoded.streams)};
}

// Finishes the schedule a second time, with blocks that are good under all assumptions of the cycle model, and without
// the longer search for transfers, which would double the time of -O3. Returns this one if it is better
// (worst_ratio_internal.h) and needs no more memory; otherwise `usual`.
Finished good_under_assumptions(Finished usual, Schedule schedule, const Network& network, Context context,
                                ThreadPool& threads) {
  Options options = context.options;
  options.optimize = Optimize::kSpeed;
  std::vector<std::pair<std::string, Schedule>> watched;
  if (options.watch)
    options.watch = [&](std::string_view name, const Schedule& made) { watched.emplace_back(name, made); };
  const Context other_context{.family = context.family,
                              .target = context.target,
                              .options = options,
                              .log = context.log,
                              .weights = context.weights,
                              .working_bytes = context.working_bytes,
                              .block_choice = BlockChoice::kWorstRatio};
  auto other = finish(std::move(schedule), network, other_context, threads);
  if (!other) return usual;
  const auto needs_more = [&](Space space) {
    return space_bytes(other->schedule, space) > space_bytes(usual.schedule, space);
  };
  if (needs_more(Space::kArena) || needs_more(Space::kFastScratch) || other->constants.size() > usual.constants.size())
    return usual;
  if (!is_better_under_assumptions(other->schedule, usual.schedule, context)) return usual;
  for (const auto& [name, made] : watched) context.options.watch(name, made);
  return *std::move(other);
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
  auto finished = finish(schedule, network, context, threads);
  if (!finished) {
    if (finished.error().front().where != kShortage) return std::unexpected(std::move(finished.error()));
    return std::unexpected(with_ways_out(std::move(finished.error()), tosa, context, cascaded.whole_bytes));
  }
  if (options.optimize == Optimize::kSearch && options.variation.blocks == Variation::Blocks::kCheapest)
    finished = good_under_assumptions(*std::move(finished), std::move(schedule), network, context, threads);
  say(CompilePhase::kEmit, log);
  return assemble({.schedule = finished->schedule,
                   .material = network.material,
                   .graph = tosa,
                   .family = *family,
                   .target = target,
                   .overlap = options.variation.overlap},
                  std::move(finished->constants), std::move(finished->streams));
}

}  // namespace carina::plan
