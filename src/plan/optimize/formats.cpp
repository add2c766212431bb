// What:   chooses the format of every intermediate tensor: bricks of 16 channels (NHCWB16) where they are worth it.
// Before: tensor t1 format=nhwc
// After:  tensor t1 format=nhcwb16
// Needs:  nothing that has been placed.
// Gives:  tensors that every step can address in their format (rule 8).
// Legal:  a format moves bytes, never values; a tensor that some step addresses otherwise than in bricks stays NHWC.
#include "base/checked_math.h"
#include "facts/npu_targets.h"
#include "plan/network/layout.h"
#include "plan/optimize/transformations.h"

namespace carina::plan {
namespace {

bool worth_bricks(const PlanTensor& tensor, Optimize optimize) {
  if (tensor.kind != TensorKind::kIntermediate) return false;
  // With kSize, bricks must add less than an eighth to the tensor.
  const int64_t padded = round_up<int64_t>(tensor.extent.depth, npu::kBrickDepth);
  if (optimize == Optimize::kSize) return 8 * (padded - tensor.extent.depth) < tensor.extent.depth;
  // Fewer channels would waste more than half of each brick.
  return 2 * tensor.extent.depth >= npu::kBrickDepth;
}

void visit_maps(const Step& step, const auto& visit) {
  visit(step.ofm);
  visit(step.ifm);
  if (step.reads_second_map()) visit(step.ifm2);
}

}  // namespace

Schedule choose_formats(Schedule schedule, const Context& context) {
  if (context.options.variation.formats == Variation::Formats::kLinear || !context.options.uses(Optimization::kBricks))
    return schedule;
  for (PlanTensor& tensor : schedule.tensors) {
    if (worth_bricks(tensor, context.options.optimize)) tensor.format = Format::kNhcwb16;
  }
  for (const Step& step : schedule.steps) {
    visit_maps(step, [&](const FeatureMap& map) {
      PlanTensor& tensor = schedule.tensors[map.tensor.index()];
      const bool partial_write = &map == &step.ofm && map.depth == 1 && tensor.extent.depth != 1;
      if (step.kind == StepKind::kDma || partial_write || !fits_bricks(map, tensor)) tensor.format = Format::kNhwc;
    });
  }
  fit_storages(schedule);
  return schedule;
}

}  // namespace carina::plan
