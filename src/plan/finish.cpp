#include "plan/finish_internal.h"

#include "base/dev_checks.h"
#include "carina/check.h"
#include "plan/optimize/transformations.h"
#include "plan/verify/verify.h"

namespace carina::plan {
namespace {

Result<Finished> finish_recorded(Schedule schedule, const Material& material, const Context& context,
                                 ThreadPool& threads) {
  CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  schedule = checked("blocks", std::move(schedule), context);
  if (working_space(context.target, context.family) != Space::kArena) {
    schedule = checked("spaces", choose_spaces(std::move(schedule), context), context);
    CARINA_TRY(schedule, choose_blocks(std::move(schedule), context, threads));
  }
  schedule = checked("depth", cut_depth(std::move(schedule), context, threads), context);
  schedule = checked("weight_orders", order_weights(std::move(schedule), context, threads), context);
  schedule = checked("weight_formats", store_for_fast_decoder(std::move(schedule), context), context);
  log_phase(CompilePhase::kWeights, context.log);
  CARINA_TRY(Encoded encoded, encode_slices(std::move(schedule), material, context, threads));
  schedule = checked("slices", std::move(encoded.schedule), context);
  log_phase(CompilePhase::kMemory, context.log);
  schedule = checked("order", load_tables(std::move(schedule), context), context);
  CARINA_TRY(schedule, stage_weights(std::move(schedule), context));
  schedule = checked("chains", chain_results(std::move(schedule), context), context);
  return Finished{.schedule = checked("finished", std::move(schedule), context),
                  .constants = std::move(encoded.constants),
                  .streams = std::move(encoded.streams)};
}

}  // namespace

Schedule checked(std::string_view transformation, Schedule schedule, const Context& context) {
  if (context.options.watch) context.options.watch(transformation, schedule);
  if (dev_checks_enabled()) {
    const Diagnostics broken = verify(schedule, context.family, context.target);
    CARINA_CHECK(broken.empty(), "after {}: {}", transformation, to_string(broken));
  }
  return schedule;
}

Result<Finished> finish(Schedule schedule, const Material& material, const Context& context, ThreadPool& threads) {
  Diagnostics notes;
  std::vector<std::pair<std::string, Schedule>> watched;
  Options options = context.options;
  if (options.watch)
    options.watch = [&](std::string_view name, const Schedule& made) { watched.emplace_back(name, made); };
  const Log log{.note = [&](const Diagnostic& note) { notes.push_back(note); }, .progress = context.log.progress};
  const Context recording{.family = context.family,
                          .target = context.target,
                          .options = options,
                          .log = log,
                          .weights = context.weights,
                          .equal = context.equal,
                          .working_bytes = context.working_bytes,
                          .block_choice = context.block_choice,
                          .scales_apart = context.scales_apart,
                          .blocks = context.blocks,
                          .slices = context.slices,
                          .cut_like = context.cut_like};
  auto finished = finish_recorded(std::move(schedule), material, recording, threads);
  if (!finished) {
    publish({.notes = std::move(notes), .watched = std::move(watched)}, context);
    return finished;
  }
  finished->notes = std::move(notes);
  finished->watched = std::move(watched);
  return finished;
}

void publish(const Finished& plan, const Context& context) {
  for (const auto& [name, schedule] : plan.watched) context.options.watch(name, schedule);
  for (const Diagnostic& note : plan.notes) context.log.note(note);
}

}  // namespace carina::plan
