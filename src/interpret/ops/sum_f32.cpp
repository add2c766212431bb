// Sums of fp32 tensors of one shape with the following CLAMP, as in residual networks, in one pass over memory.

#include "interpret/ops/clamp_bounds_internal.h"
#include "interpret/ops/sum_f32_internal.h"
#include "kernels/micro/microkernels.h"

namespace carina::interpret {

std::optional<Kernel> clamped_sum_f32(const TailPlan& fused) {
  using enum DType;
  const NodePlan& plan = fused.node;
  const auto bounds = clamp_bounds_of(fused);
  if (!bounds || plan.in.size() != 2 || plan.out.size() != 1) return std::nullopt;
  const Shape& shape = *plan.out[0].shape;
  for (const Operand& operand : {plan.in[0], plan.in[1], plan.out[0]}) {
    if (operand.dtype != kFp32 || !(*operand.shape == shape)) return std::nullopt;
  }
  const auto run = [bounds = *bounds, elements = shape.elements()](const Call& call) -> Result<void> {
    constexpr int64_t kGrain = 8192;
    split_slots(call.runtime.workers, elements, kGrain, [&](int64_t slot, int64_t begin, int64_t end) {
      kernels::run_epilogue_f32({.in = call.input<float>(0) + begin,
                                 .in_stride = end - begin,
                                 .out = call.output<float>(0) + begin,
                                 .out_stride = end - begin,
                                 .rows = 1,
                                 .channels = end - begin,
                                 .column = call.input<float>(1) + begin,
                                 .low = bounds.low,
                                 .high = bounds.high,
                                 .extremes = call.extremes_of_slot(slot)});
    });
    return {};
  };
  return Kernel{.run = run, .finds_extremes = true};
}

}  // namespace carina::interpret
