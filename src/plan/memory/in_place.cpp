#include "plan/memory/in_place.h"

namespace carina::plan {
namespace {

bool reads_in_place(const FeatureMap& in, const FeatureMap& out, TensorId from, TensorId to) {
  if (in.tensor != from && in.tensor != to) return true;
  return in.offset == out.offset && in.height == out.height && in.width == out.width && in.depth == out.depth &&
         (in.height == 1 || in.stride_y == out.stride_y) && (in.width == 1 || in.stride_x == out.stride_x);
}

}  // namespace

bool stand_alike(const PlanTensor& a, const PlanTensor& b) {
  return a.bytes() == b.bytes() && a.format == b.format && a.extent == b.extent && a.element_bytes == b.element_bytes;
}

bool writes_in_place(const Schedule& schedule, size_t index, TensorId from, TensorId to) {
  if (index >= schedule.order.size()) return false;
  const Command& command = schedule.order[index];
  if (command.kind != Command::Kind::kStripe) return true;
  const Step& step = schedule.step_of(command);
  const bool second = step.reads_second_map();
  const auto touches = [&](TensorId id) {
    return step.ofm.tensor == id || step.ifm.tensor == id || (second && step.ifm2.tensor == id);
  };
  if (!touches(from) && !touches(to)) return true;
  if (step.kind != StepKind::kElementwise || step.ofm.tensor != to) return false;
  return reads_in_place(step.ifm, step.ofm, from, to) && (!second || reads_in_place(step.ifm2, step.ofm, from, to));
}

}  // namespace carina::plan
